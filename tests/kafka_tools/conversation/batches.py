"""Batches, good ones and ones with exactly one thing wrong."""

import struct
from typing import Any

from protocol.crc32c import crc32c
from protocol.records.builder import build_batch
from protocol.records.compression import compress
from protocol.records.record import Record, encode_record

TIME = 1_700_000_000_000
FAR = 4_000_000_000_000


def records(
    count: int, key: bytes | None = b"key", size: int = 20, time: int = TIME
) -> list[Record]:
    return [Record(i, time + i, key, bytes([97 + i % 26]) * size, []) for i in range(count)]


def batch(count: int = 3, **fields: Any) -> bytes:
    options = {name: fields.pop(name) for name in ("key", "size", "time") if name in fields}
    return bytes(build_batch(records(count, **options), **fields))


def patched(data: bytes, position: int, layout: str, *values: int) -> bytes:
    """A batch with other header fields, its checksum right."""
    changed = bytearray(data)
    struct.pack_into(layout, changed, position, *values)
    struct.pack_into(">I", changed, 17, crc32c(memoryview(changed)[21:]))
    return bytes(changed)


def around(payload: bytes, count: int = 1, attributes: int = 0) -> bytes:
    """A batch with this payload, whatever it is."""
    data = bytearray(build_batch(records(1)))[:61] + payload
    struct.pack_into(">i", data, 8, len(data) - 12)
    header = patched(bytes(data), 21, ">hi", attributes, count - 1)
    return patched(header, 57, ">i", count)


ONE = encode_record(0, 0, b"k", b"v", [])
LEGACY_1 = struct.pack(">qiIbbqi", 0, 26, 0x1234, 1, 0, TIME, -1) + struct.pack(">i", -1)

DAMAGED: dict[str, bytes | None] = {
    "null": None,
    "empty": b"",
    "short": batch()[:60],
    "cut": batch()[:-1],
    "garbage": b"\xff" * 80,
    "zeros": bytes(80),
    "two-batches": batch() + batch(),
    "batch-and-part": batch() + batch()[:20],
    "batch-and-rubbish": batch() + b"rubbish",
    "bad-crc": batch()[:17] + b"\0\0\0\0" + batch()[21:],
    "magic-3": patched(batch(), 16, ">b", 3),
    "magic-1": LEGACY_1,
    "magic-minus": patched(batch(), 16, ">b", -1),
    "base-offset": patched(batch(), 0, ">q", 7),
    "length-too-small": patched(batch(), 8, ">i", 20),
    "length-negative": patched(batch(), 8, ">i", -1),
    "length-too-large": patched(batch(), 8, ">i", 100_000),
    "count-zero": patched(batch(), 57, ">i", 0),
    "count-negative": patched(batch(), 57, ">i", -5),
    "count-more": patched(batch(), 57, ">i", 4),
    "count-less": patched(batch(), 57, ">i", 2),
    "delta-more": patched(batch(), 23, ">i", 5),
    "delta-and-count-more": patched(patched(batch(), 23, ">i", 3), 57, ">i", 4),
    "delta-and-count-less": patched(patched(batch(), 23, ">i", 1), 57, ">i", 2),
    "no-records": batch(0),
    "control": patched(batch(1), 21, ">h", 0x20),
    "control-transactional": patched(batch(1), 21, ">h", 0x30),
    "transactional-without-producer": patched(batch(1), 21, ">h", 0x10),
    "claims-append-time": patched(batch(), 21, ">h", 0x08),
    "delete-horizon": patched(batch(), 21, ">h", 0x40),
    "reserved-attribute": patched(batch(), 21, ">h", 0x80),
    "codec-5": patched(batch(), 21, ">h", 5),
    "codec-7": patched(batch(), 21, ">h", 7),
    "gzip-that-is-not": patched(batch(), 21, ">h", 1),
    "snappy-that-is-not": patched(batch(), 21, ">h", 2),
    "lz4-that-is-not": patched(batch(), 21, ">h", 3),
    "zstd-that-is-not": patched(batch(), 21, ">h", 4),
    "gzip-of-nothing": around(compress(1, b""), 1, 1),
    "gzip-cut": around(compress(1, ONE)[:-3], 1, 1),
    "gzip-and-more": around(compress(1, ONE + ONE), 1, 1),
    "trailing-bytes": around(ONE + b"x"),
    "record-too-long": around(b"\x7f" + ONE[1:]),
    "record-too-short": around(b"\x02" + ONE[1:]),
    "record-negative": around(b"\x01" + ONE[1:]),
    "key-beyond": around(ONE[:4] + b"\x7e" + ONE[5:]),
    "key-minus-two": around(ONE[:4] + b"\x03" + ONE[5:]),
    "header-count-negative": around(ONE[:-1] + b"\x01"),
    "header-count-beyond": around(ONE[:-1] + b"\x7e"),
    "header-null-key": around(b"\x12" + ONE[1:-1] + b"\x02\x01\x00"),
    "record-attributes": around(ONE[:1] + b"\x01" + ONE[2:]),
    "inner-offset-1": around(encode_record(1, 0, b"k", b"v", [])),
    "inner-offsets-swapped": around(
        encode_record(1, 0, b"k", b"v", []) + encode_record(0, 0, b"k", b"v", []), 2
    ),
    "inner-offsets-gap-gzip": around(
        compress(1, encode_record(0, 0, b"k", b"v", []) + encode_record(2, 0, b"k", b"v", [])),
        2,
        1,
    ),
    "max-timestamp-wrong": patched(batch(), 35, ">q", TIME + 50),
    "max-timestamp-minus": patched(batch(), 35, ">q", -1),
    "timestamps-minus-one": batch(1, time=-1),
    "timestamps-minus-five": batch(1, time=-5),
    "future": batch(time=FAR),
    "future-once": bytes(build_batch([*records(1), *records(1, time=FAR)])),
    "null-key-and-value": bytes(build_batch([Record(0, TIME, None, None, [])])),
    "headers": bytes(build_batch([Record(0, TIME, b"", b"", [("h", b"1"), ("h", None)])])),
    "leader-epoch-set": batch(leader_epoch=9),
    "sequence-missing": batch(producer_id=9000, producer_epoch=0, base_sequence=-1),
    "epoch-missing": batch(producer_id=9001, producer_epoch=-1, base_sequence=0),
    "sequence-without-producer": batch(producer_id=-1, producer_epoch=-1, base_sequence=4),
    "producer-minus-two": batch(producer_id=-2, producer_epoch=0, base_sequence=0),
}
"""One wrong thing each, or one unusual thing that is allowed."""
