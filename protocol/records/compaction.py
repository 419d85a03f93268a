# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True, auto_pickle=False, embedsignature=False
"""What compaction does with every record: the map of keys to their last offsets, and the filter.

The second module that is also compiled, under the rules of `protocol.records.kernel`: the same
source runs uncompiled, every byte read is checked against its end here. It stands alone because
compiled modules share nothing but Python calls, which cost more than a record does here.

```text
slot of the map, 24 bytes            open addressing, the next slot where one is taken
 0 hash     u128   SipHash-2-4-128 of the key, under a secret of this run
16 offset   u64    last offset of the key plus one; 0 marks a free slot
```
Keys are not kept: two of the same hash would be one key. At 128 bits and a secret that no producer
knows nobody can look for such a pair, as one could for MD5, which Kafka uses here.
Source: SkimpyOffsetMap.java, MemoryRecords.filterTo (4.3); SipHash: a fast short-input PRF (2012).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from protocol.records import cython_shadow as cython
else:
    try:
        import cython
    except ImportError:
        from protocol.records import cython_shadow as cython

from protocol.records.errors import MalformedRecords

COMPILED = bool(cython.compiled)
SLOT_BYTES = 24
SECRET_BYTES = 16
ABSENT = -1

_MASK = (1 << 64) - 1
_INITIAL = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_WIDE = 0xEE  # what sets the 128-bit form apart from the 64-bit one
_MOST_VARINT_GROWTH = 16  # bytes by which another timestamp delta can lengthen a record


class Retention(NamedTuple):
    """What is kept of a batch's records.

    `flags` has one byte a record, 1 for those that stay; `tombstones` says whether one of these
    has no value. Timestamps are those of the first and the latest of them, -1 without any.
    """

    kept: int
    tombstones: bool
    first_timestamp: int
    max_timestamp: int
    flags: bytearray


@cython.final
@cython.cclass
class _Walk:
    """A position in a payload, and the record last passed over.

    Positions are in the payload: where the record begins, where what follows its timestamp begins,
    and its end. Headers are not looked into: they lie within the record's length and stay with it.
    """

    data: cython.const[cython.uchar][::1]  # type: ignore[valid-type] # Cython's own notation
    end: cython.Py_ssize_t
    limit: cython.Py_ssize_t
    position: cython.Py_ssize_t
    failed: cython.bint
    start: cython.Py_ssize_t
    rest: cython.Py_ssize_t
    timestamp_delta: cython.longlong
    offset_delta: cython.longlong
    key: cython.Py_ssize_t
    key_size: cython.Py_ssize_t
    value_size: cython.Py_ssize_t

    def __init__(self, payload: bytes | bytearray | memoryview) -> None:
        self.data = payload
        self.end = len(payload)
        self.limit = self.end
        self.position = 0
        self.failed = False

    @cython.cfunc
    @cython.exceptval(check=False)
    def varint(self) -> cython.longlong:
        """A zig-zag varint of at most ten bytes."""
        value: cython.ulonglong = 0
        byte: cython.ulonglong
        half: cython.longlong
        shift: cython.longlong = 0
        while self.position < self.limit and shift < 70:
            byte = self.data[self.position]
            self.position += 1
            value |= (byte & (0x7F if shift < 63 else 0x01)) << shift
            if byte < 0x80:
                half = value >> 1
                return -half - 1 if value & 1 else half
            shift += 7
        self.failed = True
        return 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def field(self) -> cython.Py_ssize_t:
        """Pass over a byte string with its length before it: its size, -1 for null."""
        size: cython.longlong = self.varint()
        if size < -1 or size > self.limit - self.position:
            self.failed = True
            return -1
        if size > 0:
            self.position += size
        return size

    @cython.cfunc
    @cython.exceptval(check=False)
    def next_record(self) -> cython.bint:
        """Pass over one record; False if there is none here, or none that fits its length."""
        size: cython.longlong
        self.limit = self.end
        self.start = self.position
        size = self.varint()
        if self.failed or size <= 0 or size > self.end - self.position:
            return False
        self.limit = self.position + size
        self.position += 1
        self.timestamp_delta = self.varint()
        self.rest = self.position
        self.offset_delta = self.varint()
        self.key_size = self.field()
        self.key = self.position - self.key_size
        self.value_size = self.field()
        self.position = self.limit
        return not self.failed


def _malformed(index: int, count: int) -> MalformedRecords:
    """Which record breaks the format."""
    return MalformedRecords(f"record {index} of {count} is malformed")


def _walk_of(payload: bytes | bytearray | memoryview, count: int) -> _Walk:
    """A walk over so many records, which the payload can hold."""
    if count < 0 or count > len(payload):
        raise MalformedRecords(f"a batch of {len(payload)} bytes declares {count} records")
    return _Walk(payload)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _sum(first: cython.ulonglong, second: cython.ulonglong) -> cython.ulonglong:
    """The sum in 64 bits."""
    if cython.compiled:
        return first + second
    return (first + second) & _MASK


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _rotated(value: cython.ulonglong, bits: cython.longlong) -> cython.ulonglong:
    """The 64 bits turned left."""
    if cython.compiled:
        return (value << bits) | (value >> (64 - bits))
    return ((value << bits) | (value >> (64 - bits))) & _MASK


@cython.final
@cython.cclass
class OffsetMap:
    """The last offset of each key, for as many keys as fit.

    One that holds `most_keys` takes no further record, as Kafka's does, not even of a known key.
    """

    table: cython.ulonglong[::1]  # type: ignore[type-arg, valid-type] # Cython's own notation
    slots: cython.ulonglong
    keys: cython.longlong
    limit: cython.longlong
    v0: cython.ulonglong
    v1: cython.ulonglong
    v2: cython.ulonglong
    v3: cython.ulonglong
    low: cython.ulonglong
    high: cython.ulonglong

    def __init__(self, slots: int, most_keys: int, secret: bytes) -> None:
        """An empty map; most_keys is below slots, so that every search ends."""
        assert 0 < most_keys < slots, (most_keys, slots)
        assert len(secret) == SECRET_BYTES, len(secret)
        first = int.from_bytes(secret[:8], "little")
        second = int.from_bytes(secret[8:], "little")
        self.table = memoryview(bytearray(slots * SLOT_BYTES)).cast("Q")
        self.slots = slots
        self.keys = 0
        self.limit = most_keys
        self.v0 = first ^ _INITIAL[0]
        self.v1 = second ^ _INITIAL[1] ^ _WIDE
        self.v2 = first ^ _INITIAL[2]
        self.v3 = second ^ _INITIAL[3]

    def __len__(self) -> int:
        return self.keys

    @property
    def is_full(self) -> bool:
        """Whether no further record is taken."""
        return bool(self.keys >= self.limit)

    @property
    def utilization(self) -> float:
        """How much of the table is taken, from 0 to 1."""
        return float(self.keys) / float(self.slots)

    @cython.cfunc
    @cython.exceptval(check=False)
    def hash_key(self, walk: _Walk) -> cython.void:
        """Put the hash of the walk's key into `low` and `high`."""
        v0: cython.ulonglong = self.v0
        v1: cython.ulonglong = self.v1
        v2: cython.ulonglong = self.v2
        v3: cython.ulonglong = self.v3
        size: cython.Py_ssize_t = walk.key_size
        position: cython.Py_ssize_t = walk.key
        words: cython.Py_ssize_t = size >> 3
        step: cython.Py_ssize_t
        byte: cython.longlong
        _turn: cython.longlong
        turns: cython.longlong
        word: cython.ulonglong
        octet: cython.ulonglong
        for step in range(words + 3):
            word = 0
            turns = 2
            if step < words:
                for byte in range(8):
                    octet = walk.data[position + byte]
                    word |= octet << (8 * byte)
                position += 8
            elif step == words:
                for byte in range(size & 7):
                    octet = walk.data[position + byte]
                    word |= octet << (8 * byte)
                octet = size & 0xFF
                word |= octet << 56
            elif step == words + 1:
                v2 ^= 0xEE
                turns = 4
            else:
                self.low = v0 ^ v1 ^ v2 ^ v3
                v1 ^= 0xDD
                turns = 4
            v3 ^= word
            for _turn in range(turns):
                v0 = _sum(v0, v1)
                v1 = _rotated(v1, 13) ^ v0
                v0 = _rotated(v0, 32)
                v2 = _sum(v2, v3)
                v3 = _rotated(v3, 16) ^ v2
                v0 = _sum(v0, v3)
                v3 = _rotated(v3, 21) ^ v0
                v2 = _sum(v2, v1)
                v1 = _rotated(v1, 17) ^ v2
                v2 = _rotated(v2, 32)
            v0 ^= word
        self.high = v0 ^ v1 ^ v2 ^ v3

    @cython.cfunc
    @cython.exceptval(check=False)
    def find(self, walk: _Walk) -> cython.Py_ssize_t:
        """Where in the table the walk's key is, or would be put."""
        slot: cython.ulonglong
        at: cython.Py_ssize_t
        self.hash_key(walk)
        slot = self.low % self.slots
        while True:
            at = slot * 3
            if self.table[at + 2] == 0 or (
                self.table[at] == self.low and self.table[at + 1] == self.high
            ):
                return at
            slot += 1
            if slot == self.slots:
                slot = 0

    @cython.cfunc
    @cython.exceptval(check=False)
    def note(self, walk: _Walk, offset: cython.longlong) -> cython.void:
        """The walk's key has this offset."""
        at: cython.Py_ssize_t = self.find(walk)
        if self.table[at + 2] == 0:
            self.table[at] = self.low
            self.table[at + 1] = self.high
            self.keys += 1
        self.table[at + 2] = offset + 1

    def hash_of(self, key: bytes) -> bytes:
        """The hash that stands for a key, 16 bytes."""
        walk: _Walk = _Walk(key)
        walk.key = 0
        walk.key_size = len(key)
        self.hash_key(walk)
        return int(self.low).to_bytes(8, "little") + int(self.high).to_bytes(8, "little")

    def put(self, key: bytes, offset: int) -> bool:
        """Remember a key's offset; False, and nothing done, if the map is full."""
        walk: _Walk = _Walk(key)
        if self.keys >= self.limit:
            return False
        walk.key = 0
        walk.key_size = len(key)
        self.note(walk, offset)
        return True

    def get(self, key: bytes) -> int:
        """The last offset of a key, ABSENT if it is not in the map."""
        walk: _Walk = _Walk(key)
        walk.key = 0
        walk.key_size = len(key)
        return int(self.table[self.find(walk) + 2]) - 1

    def add_records(
        self,
        payload: bytes | bytearray | memoryview,
        count: cython.longlong,
        base_offset: cython.longlong,
        start_offset: cython.longlong,
    ) -> bool:
        """Remember the records at or after an offset that have a key.

        False where the map was full before all were: those before are in it. MalformedRecords
        unless so many well-formed records are in the uncompressed payload.
        """
        walk: _Walk = _walk_of(payload, count)
        index: cython.longlong = 0
        offset: cython.longlong
        while index < count:
            if not walk.next_record():
                raise _malformed(index, count)
            offset = base_offset + walk.offset_delta
            if walk.key_size >= 0 and offset >= start_offset:
                if self.keys >= self.limit:
                    return False
                self.note(walk, offset)
            index += 1
        return True

    def select(
        self,
        payload: bytes | bytearray | memoryview,
        count: cython.longlong,
        base_offset: cython.longlong,
        base_timestamp: cython.longlong,
        end_offset: cython.longlong,
        drop_tombstones: cython.bint,
    ) -> Retention:
        """Which records of an uncompressed payload stay.

        Those at or after `end_offset`, where the map ends; before it those whose key has no later
        offset, and that have a value or are tombstones still to be kept. None without a key.
        MalformedRecords as `add_records`.
        """
        walk: _Walk = _walk_of(payload, count)
        flags = bytearray(count)
        marks: cython.uchar[::1] = flags  # type: ignore[type-arg, valid-type] # Cython's own notation
        index: cython.longlong = 0
        kept: cython.longlong = 0
        offset: cython.longlong
        timestamp: cython.longlong
        first: cython.longlong = -1
        largest: cython.longlong = -1
        found: cython.longlong
        tombstones: cython.bint = False
        while index < count:
            if not walk.next_record():
                raise _malformed(index, count)
            offset = base_offset + walk.offset_delta
            if offset < end_offset:
                if walk.key_size < 0 or (walk.value_size < 0 and drop_tombstones):
                    index += 1
                    continue
                found = self.table[self.find(walk) + 2]
                if offset < found - 1:
                    index += 1
                    continue
            timestamp = base_timestamp + walk.timestamp_delta
            if kept == 0:
                first = timestamp
            largest = max(largest, timestamp)
            if walk.value_size < 0:
                tombstones = True
            marks[index] = 1
            kept += 1
            index += 1
        return Retention(kept, bool(tombstones), first, largest, flags)


@cython.cfunc
@cython.exceptval(check=False)
def _put_varint(
    target: cython.uchar[::1],  # type: ignore[type-arg, valid-type] # Cython's own notation
    position: cython.Py_ssize_t,
    value: cython.longlong,
) -> cython.Py_ssize_t:
    """Write a zig-zag varint; where it ends."""
    rest: cython.longlong = value if value >= 0 else -(value + 1)
    bits: cython.longlong = (rest & 0x3F) << 1 | (1 if value < 0 else 0)
    rest >>= 6
    while rest > 0:
        target[position] = bits | 0x80
        position += 1
        bits = rest & 0x7F
        rest >>= 7
    target[position] = bits
    return position + 1


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _varint_size(value: cython.longlong) -> cython.longlong:
    """How many bytes a zig-zag varint takes."""
    rest: cython.longlong = value if value >= 0 else -(value + 1)
    size: cython.longlong = 1
    rest >>= 6
    while rest > 0:
        size += 1
        rest >>= 7
    return size


def copy_records(
    payload: bytes | bytearray | memoryview,
    flags: bytearray,
    shift: cython.longlong,
    same_time: cython.bint,
) -> bytearray:
    """The records with a flag, as they follow each other under another base timestamp.

    `shift` is added to each timestamp delta; with `same_time` it is the delta of every record.
    Offset deltas, keys, values and headers are copied as they are.
    """
    count: cython.longlong = len(flags)
    walk: _Walk = _walk_of(payload, count)
    result = bytearray(len(payload) + _MOST_VARINT_GROWTH * sum(flags))
    target: cython.uchar[::1] = result  # type: ignore[type-arg, valid-type] # Cython's own notation
    marks: cython.uchar[::1] = flags  # type: ignore[type-arg, valid-type] # Cython's own notation
    position: cython.Py_ssize_t = 0
    index: cython.longlong = 0
    delta: cython.longlong
    at: cython.Py_ssize_t
    while index < count:
        if not walk.next_record():
            raise _malformed(index, count)
        if marks[index]:
            delta = shift if same_time else walk.timestamp_delta + shift
            position = _put_varint(
                target, position, 1 + _varint_size(delta) + walk.limit - walk.rest
            )
            target[position] = 0
            position = _put_varint(target, position + 1, delta)
            for at in range(walk.rest, walk.limit):
                target[position] = walk.data[at]
                position += 1
        index += 1
    del target  # a view that is open keeps the bytes from being cut
    del result[position:]
    return result
