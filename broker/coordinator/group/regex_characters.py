"""The sets of characters that regular expressions name, as masks of the 128 that topics draw from.

What lies beyond ASCII is in no set: names of topics have none of it. Of the scripts that \\p can
name, Latin and Common are known, which share ASCII between them.
Source: RE2/J 1.8 `CharGroup`, `UnicodeTables`.
"""

import string
import unicodedata
from collections.abc import Mapping
from typing import Final

ALL_CHARACTERS: Final = (1 << 128) - 1


def mask_of(characters: str) -> int:
    """The set of these characters, as far as they are ASCII."""
    return sum(1 << code for code in {ord(one) for one in characters} if code < 128)


def mask_between(low: str, high: str) -> int:
    """The set of all characters from low to high."""
    last = min(ord(high), 127)
    return (1 << last + 1) - (1 << ord(low)) if ord(low) <= last else 0


def folded(mask: int) -> int:
    """The set with each letter in both cases."""
    upper, lower = mask & POSIX["upper"], mask & POSIX["lower"]
    return mask | upper << 32 | lower >> 32


def unicode_class(name: str) -> int | None:
    """The members of a general category or a script; None for one that is not known."""
    if name in _SCRIPTS or name not in _CATEGORIES:
        return _SCRIPTS.get(name)
    members = (chr(code) for code in range(128))
    return mask_of("".join(one for one in members if unicodedata.category(one).startswith(name)))


NEWLINE: Final = mask_of("\n")
WORD: Final = mask_of(string.ascii_letters + string.digits + "_")
PERL: Final[Mapping[str, int]] = {
    "d": mask_of(string.digits),
    "s": mask_of("\t\n\f\r "),
    "w": WORD,
}
"""By the letters of \\d, \\s and \\w; capitals stand for everything else."""
POSIX: Final[Mapping[str, int]] = {
    "alnum": mask_of(string.ascii_letters + string.digits),
    "alpha": mask_of(string.ascii_letters),
    "ascii": ALL_CHARACTERS,
    "blank": mask_of("\t "),
    "cntrl": mask_between("\0", "\x1f") | mask_of("\x7f"),
    "digit": mask_of(string.digits),
    "graph": mask_between("!", "~"),
    "lower": mask_of(string.ascii_lowercase),
    "print": mask_between(" ", "~"),
    "punct": mask_of(string.punctuation),
    "space": mask_of("\t\n\v\f\r "),
    "upper": mask_of(string.ascii_uppercase),
    "word": WORD,
    "xdigit": mask_of(string.hexdigits),
}
"""By the names within [: and :]."""
_SCRIPTS: Final = {
    "Any": ALL_CHARACTERS,
    "Latin": POSIX["alpha"],
    "Common": ALL_CHARACTERS & ~POSIX["alpha"],
}
_MINORS: Final = {
    "C": "cfos",
    "L": "lmotu",
    "M": "cen",
    "N": "dlo",
    "P": "cdefios",
    "S": "ckmo",
    "Z": "lps",
}
_CATEGORIES: Final = frozenset(
    major + minor for major, minors in _MINORS.items() for minor in ("", *minors)
)
