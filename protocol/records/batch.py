"""A record batch, version 2, as a view on its bytes.

```text
 0 baseOffset            i64  ┐ the leader writes these two fields in place;
 8 batchLength           i32  │ bytes after this field, so the whole is 12 more
12 partitionLeaderEpoch  i32  ┘ nothing up to here is covered by the checksum
16 magic                 i8   2; formats 0 and 1 keep theirs at the same place
17 crc                   u32  CRC-32C of everything from 21 on
21 attributes            i16  0-2 codec · 3 log append time · 4 transactional · 5 control
                              · 6 base timestamp is the delete horizon
23 lastOffsetDelta       i32  kept by compaction
27 baseTimestamp         i64
35 maxTimestamp          i64  with log append time: the timestamp of every record
43 producerId            i64
51 producerEpoch         i16
53 baseSequence          i32
57 recordsCount          i32
61 records, or one compressed blob of all of them
```
A `RecordBatch` always lies on one whole batch: size and magic were checked, the checksum was not.
It holds a view, not a copy: whoever lends the bytes says for how long they may be looked at.
Source: KIP-98, `DefaultRecordBatch.java`, `ByteBufferLogInputStream.java` (4.3).
"""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from protocol.crc32c import crc32c
from protocol.records.errors import CorruptBatch, LegacyMessageSet
from protocol.records.record import Record

LOG_OVERHEAD = 12
HEADER_SIZE_UP_TO_MAGIC = 17
HEADER_SIZE = 61
MAGIC = 2
DEFAULT_DECOMPRESSED_LIMIT = 1 << 28

CODEC_MASK = 0x07
LOG_APPEND_TIME_FLAG = 0x08
TRANSACTIONAL_FLAG = 0x10
CONTROL_FLAG = 0x20
DELETE_HORIZON_FLAG = 0x40

HEADER = Struct(">qiibIhiqqqhii")
_PREFIX = Struct(">qi4xb")
_ASSIGNED = Struct(">qii")
_CRC = Struct(">I")
_ATTRIBUTES = Struct(">h")
_TIMESTAMP = Struct(">q")
_CRC_POSITION = 17
_CHECKED_POSITION = 21
_MAX_TIMESTAMP_POSITION = 35
_SMALLEST_LEGACY = 14

Buffer = bytes | bytearray | memoryview
_header_of = HEADER.unpack_from
_assign_into = _ASSIGNED.pack_into


class BatchPrefix(NamedTuple):
    """What every message format has at the same place.

    `base_offset` is the first offset of a batch; an entry of format 0 or 1 carries the offset of
    its (when compressed: last) message there. `size` counts the whole entry.
    """

    base_offset: int
    size: int
    magic: int


def peek_header(buffer: Buffer, position: int = 0) -> BatchPrefix | None:
    """Prefix of the entry of any message format at a position; None if the buffer ends before.

    The entry itself may reach beyond the buffer. Raises CorruptBatch if no format has such a size
    or magic.
    """
    if len(buffer) - position < HEADER_SIZE_UP_TO_MAGIC:
        return None
    base_offset, length, magic = _PREFIX.unpack_from(buffer, position)
    if not 0 <= magic <= MAGIC:
        raise CorruptBatch(f"no message format has magic {magic}")
    if length < (HEADER_SIZE - LOG_OVERHEAD if magic == MAGIC else _SMALLEST_LEGACY):
        raise CorruptBatch(f"batch length {length} is below the smallest of format {magic}")
    return BatchPrefix(base_offset, LOG_OVERHEAD + length, magic)


def _too_short(view: memoryview) -> CorruptBatch:
    """Why fewer bytes than a header are no batch."""
    prefix = peek_header(view)
    if prefix is not None and prefix.magic < MAGIC:
        return LegacyMessageSet(prefix.magic)
    return CorruptBatch(f"{len(view)} bytes are no record batch")


class RecordBatch:
    """One whole batch, its header read; attributes carry the header's values.

    `view` is the batch and nothing more; patching it needs writable bytes underneath.
    """

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "crc",
        "last_offset_delta",
        "leader_epoch",
        "magic",
        "max_timestamp",
        "producer_epoch",
        "producer_id",
        "record_count",
        "size",
        "view",
    )
    base_offset: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    def __init__(self, view: memoryview, position: int, end: int) -> None:
        """Read the header at `position` of a view; raises CorruptBatch unless `end` is beyond it.

        Straight-line on purpose: every produced batch passes here.
        """
        if end - position < HEADER_SIZE:
            raise _too_short(view[position:end])
        (
            self.base_offset,
            length,
            self.leader_epoch,
            self.magic,
            self.crc,
            self.attributes,
            self.last_offset_delta,
            self.base_timestamp,
            self.max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.record_count,
        ) = _header_of(view, position)
        if self.magic != MAGIC:
            if 0 <= self.magic < MAGIC:
                raise LegacyMessageSet(self.magic)
            raise CorruptBatch(f"no message format has magic {self.magic}")
        self.size = size = LOG_OVERHEAD + length
        if size < HEADER_SIZE or size > end - position:
            raise CorruptBatch(f"batch length {length} does not fit {end - position} bytes")
        self.view = view[position : position + size]

    def __repr__(self) -> str:
        return (
            f"RecordBatch(offsets {self.base_offset}-{self.last_offset}, size {self.size}, "
            f"epoch {self.leader_epoch}, producer {self.producer_id}/{self.producer_epoch}, "
            f"sequence {self.base_sequence}, attributes {self.attributes:#x})"
        )

    @property
    def last_offset(self) -> int:
        """Offset of the last record, or where it was before compaction took it."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """Base offset of what may follow this batch."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """Sequence of the last record, wrapping from 2^31-1 to 0; -1 without sequences."""
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    @property
    def codec(self) -> int:
        """Number of the codec; may be one that does not exist (5 to 7)."""
        return self.attributes & CODEC_MASK

    @property
    def is_log_append_time(self) -> bool:
        """Whether the broker's clock stamped the records."""
        return bool(self.attributes & LOG_APPEND_TIME_FLAG)

    @property
    def is_transactional(self) -> bool:
        """Whether the batch belongs to a transaction."""
        return bool(self.attributes & TRANSACTIONAL_FLAG)

    @property
    def is_control(self) -> bool:
        """Whether the one record is a marker for readers and no data."""
        return bool(self.attributes & CONTROL_FLAG)

    @property
    def has_delete_horizon(self) -> bool:
        """Whether the base timestamp is when tombstones may go; deltas are still relative to it."""
        return bool(self.attributes & DELETE_HORIZON_FLAG)

    def crc_ok(self) -> bool:
        """Whether the checksum in the header is that of the bytes."""
        return crc32c(self.view[_CHECKED_POSITION:]) == self.crc

    def assign(self, base_offset: int, leader_epoch: int) -> None:
        """Give the batch its place in the log; the checksum does not cover these fields."""
        _assign_into(self.view, 0, base_offset, self.size - LOG_OVERHEAD, leader_epoch)
        self.base_offset = base_offset
        self.leader_epoch = leader_epoch

    def set_timestamps(self, is_log_append_time: bool, max_timestamp: int) -> None:
        """Set the kind and the greatest of the timestamps (ms); rewrites the checksum if new."""
        attributes = self.attributes & ~LOG_APPEND_TIME_FLAG
        if is_log_append_time:
            attributes |= LOG_APPEND_TIME_FLAG
        if attributes == self.attributes and max_timestamp == self.max_timestamp:
            return
        view = self.view
        _ATTRIBUTES.pack_into(view, _CHECKED_POSITION, attributes)
        _TIMESTAMP.pack_into(view, _MAX_TIMESTAMP_POSITION, max_timestamp)
        self.crc = crc32c(view[_CHECKED_POSITION:])
        _CRC.pack_into(view, _CRC_POSITION, self.crc)
        self.attributes = attributes
        self.max_timestamp = max_timestamp

    def payload(self) -> memoryview:
        """What follows the header: the records, or the compressed blob."""
        return self.view[HEADER_SIZE:]

    def decompressed(self, limit: int = DEFAULT_DECOMPRESSED_LIMIT) -> Buffer:
        """The records' bytes; a view of the batch where no codec is used.

        Raises CorruptBatch for what is not the codec's, DecompressedTooLarge beyond `limit` bytes.
        """
        if not self.attributes & CODEC_MASK:
            return self.view[HEADER_SIZE:]
        # Codecs are imported with the first compressed batch: brokers without one never pay.
        from protocol.records.compression import decompress

        return decompress(self.attributes & CODEC_MASK, self.view[HEADER_SIZE:], limit)

    def records(self, limit: int = DEFAULT_DECOMPRESSED_LIMIT) -> list[Record]:
        """Every record, decoded and copied; raises MalformedRecords as well as `decompressed`."""
        from protocol.records.kernel import decode_records

        return decode_records(
            self.decompressed(limit),
            self.base_offset,
            self.base_timestamp,
            self.record_count,
            self.max_timestamp if self.is_log_append_time else None,
        )


def parse_batch(buffer: Buffer, position: int = 0, end: int | None = None) -> RecordBatch:
    """The batch at a position of the buffer, which it must hold wholly before `end`.

    Raises CorruptBatch; LegacyMessageSet, a kind of it, for message formats 0 and 1.
    """
    view = buffer if type(buffer) is memoryview else memoryview(buffer)
    return RecordBatch(view, position, len(view) if end is None else end)


def iterate_batches(buffer: Buffer) -> Iterator[RecordBatch]:
    """Every whole batch from the start of the buffer; a partial one at its end is passed over.

    Raises CorruptBatch at the first entry that cannot be one, LegacyMessageSet at one of format
    0 or 1.
    """
    view = memoryview(buffer)
    position, end = 0, len(view)
    while True:
        prefix = peek_header(view, position)
        if prefix is None or prefix.size > end - position:
            return
        if prefix.magic != MAGIC:
            raise LegacyMessageSet(prefix.magic)
        yield RecordBatch(view, position, end)
        position += prefix.size
