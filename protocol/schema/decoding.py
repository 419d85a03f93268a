"""Writes the source of decoders: one function that reads one version of one message, no loops over
fields, nested structs in place.

    def decode(data, view, p):          # data is parsed, view gives the slices of records
        m = new(FetchRequest)
        m.replica_id, m.max_wait_ms, n = unpack_iiB(data, p)
        ...

`p` is the position of the next byte. A slice beyond the end is short and moves `p` beyond the end,
where the next read, the next array count, or the last check finds it: no length is checked twice.
"""

from struct import calcsize

from protocol.schema.fields import FIXED_FORMATS, Field
from protocol.schema.message import Message
from protocol.schema.source import Source, default_source, smallest_size


class DecoderSource(Source):
    """Source of the decoder of `cls` in one version."""

    def __init__(self, cls: type[Message], version: int, names: dict[str, object]) -> None:
        super().__init__("def decode(data, view, p):", names)
        self.version = version
        self.flexible = cls.is_flexible(version)
        self.limited = cls.item_limit is not None
        self.line("end = len(data)")
        if self.limited:
            self.line(f"left = {cls.item_limit}")
        self._struct(cls, "m")
        self._flush()
        self.open("if p > end:" if cls.ignores_trailing_bytes else "if p != end:")
        self.line("raise wrong_size(p, end)")
        self.close()
        self.line("return m")

    def _flush(self) -> None:
        if not self.run:
            return
        letters = "".join(letter for letter, _ in self.run)
        targets = ", ".join(target for _, target in self.run)
        size = calcsize(">" + letters)
        self.run.clear()
        if letters == "B":
            self.line(f"{targets} = data[p]")
        else:
            comma = "," if targets.count(",") == 0 else ""
            self.line(f"{targets}{comma} = {self.struct_call(letters, 'unpack_from')}(data, p)")
        self.line(f"p += {size}")

    def _struct(self, cls: type[Message], variable: str) -> None:
        """Read a struct's fields into a new object; its last run may be left pending."""
        self.line(f"{variable} = new({self.class_name(cls)})")
        tagged = []
        for field in cls.__fields__:
            target = f"{variable}.{field.name}"
            if not field.in_version(self.version):
                self.line(f"{target} = {default_source(field, self)}")
            elif field.tag is not None:
                self.line(f"{target} = {default_source(field, self)}")
                tagged.append(field)
            else:
                self._field(field, target)
        if self.flexible:
            self._tags(tagged, variable)

    def _field(self, field: Field, target: str) -> None:
        nullable = field.nullable_in(self.version)
        if field.kind == "struct":
            self._nested(field, target, nullable)
        elif field.kind == "array":
            self._array(field, target, nullable)
        else:
            self._value(field.kind, target, nullable)

    def _value(self, kind: str, target: str, nullable: bool) -> None:
        if kind in FIXED_FORMATS:
            self.run.append((FIXED_FORMATS[kind], target))
        elif kind == "string":
            self._string(target, nullable)
        else:
            self._bytes(kind, target, nullable)

    def _string(self, target: str, nullable: bool) -> None:
        self.run.append(("B" if self.flexible else "h", "n"))
        self._flush()
        if not self.flexible:
            self._slice('str(data[p:q], "utf-8")', target, nullable)
            return
        self.open("if 0 < n < 128:")
        self.line("q = p + n - 1")
        self.line(f'{target} = str(data[p:q], "utf-8")')
        self.line("p = q")
        self.close()
        if nullable:
            self.open("elif not n:")
            self.line(f"{target} = None")
            self.close()
        self.open("else:")
        helper = "long_nullable_string" if nullable else "long_string"
        self.line(f"{target}, p = {helper}(n, data, p)")
        self.close()

    def _bytes(self, kind: str, target: str, nullable: bool) -> None:
        self._length()
        self._slice("view[p:q]" if kind == "records" else "bytes(data[p:q])", target, nullable)

    def _length(self) -> None:
        """Read a length or count into n: -1 for null."""
        self.run.append(("B" if self.flexible else "i", "n"))
        self._flush()
        if self.flexible:
            self.open("if n > 127:")
            self.line("n, p = continue_varint(n, data, p)")
            self.close()
            self.line("n -= 1")

    def _slice(self, expression: str, target: str, nullable: bool) -> None:
        self._refuse_negative(target, nullable)
        if nullable:
            self.open("else:")
        self.line("q = p + n")
        self.line(f"{target} = {expression}")
        self.line("p = q")
        if nullable:
            self.close()

    def _refuse_negative(self, target: str, nullable: bool) -> None:
        self.open("if n < 0:")
        self.line(f"{target} = null_of(n)" if nullable else "raise bad_length(n)")
        self.close()

    def _array(self, field: Field, target: str, nullable: bool) -> None:
        self._length()
        self._refuse_negative(target, nullable)
        if nullable:
            self.open("else:")
        smallest = smallest_size(field.of, self.version, self.flexible)
        bytes_needed = "n" if smallest == 1 else f"n * {smallest}"
        self.open(f"if {bytes_needed} > end - p:")
        self.line("raise too_many(n, end - p)")
        self.close()
        if isinstance(field.of, str) and field.of in FIXED_FORMATS and field.of != "uuid":
            letter = FIXED_FORMATS[field.of]
            self.line(f'{target} = list(unpack_from(f">{{n}}{letter}", data, p)) if n else []')
            self.line(f"p += {bytes_needed}")
        else:
            self._items(field, target)
        if nullable:
            self.close()

    def _items(self, field: Field, target: str) -> None:
        items = self.fresh("items")
        item = self.fresh("item")
        if self.limited:
            self.line("left -= n")
            self.open("if left < 0:")
            self.line("raise too_many_items(left)")
            self.close()
        self.line(f"{target} = {items} = []")
        self.open("for _ in range(n):")
        if isinstance(field.of, str):
            self._value(field.of, item, nullable=False)
            self._flush()
            self.line(f"{items}.append({item})")
        else:
            self._struct(field.of, item)
            self._flush()
            self.line(f"{items}.append({item})")
        self.close()

    def _nested(self, field: Field, target: str, nullable: bool) -> None:
        inner = self.fresh("struct")
        if nullable:
            self.run.append(("b", "n"))
            self._flush()
            self.open("if n < 0:" if field.tag is None else "if not n:")
            self.line(f"{target} = None")
            self.close()
            self.open("else:")
        self._struct(field.of, inner)
        self.line(f"{target} = {inner}")
        if nullable:
            self._flush()
            self.close()

    def _tags(self, tagged: list[Field], variable: str) -> None:
        """Read the tagged fields at a struct's end; unknown ones are passed over."""
        if not tagged:
            self.run.append(("B", "n"))
            self._flush()
            self.open("if n:")
            self.line("p = skip_tags(n, data, p)")
            self.close()
            return
        self.run.append(("B", "n"))
        self._flush()
        self.open("if n:")
        self.open("if n > 127:")
        self.line("n, p = continue_varint(n, data, p)")
        self.close()
        self.open("for _ in range(n):")
        stop = self.fresh("stop")
        self.line("tag, p = read_varint(data, p)")
        self.line("n, p = read_varint(data, p)")
        self.line(f"{stop} = p + n")
        for index, field in enumerate(tagged):
            self.open(f"{'elif' if index else 'if'} tag == {field.tag}:")
            self._field(field, f"{variable}.{field.name}")
            self._flush()
            self.close()
        self.open("else:")
        self.line(f"p = {stop}")
        self.close()
        self.open(f"if p != {stop}:")
        self.line(f"raise wrong_size(p, {stop})")
        self.close()
        self.close()
        self.close()
