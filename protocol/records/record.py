"""One record of a version 2 batch, as a value and as bytes.

```text
length        varint   bytes after this field
attributes    int8     0, unused
timestamp     varlong  delta to the batch's base timestamp
offset        varint   delta to the batch's base offset
key length    varint   -1 = null      key bytes
value length  varint   -1 = null (a tombstone)   value bytes
header count  varint   then for each: varint length, UTF-8 key, varint length (-1 = null), value
```
All varints are zig-zag, seven bits a byte, lowest first. Source: KIP-98, `DefaultRecord.java`.
Reading many records at once is `kernel.decode_records`.
"""

from typing import NamedTuple

Header = tuple[str, bytes | None]


class Record(NamedTuple):
    """What a producer sent, with the offset and the time (ms) it has in the log."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[Header]


class RecordScan(NamedTuple):
    """What a leader must know of the records in a batch before it appends them.

    `offset_of_max_timestamp` is the offset delta of the first record that has the greatest
    timestamp; both are -1 when no record has one. `consecutive` says that offset deltas are
    0 to n-1. `errors` pairs a record's index with the kernel's kind of error.
    """

    max_timestamp: int
    offset_of_max_timestamp: int
    consecutive: bool
    errors: list[tuple[int, int]]


def encode_varint(value: int) -> bytes:
    """Zig-zag variable-length form of a signed integer of at most 64 bits."""
    value = (value << 1) ^ (value >> 63)
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_NULL = encode_varint(-1)


def _encode_nullable(data: bytes | None) -> bytes:
    """Length and bytes, or the length -1."""
    return _NULL if data is None else encode_varint(len(data)) + data


def encode_record(
    offset_delta: int,
    timestamp_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: list[Header] | tuple[Header, ...] = (),
) -> bytes:
    """The record's bytes, its own length in front."""
    parts = [
        b"\0",
        encode_varint(timestamp_delta),
        encode_varint(offset_delta),
        _encode_nullable(key),
        _encode_nullable(value),
        encode_varint(len(headers)),
    ]
    for name, content in headers:
        parts += (_encode_nullable(name.encode()), _encode_nullable(content))
    body = b"".join(parts)
    return encode_varint(len(body)) + body
