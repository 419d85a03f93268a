"""Metrics as clients push them: OpenTelemetry's protobuf, read as far as Prometheus can show it.

    MetricsData      1: ResourceMetrics…
    ResourceMetrics  1: Resource {1: KeyValue…}        2: ScopeMetrics… {2: Metric…}
    Metric           1: name    5: Gauge   7: Sum   9, 10: (exponential) Histogram   11: Summary
    Gauge … Summary  1: points…    2: temporality, 1 delta   3: whether a Sum only grows
    point            of Gauge, Sum        4: double | 6: sfixed64    7: KeyValue…
                     of the others        4: fixed64 count   5: double sum   1, 7, 9: KeyValue…
    KeyValue         1: key   2: value {1: string | 2: bool | 3: int | 4: double}

A point is its value; of distributions, count and sum. Points are yielded one by one, nothing is
copied but what they hold, and no more fields are looked at than the caller allows: what follows is
left out and `truncated` says so. Bytes that are no protobuf raise MalformedMetrics, wherever they
are met. Source: opentelemetry-proto 1.x, `metrics.proto`, `common.proto`; the protobuf encoding.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

Attributes = tuple[tuple[str, str], ...]
_Field = tuple[int, int, int, int]
"""Number, wire type, then the value of a varint, else where the bytes begin and end."""

_DOUBLE: Final = Struct("<d")
_SIGNED: Final = Struct("<q")
_UNSIGNED: Final = Struct("<Q")
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_GAUGE, _SUM = 5, 7
_DISTRIBUTIONS: Final = {9: 9, 10: 1, 11: 7}
"""Histogram, ExponentialHistogram, Summary: where each has a point's attributes."""
_SUMMARY: Final = 11
_WITH_POINTS: Final = (_GAUGE, _SUM, *_DISTRIBUTIONS)
_DELTA: Final = 1
_LONGEST_VARINT: Final = 10


class MalformedMetrics(Exception):
    """The bytes are not what they should be."""


class Point(NamedTuple):
    """One number. A counter only grows; `is_delta` is to be added to what there is."""

    name: str
    attributes: Attributes
    value: float
    is_counter: bool
    is_delta: bool


class _Kind(NamedTuple):
    """What is said of all points of a metric."""

    name: str
    field: int
    is_delta: bool
    only_grows: bool


class _Exhausted(Exception):
    """As many fields were looked at as may be."""


class MetricsReader:
    """Reads one push. `resource` is what the client says of itself, complete after `points`."""

    def __init__(self, data: bytes, max_fields: int) -> None:
        self._data = data
        self._left = max_fields
        self.truncated = False
        self.resource: dict[str, str] = {}

    def points(self) -> Iterator[Point]:
        """Every point, in order. Raises MalformedMetrics."""
        try:
            for number, wire, start, end in self._fields(0, len(self._data)):
                if (number, wire) == (1, _BYTES):
                    yield from self._resource_metrics(start, end)
        except _Exhausted:
            self.truncated = True

    def _resource_metrics(self, start: int, end: int) -> Iterator[Point]:
        for number, wire, inner, inner_end in self._fields(start, end):
            if wire != _BYTES:
                continue
            if number == 1:
                self.resource.update(self._attributes(inner, inner_end, 1))
            elif number == 2:
                for field in self._fields(inner, inner_end):
                    if field[:2] == (2, _BYTES):
                        yield from self._metric(field[2], field[3])

    def _metric(self, start: int, end: int) -> Iterator[Point]:
        """The fields may come in any order, so what is said of all points is read first."""
        name, data = "", None
        for field in self._fields(start, end):
            if field[:2] == (1, _BYTES):
                name = self._text(field)
            elif field[1] == _BYTES and field[0] in _WITH_POINTS:
                data = field
        if data is None:
            return
        kind = self._kind(name, data)
        read = self._distribution if kind.field in _DISTRIBUTIONS else self._number
        for number, wire, inner, inner_end in self._fields(data[2], data[3]):
            if (number, wire) == (1, _BYTES):
                yield from read(kind, inner, inner_end)

    def _kind(self, name: str, data: _Field) -> _Kind:
        is_delta = only_grows = False
        for number, wire, value, _ in self._fields(data[2], data[3]):
            if (number, wire) == (2, _VARINT):
                is_delta = value == _DELTA
            elif (number, wire) == (3, _VARINT):
                only_grows = bool(value)
        field = data[0]
        return _Kind(name, field, is_delta and field not in (_GAUGE, _SUMMARY), only_grows)

    def _distribution(self, kind: _Kind, start: int, end: int) -> Iterator[Point]:
        count, total = None, None
        for number, wire, inner, _ in self._fields(start, end):
            if (number, wire) == (4, _FIXED64):
                count = float(_UNSIGNED.unpack_from(self._data, inner)[0])
            elif (number, wire) == (5, _FIXED64):
                total = float(_DOUBLE.unpack_from(self._data, inner)[0])
        attributes = self._attributes(start, end, _DISTRIBUTIONS[kind.field])
        if count is not None:
            yield Point(f"{kind.name}.count", attributes, count, True, kind.is_delta)
        if total is not None:
            yield Point(f"{kind.name}.sum", attributes, total, False, kind.is_delta)

    def _number(self, kind: _Kind, start: int, end: int) -> Iterator[Point]:
        value: float | None = None
        for number, wire, inner, _ in self._fields(start, end):
            if wire == _FIXED64 and number == 4:
                value = _DOUBLE.unpack_from(self._data, inner)[0]
            elif wire == _FIXED64 and number == 6:
                value = float(_SIGNED.unpack_from(self._data, inner)[0])
        if value is not None:
            is_counter = kind.field == _SUM and kind.only_grows
            attributes = self._attributes(start, end, 7)
            yield Point(kind.name, attributes, value, is_counter, kind.is_delta)

    def _attributes(self, start: int, end: int, wanted: int) -> Attributes:
        found = []
        for number, wire, inner, inner_end in self._fields(start, end):
            if (number, wire) == (wanted, _BYTES):
                pair = self._key_value(inner, inner_end)
                if pair is not None:
                    found.append(pair)
        return tuple(found)

    def _key_value(self, start: int, end: int) -> tuple[str, str] | None:
        """A key with its value as text; None for values that are lists, maps or bytes."""
        key, value = "", None
        for field in self._fields(start, end):
            if field[:2] == (1, _BYTES):
                key = self._text(field)
            elif field[:2] == (2, _BYTES):
                for inner in self._fields(field[2], field[3]):
                    value = self._any_value(inner)
        return None if value is None else (key, value)

    def _any_value(self, field: _Field) -> str | None:
        number, wire, value, _ = field
        if (number, wire) == (1, _BYTES):
            return self._text(field)
        if (number, wire) == (2, _VARINT):
            return "true" if value else "false"
        if (number, wire) == (3, _VARINT):
            return str(value - (1 << 64) if value >> 63 else value)
        if (number, wire) == (4, _FIXED64):
            return repr(_DOUBLE.unpack_from(self._data, value)[0])
        return None

    def _text(self, field: _Field) -> str:
        try:
            return self._data[field[2] : field[3]].decode()
        except UnicodeDecodeError as error:
            raise MalformedMetrics(str(error)) from None

    def _fields(self, position: int, end: int) -> Iterator[_Field]:
        """The fields of one message, each within its bounds."""
        while position < end:
            self._left -= 1
            if self._left < 0:
                raise _Exhausted
            tag, position = self._varint(position, end)
            number, wire = tag >> 3, tag & 7
            if wire == _VARINT:
                value, position = self._varint(position, end)
                yield number, wire, value, position
                continue
            size = {_FIXED64: 8, _FIXED32: 4}.get(wire)
            if wire == _BYTES:
                size, position = self._varint(position, end)
            if size is None or number == 0 or size > end - position:
                raise MalformedMetrics(f"field {number} of wire type {wire} at {position}")
            yield number, wire, position, position + size
            position += size

    def _varint(self, position: int, end: int) -> tuple[int, int]:
        """A number of up to 64 bits, and where it ends."""
        data = self._data
        value = 0
        for shift, at in enumerate(range(position, min(position + _LONGEST_VARINT, end))):
            byte = data[at]
            value |= (byte & 0x7F) << 7 * shift
            if byte < 0x80:
                return value & 0xFFFF_FFFF_FFFF_FFFF, at + 1
        raise MalformedMetrics(f"a number without end at {position}")
