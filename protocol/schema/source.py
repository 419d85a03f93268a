"""Source text in the making: lines, names, and runs of fixed-size fields fused into one struct.

Neighbouring fields of fixed width, with the length prefix that follows them, become a single call
of a precompiled `struct.Struct`. The fields wait in `run` until something of another shape comes,
and `flush` writes the call then.
"""

import struct

from protocol.schema.fields import FIXED_FORMATS, Field


class Source:
    """Lines of one function, and the globals they need."""

    def __init__(self, header: str, names: dict[str, object]) -> None:
        self.lines = [header]
        self.names = names
        self.depth = 1
        self.run: list[tuple[str, str]] = []
        self._serial = 0

    def line(self, text: str) -> None:
        """Add a line at the present depth."""
        self.lines.append("    " * self.depth + text)

    def open(self, text: str) -> None:
        """Add a line that begins a block."""
        self.line(text)
        self.depth += 1

    def close(self) -> None:
        """End the innermost block."""
        if self.lines[-1].endswith(":"):
            self.line("pass")
        self.depth -= 1

    def fresh(self, stem: str) -> str:
        """A variable name nobody else has."""
        self._serial += 1
        return f"{stem}{self._serial}"

    def class_name(self, cls: type) -> str:
        """The name under which the function finds a message class."""
        name = cls.__name__
        while self.names.setdefault(name, cls) is not cls:
            name += "_"
        return name

    def struct_call(self, letters: str, method: str) -> str:
        """The name of `method` of a precompiled big-endian struct."""
        stem = "unpack_" if method == "unpack_from" else "pack_"
        name = stem + letters.replace("?", "t")
        if name not in self.names:
            self.names[name] = getattr(struct.Struct(">" + letters), method)
        return name

    def text(self) -> str:
        """The whole function."""
        return "\n".join(self.lines) + "\n"


def default_source(field: Field, source: Source) -> str:
    """An expression for a field's default, new at each evaluation where it is mutable."""
    if field.makes_list:
        return "[]"
    if field.makes_struct:
        return source.class_name(field.of) + "()"
    return repr(field.default)


def smallest_size(item: str | type, version: int, flexible: bool) -> int:
    """The fewest bytes a value of a kind, or of a message class, takes: never 0."""
    if isinstance(item, str):
        if item in FIXED_FORMATS:
            return struct.calcsize(">" + FIXED_FORMATS[item])
        if flexible:
            return 1
        return 2 if item == "string" else 4
    total = int(flexible)
    for field in item.__fields__:  # type: ignore[attr-defined]
        if not field.in_version(version) or field.tag is not None:
            continue
        if field.kind == "struct":
            nullable = field.nullable_in(version)
            total += 1 if nullable else smallest_size(field.of, version, flexible)
        else:
            total += smallest_size(field.kind, version, flexible)
    return max(total, 1)
