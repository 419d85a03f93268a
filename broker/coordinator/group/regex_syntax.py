"""RE2's regular expressions, read into a tree of what they match among the names of topics.

Greed and captures say which match is found, not whether there is one, and are
read and dropped. What RE2 has not, as it needs backtracking, look-around and back-references, is
refused as an unknown operator or escape; errors are in RE2/J's words, which clients see.

    tree     Characters mask | Assertion kind | Sequence … | Choice … | Repeat low–high of a tree
    limits   1,000 repetitions; 200 groups in each other

Source: RE2/J 1.8 `Parser`, RE2's syntax page.
"""

import enum
import string
from typing import Final, NamedTuple, TypeAlias

from broker.coordinator.group.regex_characters import (
    ALL_CHARACTERS,
    NEWLINE,
    PERL,
    POSIX,
    folded,
    mask_between,
    mask_of,
    unicode_class,
)

MAX_REPEAT: Final = 1000
MAX_DEPTH: Final = 200

MISSING_PAREN: Final = "missing closing )"
UNEXPECTED_PAREN: Final = "unexpected )"
MISSING_BRACKET: Final = "missing closing ]"
MISSING_ARGUMENT: Final = "missing argument to repetition operator"
NESTED_REPEAT: Final = "invalid nested repetition operator"
REPEAT_COUNT: Final = "invalid repeat count"
BAD_ESCAPE: Final = "invalid escape sequence"
BAD_RANGE: Final = "invalid character class range"
BAD_PERL: Final = "invalid or unsupported Perl syntax"
BAD_NAME: Final = "invalid named capture"
NAME_TWICE: Final = "duplicate capture group name"
TRAILING_BACKSLASH: Final = "trailing backslash at end of expression"
TOO_DEEP: Final = "expression nests too deeply"


class InvalidPattern(ValueError):
    """Text that is no regular expression; the message is RE2/J's."""


class AssertionKind(enum.Enum):
    """What a place between two characters has to be."""

    BEGIN = enum.auto()
    END = enum.auto()
    WORD_BOUNDARY = enum.auto()
    NO_WORD_BOUNDARY = enum.auto()


class Characters(NamedTuple):
    """One character out of a set."""

    mask: int


class Assertion(NamedTuple):
    """No character, but a place."""

    kind: AssertionKind


class Sequence(NamedTuple):
    """One after the other; nothing at all where there are none."""

    items: "tuple[Node, ...]"


class Choice(NamedTuple):
    """One of these."""

    items: "tuple[Node, ...]"


class Repeat(NamedTuple):
    """As often as low to high times, or without end where high is None."""

    item: "Node"
    low: int
    high: int | None


Node: TypeAlias = Characters | Assertion | Sequence | Choice | Repeat


def parse(text: str) -> Node:
    """The tree of an expression; InvalidPattern for anything else."""
    parser = _Parser(text)
    node = parser.choice(0)
    if parser.position < len(text):
        raise InvalidPattern(UNEXPECTED_PAREN)
    return node


_PLACES: Final = {
    "A": AssertionKind.BEGIN,
    "z": AssertionKind.END,
    "b": AssertionKind.WORD_BOUNDARY,
    "B": AssertionKind.NO_WORD_BOUNDARY,
}
_CONTROLS: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_OCTAL: Final = frozenset(string.octdigits)
_ALNUM: Final = frozenset(string.ascii_letters + string.digits)
_FLAGS: Final = frozenset("imsU")


class _Parser:
    """Reads from left to right; each method leaves `position` behind what it has read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.ignores_case = False
        self._names: set[str] = set()

    def choice(self, depth: int) -> Node:
        """Alternatives up to the closing parenthesis of their group, or to the end."""
        if depth > MAX_DEPTH:
            raise InvalidPattern(TOO_DEEP)
        ignores_case = self.ignores_case
        items = [self._sequence(depth)]
        while self._skips("|"):
            items.append(self._sequence(depth))
        self.ignores_case = ignores_case
        return items[0] if len(items) == 1 else Choice(tuple(items))

    def _sequence(self, depth: int) -> Node:
        items: list[Node] = []
        after_repeat = False
        while self.position < len(self.text) and self.text[self.position] not in "|)":
            # RE2/J takes a brace for an operator here even where it stands for itself.
            is_brace = self._peek("{")
            counts = self._repetition()
            if counts is None:
                self._item(items, depth)
            else:
                self._skips("?")
                if after_repeat:
                    raise InvalidPattern(NESTED_REPEAT)
                if not items:
                    raise InvalidPattern(MISSING_ARGUMENT)
                items[-1] = Repeat(items[-1], *counts)
            after_repeat = counts is not None or is_brace
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def _item(self, items: list[Node], depth: int) -> None:
        """Whatever is next, save operators: one node, or some, or, of flags, none."""
        if self._skips("("):
            self._group(items, depth)
        elif self._skips("["):
            items.append(Characters(self._bracket()))
        elif self._skips("."):
            items.append(Characters(ALL_CHARACTERS & ~NEWLINE))
        elif self._skips("^"):
            items.append(Assertion(AssertionKind.BEGIN))
        elif self._skips("$"):
            items.append(Assertion(AssertionKind.END))
        elif self._skips("\\Q"):
            end = self.text.find("\\E", self.position)
            quoted = self.text[self.position : end if end >= 0 else None]
            items += [Characters(self._literal(one)) for one in quoted]
            self.position += len(quoted) + (2 if end >= 0 else 0)
        elif self._peek("\\") and self.text[self.position + 1 : self.position + 2] in _PLACES:
            items.append(Assertion(_PLACES[self.text[self.position + 1]]))
            self.position += 2
        else:
            named = self._named_class()
            items.append(Characters(self._literal(self._character()) if named is None else named))

    def _group(self, items: list[Node], depth: int) -> None:
        ignores_case = self.ignores_case
        if self._skips("?") and not self._opens_group():
            return
        items.append(self.choice(depth + 1))
        if not self._skips(")"):
            raise InvalidPattern(MISSING_PAREN)
        self.ignores_case = ignores_case

    def _opens_group(self) -> bool:
        """Read what follows "(?"; whether a group follows, and not just flags."""
        if self._skips("P<") or self._skips("<"):
            end = self.text.find(">", self.position)
            name = self.text[self.position : max(end, self.position)]
            if end < 0 or not name or not set(name) <= _ALNUM | {"_"}:
                raise InvalidPattern(BAD_NAME)
            if name in self._names:
                raise InvalidPattern(NAME_TWICE)
            self._names.add(name)
            self.position = end + 1
            return True
        switches_on, since_sign = True, ""
        while self.position < len(self.text):
            flag = self._next()
            if flag in _FLAGS:
                since_sign += flag
                if flag == "i":
                    self.ignores_case = switches_on
            elif flag == "-" and switches_on:
                switches_on, since_sign = False, ""
            elif flag in ":)" and (switches_on or since_sign):
                return flag == ":"
            else:
                break
        raise InvalidPattern(BAD_PERL)

    def _repetition(self) -> tuple[int, int | None] | None:
        """How often the item before is meant, where that is said here."""
        for operator, counts in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._skips(operator):
                return counts
        start = self.position
        low = self._number() if self._skips("{") else None
        high = low
        if low is not None and self._skips(","):
            high = None if self._peek("}") else self._number()
            low = None if high is None and not self._peek("}") else low
        if low is None or not self._skips("}"):
            self.position = start
            return None
        if max(low, high or 0) > MAX_REPEAT or (high is not None and low > high):
            raise InvalidPattern(REPEAT_COUNT)
        return low, high

    def _number(self) -> int | None:
        start = self.position
        while self.position < len(self.text) and self.text[self.position] in string.digits:
            self.position += 1
        digits = self.text[start : self.position]
        if not digits or (len(digits) > 1 and digits[0] == "0"):
            return None
        return int(digits[:9])

    def _bracket(self) -> int:
        """The set between brackets, of which the first is read."""
        negated = self._skips("^")
        mask, first = 0, True
        while first or not self._peek("]"):
            first = False
            named = self._posix_class()
            if named is None:
                named = self._named_class()
            mask |= self._range() if named is None else named
        self.position += 1
        return ALL_CHARACTERS & ~mask if negated else mask

    def _range(self) -> int:
        low = high = self._bracket_character()
        if self._peek("-") and not self._peek("-]"):
            self.position += 1
            high = self._bracket_character()
            if high < low:
                raise InvalidPattern(BAD_RANGE)
        if low == high:
            return self._literal(low)
        mask = mask_between(low, high)
        return folded(mask) if self.ignores_case else mask

    def _bracket_character(self) -> str:
        if self.position >= len(self.text):
            raise InvalidPattern(MISSING_BRACKET)
        return self._character()

    def _posix_class(self) -> int | None:
        """A class like [:alpha:] or [:^alpha:], where one is next."""
        end = self.text.find(":]", self.position + 2) if self._peek("[:") else -1
        if end < 0:
            return None
        name = self.text[self.position + 2 : end]
        mask = POSIX.get(name.removeprefix("^"))
        if mask is None:
            raise InvalidPattern(BAD_RANGE)
        self.position = end + 2
        mask = folded(mask) if self.ignores_case else mask
        return ALL_CHARACTERS & ~mask if name.startswith("^") else mask

    def _named_class(self) -> int | None:
        """A class like \\d, \\W, \\pL or \\p{^Lu}, where one is next."""
        letter = self.text[self.position + 1 : self.position + 2]
        if not self._peek("\\") or letter.lower() not in {*PERL, "p"}:
            return None
        self.position += 2
        negated = letter.isupper()
        if letter.lower() == "p":
            name = self._unicode_name()
            negated ^= name.startswith("^")
            name = name.removeprefix("^")
            members = unicode_class(name)
            if members is None:
                raise InvalidPattern(BAD_RANGE)
            mask = folded(members) if self.ignores_case else members
        else:
            mask = PERL[letter.lower()]
        return ALL_CHARACTERS & ~mask if negated else mask

    def _unicode_name(self) -> str:
        if not self._skips("{"):
            return self._next() if self.position < len(self.text) else ""
        end = self.text.find("}", self.position)
        if end < 0:
            raise InvalidPattern(BAD_RANGE)
        name = self.text[self.position : end]
        self.position = end + 1
        return name

    def _character(self) -> str:
        """One character, which may be escaped."""
        character = self._next()
        if character != "\\":
            return character
        if self.position >= len(self.text):
            raise InvalidPattern(TRAILING_BACKSLASH)
        character = self._next()
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character == "x":
            return self._hexadecimal()
        following = self.text[self.position : self.position + 1]
        if character == "0" or (character in _OCTAL and following in _OCTAL):
            return self._octal(character)
        if character in _ALNUM:
            raise InvalidPattern(BAD_ESCAPE)
        return character

    def _octal(self, digits: str) -> str:
        while len(digits) < 3 and self.text[self.position : self.position + 1] in _OCTAL:
            digits += self._next()
        return chr(int(digits, 8))

    def _hexadecimal(self) -> str:
        end = self.position + 2
        if self._skips("{"):
            end = self.text.find("}", self.position)
        digits = self.text[self.position : max(end, self.position)]
        is_braced = self.text[self.position - 1] == "{"
        if not digits or not set(digits) <= set(string.hexdigits) or len(digits) < 2 - is_braced:
            raise InvalidPattern(BAD_ESCAPE)
        code = int(digits, 16)
        if code > 0x10FFFF:
            raise InvalidPattern(BAD_ESCAPE)
        self.position = end + is_braced
        return chr(code)

    def _literal(self, character: str) -> int:
        if self.ignores_case:
            return folded(mask_of(character + character.lower() + character.upper()[:1]))
        return mask_of(character)

    def _peek(self, expected: str) -> bool:
        return self.text.startswith(expected, self.position)

    def _skips(self, expected: str) -> bool:
        """Go past what is expected; whether it was there."""
        if not self._peek(expected):
            return False
        self.position += len(expected)
        return True

    def _next(self) -> str:
        self.position += 1
        return self.text[self.position - 1]
