# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: auto_pickle=False, embedsignature=False
"""Walks the records inside a batch: the one module that is also compiled.

The source is Python for which Cython knows C types: compiled it costs nanoseconds a record,
uncompiled it is the same rules, and what a machine without a C compiler runs. Every byte read is
checked against the end of the payload here, in the code: the compiled form has no net below it.
A reader never raises while it walks; it notes the failure, reads on as nothing, and is asked once a
record.

Source of the rules: `DefaultRecord.java`, `LogValidator.java` (4.3). Stricter than Kafka in two
things no producer does: lengths below -1, and timestamps beyond 64 bits, are malformed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protocol.records import cython_shadow as cython
else:
    try:
        import cython
    except ImportError:
        from protocol.records import cython_shadow as cython

from protocol.records.errors import MalformedRecords
from protocol.records.record import Header, Record, RecordScan

COMPILED = bool(cython.compiled)
KEY_MISSING = 1
TIMESTAMP_OUT_OF_RANGE = 2
MAX_ERRORS = 100

_NO_TIMESTAMP = -1
_new_tuple = tuple.__new__  # what Record(…) does, without the call in Python


@cython.final
@cython.cclass
class _Walk:
    """A position in a payload, and the record last passed over.

    `limit` is the end of what may be read now: of the record's body, or of the payload between
    records. Positions of key, value and headers are in the payload; sizes are -1 for null.
    """

    data: cython.const[cython.uchar][::1]  # type: ignore[valid-type] # Cython's own notation
    end: cython.Py_ssize_t
    limit: cython.Py_ssize_t
    position: cython.Py_ssize_t
    failed: cython.bint
    timestamp_delta: cython.longlong
    offset_delta: cython.longlong
    key_size: cython.Py_ssize_t
    key_end: cython.Py_ssize_t
    value_size: cython.Py_ssize_t
    value_end: cython.Py_ssize_t
    header_count: cython.longlong
    headers_position: cython.Py_ssize_t

    def __init__(self, payload: bytes | bytearray | memoryview) -> None:
        self.data = payload
        self.end = len(payload)
        self.limit = self.end
        self.position = 0
        self.failed = False

    @cython.cfunc
    @cython.exceptval(check=False)
    def many_bytes(self, most: cython.longlong) -> cython.longlong:
        """A varint of up to 5 bytes (32 bits) or 10 bytes (64 bits).

        Bits beyond that in the last byte are dropped, as Java's shift drops them.
        """
        value: cython.ulonglong = 0
        byte: cython.ulonglong
        bits: cython.ulonglong
        half: cython.longlong
        index: cython.longlong
        for index in range(most):
            if self.position >= self.limit:
                break
            byte = self.data[self.position]
            self.position += 1
            bits = byte & 0x7F
            if index == most - 1:
                bits &= 0x0F if most == 5 else 0x01
            value |= bits << (7 * index)
            if byte < 0x80:
                half = value >> 1
                return -half - 1 if value & 1 else half
        self.failed = True
        return 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def varint(self, most: cython.longlong) -> cython.longlong:
        """A zig-zag varint of at most so many bytes; nearly all are of one or two."""
        position: cython.Py_ssize_t = self.position
        value: cython.longlong
        second: cython.longlong
        if position < self.limit:
            value = self.data[position]
            if value < 0x80:
                self.position = position + 1
                return (value >> 1) ^ -(value & 1)
            if position + 1 < self.limit:
                second = self.data[position + 1]
                if second < 0x80:
                    self.position = position + 2
                    value = value & 0x7F | second << 7
                    return (value >> 1) ^ -(value & 1)
        return self.many_bytes(most)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def field(self) -> cython.Py_ssize_t:
        """Pass over a byte string with its length before it: its size, -1 for null."""
        size: cython.longlong = self.varint(5)
        if size < -1 or size > self.limit - self.position:
            self.failed = True
            return -1
        if size > 0:
            self.position += size
        return size

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def headers(self) -> cython.void:
        """Pass over the headers of the record."""
        remaining: cython.longlong = self.varint(5)
        self.headers_position = self.position
        self.header_count = remaining
        if remaining < 0 or remaining > self.limit - self.position:
            self.failed = True
        while remaining > 0 and not self.failed:
            if self.field() < 0:
                self.failed = True
            self.field()
            remaining -= 1

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def next_record(self) -> cython.bint:
        """Pass over one record; False if there is none here, or none that fills its length."""
        size: cython.longlong
        self.limit = self.end
        size = self.varint(5)
        if self.failed or size <= 0 or size > self.end - self.position:
            return False
        self.limit = self.position + size
        self.position += 1
        self.timestamp_delta = self.varint(10)
        self.offset_delta = self.varint(5)
        self.key_size = self.field()
        self.key_end = self.position
        self.value_size = self.field()
        self.value_end = self.position
        self.headers()
        return not self.failed and self.position == self.limit


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _overflows(base: cython.longlong, delta: cython.longlong) -> cython.bint:
    """Whether the sum does not fit 64 bits, told from half of it.

    Written with small literals: beyond 32 bits Cython would make them Python objects.
    """
    half: cython.longlong = (base >> 1) + (delta >> 1) + (base & delta & 1)
    return half >> 62 > 0 or half >> 62 < -1


def _malformed(index: int, count: int) -> MalformedRecords:
    """Which record breaks the format."""
    return MalformedRecords(f"record {index} of {count} is malformed")


def _check_end(position: int, end: int, count: int) -> None:
    """Raise unless the records declared fill the payload."""
    if count < 0:
        raise MalformedRecords(f"a batch declares {count} records")
    if position != end:
        raise MalformedRecords(f"{end - position} bytes follow the {count} records declared")


def _note(errors: list[tuple[int, int]], index: int, kind: int) -> None:
    """Keep an error while there is room; the first wrong timestamp always has room."""
    if len(errors) < MAX_ERRORS or (
        kind == TIMESTAMP_OUT_OF_RANGE and all(known != kind for _, known in errors)
    ):
        errors.append((index, kind))


def validate_records(
    payload: bytes | bytearray | memoryview,
    count: cython.longlong,
    base_timestamp: cython.longlong,
    check_keys: cython.bint,
    min_timestamp: cython.longlong,
    max_timestamp: cython.longlong,
) -> RecordScan:
    """Pass over all records of an uncompressed payload and tell what a leader must know of them.

    A record without a key (where keys are checked) is a KEY_MISSING, one whose timestamp lies
    outside the inclusive bounds and is not -1 a TIMESTAMP_OUT_OF_RANGE: at most one error a record
    and MAX_ERRORS in all, but for the first wrong timestamp, which is always told. Raises
    MalformedRecords unless exactly `count` well-formed records fill the payload.
    """
    walk: _Walk = _Walk(payload)
    errors: list[tuple[int, int]] = []
    index: cython.longlong = 0
    timestamp: cython.longlong
    largest: cython.longlong = _NO_TIMESTAMP
    offset_of_largest: cython.longlong = -1
    consecutive: cython.bint = True
    while index < count:
        if not walk.next_record() or _overflows(base_timestamp, walk.timestamp_delta):
            raise _malformed(index, count)
        timestamp = base_timestamp + walk.timestamp_delta
        if timestamp > largest:
            largest = timestamp
            offset_of_largest = walk.offset_delta
        if walk.offset_delta != index:
            consecutive = False
        if check_keys and walk.key_size < 0:
            _note(errors, index, KEY_MISSING)
        elif (timestamp < min_timestamp or timestamp > max_timestamp) and timestamp != -1:
            _note(errors, index, TIMESTAMP_OUT_OF_RANGE)
        index += 1
    _check_end(walk.position, walk.end, count)
    return _new_tuple(RecordScan, (largest, offset_of_largest, bool(consecutive), errors))


def first_at_or_after(
    payload: bytes | bytearray | memoryview,
    count: cython.longlong,
    base_timestamp: cython.longlong,
    timestamp: cython.longlong,
    offset_delta: cython.longlong,
) -> tuple[int, int] | None:
    """(timestamp, offset delta) of the first record at or after both; None if none is.

    Makes no records: a batch of one megabyte may unfold to millions. Raises MalformedRecords for
    a broken record before the one found.
    """
    walk: _Walk = _Walk(payload)
    index: cython.longlong = 0
    found: cython.longlong
    while index < count:
        if not walk.next_record() or _overflows(base_timestamp, walk.timestamp_delta):
            raise _malformed(index, count)
        found = base_timestamp + walk.timestamp_delta
        if found >= timestamp and walk.offset_delta >= offset_delta:
            return found, walk.offset_delta
        index += 1
    return None


@cython.cfunc
def _read_headers(walk: _Walk, source: bytes) -> list[Header]:
    """The headers of the record the walk has just passed over."""
    headers: list[Header] = []
    remaining: cython.longlong = walk.header_count
    size: cython.Py_ssize_t
    walk.position = walk.headers_position
    while remaining > 0:
        size = walk.field()
        name = source[walk.position - size : walk.position].decode("utf-8", "replace")
        size = walk.field()
        headers.append((name, None if size < 0 else source[walk.position - size : walk.position]))
        remaining -= 1
    return headers


def decode_records(
    payload: bytes | bytearray | memoryview,
    base_offset: int,
    base_timestamp: cython.longlong,
    count: cython.longlong,
    log_append_time: int | None,
) -> list[Record]:
    """All records of an uncompressed payload, copied; a log append time replaces their own.

    Header names that are not UTF-8 have the replacement character where they are not. Raises
    MalformedRecords unless exactly `count` well-formed records fill the payload.
    """
    source: bytes = bytes(payload)
    walk: _Walk = _Walk(source)
    records: list[Record] = []
    index: cython.longlong = 0
    while index < count:
        if not walk.next_record() or _overflows(base_timestamp, walk.timestamp_delta):
            raise _malformed(index, count)
        key = None if walk.key_size < 0 else source[walk.key_end - walk.key_size : walk.key_end]
        value = (
            None
            if walk.value_size < 0
            else source[walk.value_end - walk.value_size : walk.value_end]
        )
        timestamp = log_append_time
        if timestamp is None:
            timestamp = base_timestamp + walk.timestamp_delta
        offset = base_offset + walk.offset_delta
        headers = _read_headers(walk, source) if walk.header_count else []
        records.append(_new_tuple(Record, (offset, timestamp, key, value, headers)))
        index += 1
    _check_end(walk.position, walk.end, count)
    return records
