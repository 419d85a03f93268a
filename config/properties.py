r"""The text of a `server.properties` file, read as `java.util.Properties` reads it.

A line is `key=value`, `key:value` or `key value`; `#` and `!` begin a comment; a line that ends in
an odd number of backslashes goes on in the next, whose leading blanks are dropped; `\t \n \r \f
\uXXXX` are escapes, before any other letter a backslash vanishes. Of a key written twice the last
value holds.
"""

from collections.abc import Iterator
from typing import NamedTuple

_BLANKS = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class Property(NamedTuple):
    """One setting and the number of the line it begins on, from 1."""

    key: str
    value: str
    line: int


class MalformedEscape(ValueError):
    r"""A `\u` without four hexadecimal digits; `line` tells where."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def parse_properties(text: str) -> list[Property]:
    """All settings in `text` in their order. Raises MalformedEscape."""
    properties = []
    for number, line in _logical_lines(text):
        end = _end_of_key(line)
        rest = line[end:].lstrip(_BLANKS)
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(_BLANKS)
        try:
            properties.append(Property(_unescape(line[:end]), _unescape(rest), number))
        except ValueError as error:
            raise MalformedEscape(number) from error
    return properties


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with continuations joined and comments dropped, each with the number it begins on."""
    gathered = ""
    start = 0
    going_on = False
    for number, raw in enumerate(_split_lines(text), 1):
        line = raw.lstrip(_BLANKS)
        if not going_on:
            if not line or line[0] in "#!":
                continue
            start = number
        going_on = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        gathered += line[:-1] if going_on else line
        if not going_on:
            yield start, gathered
            gathered = ""
    if gathered:
        yield start, gathered


def _split_lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _end_of_key(line: str) -> int:
    """The position of the first unescaped separator."""
    escaped = False
    for position, letter in enumerate(line):
        if escaped:
            escaped = False
        elif letter == "\\":
            escaped = True
        elif letter in "=:" or letter in _BLANKS:
            return position
    return len(line)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    letters: list[str] = []
    position = 0
    while position < len(text):
        letter = text[position]
        position += 1
        if letter != "\\" or position == len(text):
            letters.append(letter)
            continue
        letter = text[position]
        position += 1
        if letter == "u":
            digits = text[position : position + 4]
            if len(digits) != 4:
                raise ValueError(digits)
            letters.append(chr(int(digits, 16)))
            position += 4
        else:
            letters.append(_ESCAPES.get(letter, letter))
    return "".join(letters)
