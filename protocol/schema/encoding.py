"""Writes the source of encoders: one function that writes one version of one message.

    def encode(m, out, parts):
        add = out.append
        l = m.topics
        n = len(l) + 1
        ...

Pieces are appended to `out` and joined by the caller. A records field that holds a Payload closes
the pieces before it into one part of `parts` and becomes a part itself.
"""

from protocol.schema.fields import FIXED_FORMATS, Field
from protocol.schema.message import Message
from protocol.schema.source import Source


class EncoderSource(Source):
    """Source of the encoder of `cls` in one version."""

    def __init__(self, cls: type[Message], version: int, names: dict[str, object]) -> None:
        super().__init__("def encode(m, out, parts):", names)
        self.version = version
        self.flexible = cls.is_flexible(version)
        self.line("add = out.append")
        self.out = "out"
        self._struct(cls, "m")
        self._flush()

    def _flush(self) -> None:
        if not self.run:
            return
        letters = "".join(letter for letter, _ in self.run)
        values = ", ".join(value for letter, value in self.run if letter != "x")
        self.run.clear()
        if letters == "x":
            self.line("add(ZERO)")
        elif letters == "B":
            self.line(f"add(BYTE[{values}])")
        else:
            self.line(f"add({self.struct_call(letters, 'pack')}({values}))")

    def _flush_with_length(self, long: str) -> None:
        """Write the run and the compact length n behind it; `long` writes one above 127."""
        before = list(self.run)
        self.open("if n < 128:")
        self.run.append(("B", "n"))
        self._flush()
        self.close()
        self.open("else:")
        self.run = before
        self._flush()
        self.line(f"add({long}(n))")
        self.close()

    def _struct(self, cls: type[Message], variable: str) -> None:
        tagged = []
        for field in cls.__fields__:
            value = f"{variable}.{field.name}"
            if not field.in_version(self.version):
                self._refuse(field, value)
            elif field.tag is not None:
                tagged.append(field)
            else:
                self._field(field, value)
        if self.flexible:
            self._tags(sorted(tagged, key=lambda field: field.tag or 0), variable)

    def _refuse(self, field: Field, value: str) -> None:
        if not field.ignorable:
            self.open(f"if {_is_set(field, value)}:")
            self.line(f'raise ValueError("version {self.version} has no {field.name}")')
            self.close()

    def _field(self, field: Field, value: str) -> None:
        nullable = field.nullable_in(self.version)
        if field.kind == "struct":
            self._nested(field, value, nullable)
        elif field.kind == "array":
            self._array(field, value, nullable)
        else:
            self._value(field.kind, value, nullable)

    def _value(self, kind: str, value: str, nullable: bool) -> None:
        if kind in FIXED_FORMATS:
            self.run.append((FIXED_FORMATS[kind], value))
        elif kind == "records":
            self._records(value, nullable)
        else:
            self._bytes(kind, value, nullable)

    def _bytes(self, kind: str, value: str, nullable: bool) -> None:
        conversion = ".encode()" if kind == "string" else ""
        if nullable:
            self.line(f"b = {value}")
            self.open("if b is None:")
            self.line('b = b""')
            self.line(f"n = {0 if self.flexible else -1}")
            self.close()
            self.open("else:")
            if conversion:
                self.line(f"b = b{conversion}")
            self._count("b")
            self.close()
        else:
            self.line(f"b = {value}{conversion}")
            self._count("b")
        self._length("h" if kind == "string" else "i")
        self.line("add(b)")

    def _count(self, value: str) -> None:
        self.line(f"n = len({value}){' + 1' if self.flexible else ''}")

    def _length(self, letter: str) -> None:
        if self.flexible:
            self._flush_with_length("write_string_length" if letter == "h" else "write_varint")
        else:
            self.run.append((letter, "n"))
            self._flush()

    def _records(self, value: str, nullable: bool) -> None:
        one = " + 1" if self.flexible else ""
        self.line(f"r = {value}")
        if nullable:
            self.open("if r is None:")
            self.line(f"n = {0 if self.flexible else -1}")
            self.close()
        self.open(f"{'elif' if nullable else 'if'} r.__class__ in BYTES:")
        self.line(f"n = len(r){one}")
        self.close()
        self.open("else:")
        self.line(f"n = r.nbytes{one}")
        self.close()
        self._length("i")
        self.open("if r.__class__ in BYTES:")
        self.line("add(r)")
        self.close()
        self.open("elif r is not None:")
        self.line("parts.append(JOIN(out))")
        self.line("parts.append(r)")
        self.line("out.clear()")
        self.close()

    def _array(self, field: Field, value: str, nullable: bool) -> None:
        items = self.fresh("items")
        self.line(f"{items} = {value}")
        if nullable:
            self.open(f"if {items} is None:")
            self.line(f"{items} = ()")
            self.line(f"n = {0 if self.flexible else -1}")
            self.close()
            self.open("else:")
            self._count(items)
            self.close()
        else:
            self._count(items)
        self._length("i")
        if isinstance(field.of, str) and field.of in FIXED_FORMATS and field.of != "uuid":
            self.open(f"if {items}:")
            letter = FIXED_FORMATS[field.of]
            self.line(f'add(pack(f">{{len({items})}}{letter}", *{items}))')
            self.close()
            return
        item = self.fresh("item")
        self.open(f"for {item} in {items}:")
        if isinstance(field.of, str):
            self._value(field.of, item, nullable=False)
        else:
            self._struct(field.of, item)
        self._flush()
        self.close()

    def _nested(self, field: Field, value: str, nullable: bool) -> None:
        inner = self.fresh("struct")
        self.line(f"{inner} = {value}")
        if nullable:
            self._flush()
            self.open(f"if {inner} is None:")
            self.line("add(ZERO)" if field.tag is not None else 'add(b"\\xff")')
            self.close()
            self.open("else:")
            self.line('add(b"\\x01")')
        self._struct(field.of, inner)
        if nullable:
            self._flush()
            self.close()

    def _tags(self, tagged: list[Field], variable: str) -> None:
        """Write the tagged fields that differ from their defaults, in ascending order."""
        if not tagged:
            self.run.append(("x", ""))
            return
        before = list(self.run)
        tests = [_is_set(field, f"{variable}.{field.name}") for field in tagged]
        self.open(f"if {' or '.join(tests)}:")
        self._flush()
        count, section = self.fresh("count"), self.fresh("section")
        self.line(f"{count} = 0")
        self.line(f"{section} = []")
        for field, test in zip(tagged, tests, strict=True):
            self.open(f"if {test}:")
            self.line(f"{count} += 1")
            self._tagged_field(field, f"{variable}.{field.name}", section)
            self.close()
        self.line(f"add(BYTE[{count}])")
        self.line(f"{self.out} += {section}")
        self.close()
        self.open("else:")
        self.run = [*before, ("x", "")]
        self._flush()
        self.close()

    def _tagged_field(self, field: Field, value: str, section: str) -> None:
        """Write one tagged field to a list of its own, since its size goes before it."""
        outer, self.out = self.out, self.fresh("inner")
        self.line(f"{self.out} = []")
        self.line(f"add = {self.out}.append")
        self._field(field, value)
        self._flush()
        self.line(f"b = JOIN({self.out})")
        self.line(f"{section} += (write_varint({field.tag}), write_varint(len(b)), b)")
        self.out = outer
        self.line(f"add = {self.out}.append")


def _is_set(field: Field, value: str) -> str:
    """A test that a field holds anything but its default."""
    if field.makes_list:
        return f"{value} is None or {value}" if field.nullable != "none" else value
    if field.kind == "struct" and field.nullable != "none":
        # Its default is a struct, not null, which is what must be told.
        return "True"
    if field.kind in ("struct", "array") or field.default is None:
        return f"{value} is not None"
    return f"{value} != {field.default!r}"
