"""Walks over the batches of a `.log` file: by their headers only, or whole and checked.

Entries of message formats 0 and 1, which old segments may still hold, are walked over like the
batches of format 2 (see `protocol.records.batch`): there the offset field is that of the last
message, the checksum (CRC-32, from the magic on) lies at 12 and, in format 1, the timestamp at 18.
Source: FileLogInputStream.java, LegacyRecord.java (4.3).
"""

from collections.abc import Callable, Iterator
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from protocol.crc32c import crc32c
from protocol.records.batch import HEADER_SIZE, LOG_OVERHEAD, MAGIC, RecordBatch
from protocol.records.errors import CorruptBatch

Read = Callable[[int, int], bytes]
"""(size, position) -> bytes; fewer only at the end of the file."""

_HEADER_CHUNK = 1 << 13
_WHOLE_CHUNK = 1 << 18
_PREFIX = Struct(">qiib")
_AFTER_MAGIC = Struct(">6xi8xq")
_LEGACY_CRC = Struct(">I")
_LEGACY_TIMESTAMP = Struct(">q")
_SMALLEST_LEGACY = LOG_OVERHEAD + 14
_SCANNED_BYTES = 43
_PREFIX_BYTES = 17
NO_TIMESTAMP = -1
NO_LEADER_EPOCH = -1


class BatchHeader(NamedTuple):
    """Where a batch lies and what it spans; last_offset is inclusive."""

    base_offset: int
    position: int
    size: int
    last_offset: int
    max_timestamp: int
    leader_epoch: int
    magic: int


def scan_headers(read: Read, position: int, end_position: int) -> Iterator[BatchHeader]:
    """Headers of the whole batches from position on; a partial one at the end is passed over.

    Nothing but size and magic is checked: CorruptBatch where no entry can have them.
    """
    chunk, chunk_position = b"", position
    while end_position - position >= _PREFIX_BYTES:
        at = position - chunk_position
        if len(chunk) - at < _SCANNED_BYTES:
            wanted = min(_HEADER_CHUNK, end_position - position)
            chunk, chunk_position, at = read(wanted, position), position, 0
            if len(chunk) < _PREFIX_BYTES:
                return
        header = read_header(chunk, at, position)
        if header is None or header.size > end_position - position:
            return
        yield header
        position += header.size


def is_meant(header: BatchHeader, base_offset: int, indexed_offset: int) -> bool:
    """Whether an index entry of the segment with this base may have been made for this batch.

    The entry's offset is the last one of the batch, or of several that were appended with it.
    """
    return base_offset <= header.base_offset <= header.last_offset <= indexed_offset


def read_header(chunk: bytes | memoryview, at: int, position: int) -> BatchHeader | None:
    """The header at index `at` of a chunk; `position` is where that is in the file.

    None if the chunk ends inside it; CorruptBatch where no entry can begin.
    """
    if len(chunk) - at < _PREFIX_BYTES:
        return None
    base_offset, length, leader_epoch, magic = _PREFIX.unpack_from(chunk, at)
    size = LOG_OVERHEAD + length
    if magic == MAGIC and size >= HEADER_SIZE:
        if len(chunk) - at < _SCANNED_BYTES:
            return None
        last_offset_delta, max_timestamp = _AFTER_MAGIC.unpack_from(chunk, at + _PREFIX_BYTES)
        last_offset = base_offset + last_offset_delta
        return BatchHeader(
            base_offset, position, size, last_offset, max_timestamp, leader_epoch, magic
        )
    if 0 <= magic < MAGIC and size >= _SMALLEST_LEGACY:
        if len(chunk) - at < 26:
            return None
        timestamp = NO_TIMESTAMP
        if magic == 1:
            (timestamp,) = _LEGACY_TIMESTAMP.unpack_from(chunk, at + 18)
        return BatchHeader(
            base_offset, position, size, base_offset, timestamp, NO_LEADER_EPOCH, magic
        )
    raise CorruptBatch(f"length {length} and magic {magic} at position {position} are no batch")


def scan_whole(
    read: Read, position: int, end_position: int, chunk_bytes: int = _WHOLE_CHUNK
) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Each whole batch with its bytes, unchecked; the bytes stay valid as long as held.

    A partial batch at the end is passed over. CorruptBatch where no batch can begin. The file is
    read chunk_bytes at a time, or a batch where that is more.
    """
    chunk, chunk_position = memoryview(b""), position
    raw = b""
    while end_position - position >= _PREFIX_BYTES:
        at = position - chunk_position
        header = None
        if len(raw) - at >= _PREFIX_BYTES:
            header = read_header(raw, at, position)
        if header is None or header.size > len(raw) - at:
            wanted = chunk_bytes if header is None else max(chunk_bytes, header.size)
            wanted = min(wanted, end_position - position)
            if header is not None and header.size > wanted:
                return
            raw = read(wanted, position)
            chunk, chunk_position, at = memoryview(raw), position, 0
            header = read_header(raw, 0, position)
            if header is None or header.size > end_position - position:
                return
            if header.size > len(raw):
                raw = read(header.size, position)
                chunk = memoryview(raw)
                if header.size > len(raw):
                    return
        yield header, chunk[at : at + header.size]
        position += header.size


def wrong_checksum(base_offset: int) -> CorruptBatch:
    """The error for a batch whose bytes are not those it was made of."""
    return CorruptBatch(f"checksum of the batch at offset {base_offset} is wrong")


def check(header: BatchHeader, view: memoryview) -> RecordBatch | None:
    """The batch if its checksum is right, None for an intact entry of format 0 or 1.

    CorruptBatch otherwise.
    """
    if header.magic == MAGIC:
        batch = RecordBatch(view, 0, len(view))
        if crc32c(view[21:]) != batch.crc:
            raise wrong_checksum(header.base_offset)
        return batch
    if crc32(view[16:]) != _LEGACY_CRC.unpack_from(view, LOG_OVERHEAD)[0]:
        raise CorruptBatch(f"checksum of the message at offset {header.base_offset} is wrong")
    return None
