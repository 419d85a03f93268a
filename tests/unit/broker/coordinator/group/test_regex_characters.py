"""Sets of characters, as RE2 has them among ASCII."""

import string
import unicodedata

import pytest

from broker.coordinator.group.regex_characters import (
    ALL_CHARACTERS,
    PERL,
    POSIX,
    folded,
    mask_between,
    mask_of,
    unicode_class,
)


def members(mask: int) -> str:
    return "".join(chr(code) for code in range(128) if mask >> code & 1)


def test_masks_hold_what_is_ascii() -> None:
    assert members(mask_of("ba\u00e9")) == "ab"
    assert members(mask_between("x", "z")) == "xyz"
    assert members(mask_between("~", "\u00e9")) == "~\x7f"
    assert mask_between("\u00e9", "\u00ff") == 0


def test_letters_fold_and_nothing_else_does() -> None:
    assert members(folded(mask_of("aZ_1@["))) == "1@AZ[_az"


def test_classes_of_perl_and_posix() -> None:
    assert members(PERL["s"]) == "\t\n\f\r "
    assert members(POSIX["space"]) == "\t\n\v\f\r "
    assert members(POSIX["xdigit"]) == "0123456789ABCDEFabcdef"
    assert members(POSIX["graph"]) == members(POSIX["print"]).removeprefix(" ")
    assert sorted(members(POSIX["punct"])) == sorted(string.punctuation)
    assert POSIX["print"] | POSIX["cntrl"] == ALL_CHARACTERS


@pytest.mark.parametrize("name", ["L", "Lu", "Nd", "P", "Pd", "Sm", "Zs", "Cc"])
def test_categories_are_unicodes(name: str) -> None:
    mask = unicode_class(name)
    assert mask is not None
    codes = map(chr, range(128))
    assert list(members(mask)) == [c for c in codes if unicodedata.category(c).startswith(name)]


def test_scripts_share_ascii_and_unknown_names_are_none() -> None:
    latin, common = unicode_class("Latin"), unicode_class("Common")
    assert latin is not None
    assert common == ALL_CHARACTERS & ~latin
    assert unicode_class("Any") == ALL_CHARACTERS
    assert unicode_class("Lx") is None
    assert unicode_class("") is None
