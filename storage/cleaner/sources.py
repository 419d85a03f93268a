"""Reads the segments of a cleaning: whole batches, each checked before anything is made of it.

Trusted are the file names and what the loop said of lengths and offsets, nothing else. A checksum
that is wrong, a batch that is cut short, an offset out of order or out of its segment: the log is
`Uncleanable`, for dropping records on the word of damaged ones would make the damage permanent.
Leader epochs and offsets are under no checksum; offsets at least have to ascend.
"""

from collections.abc import Iterator
from struct import Struct

from protocol.crc32c import crc32c
from protocol.records.batch import HEADER_SIZE, LOG_OVERHEAD, MAGIC, RecordBatch
from protocol.records.errors import CorruptBatch
from runtime.disk import Disk
from storage.cleaner.order import CleaningOrder, Source, Uncleanable
from storage.errors import CorruptFileError
from storage.filenames import LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX, segment_path
from storage.segment.batch_scan import read_header
from storage.segment.offset_index import OffsetIndex
from storage.segment.transaction_index import AbortedEntry, TransactionIndex

_HEADER_BYTES = 64
_LENGTH = Struct(">i").unpack_from
_LENGTH_POSITION = 8
_CHECKED_POSITION = 21


def read_batches(
    disk: Disk, order: CleaningOrder, source: Source, position: int = 0
) -> Iterator[tuple[int, RecordBatch]]:
    """Every batch from a position on, which begins one; Uncleanable where the file is not right.

    With each comes its position. Views of a batch stay valid as long as they are held. No file is
    open between two batches.
    """
    path = segment_path(order.directory, source.base_offset, LOG)
    expected, end_offset = source.base_offset, source.end_offset
    chunk, at = memoryview(b""), 0
    try:
        while position < source.size:
            size = _size_at(chunk, at)
            if size > len(chunk) - at:
                wanted = min(max(order.io_bytes, size), source.size - position)
                chunk, at = memoryview(_read(disk, path, wanted, position)), 0
                size = _size_at(chunk, at)
                if len(chunk) < size <= source.size - position:
                    chunk = memoryview(_read(disk, path, size, position))
            batch = RecordBatch(chunk, at, len(chunk))
            if crc32c(chunk[at + _CHECKED_POSITION : at + size]) != batch.crc:
                raise Uncleanable(path, position, "the checksum of the batch is wrong")
            last_offset = batch.last_offset
            if batch.base_offset < expected or not batch.base_offset <= last_offset < end_offset:
                raise Uncleanable(
                    path,
                    position,
                    f"offsets {batch.base_offset} to {last_offset} are not within "
                    f"[{expected}, {end_offset})",
                )
            yield position, batch
            expected = last_offset + 1
            position += size
            at += size
    except CorruptBatch as error:
        raise Uncleanable(path, position, str(error)) from error


def _read(disk: Disk, path: str, size: int, position: int) -> bytes:
    fd = disk.open(path, writable=False)
    try:
        return disk.pread(fd, size, position)
    finally:
        disk.close(fd)


def _size_at(chunk: memoryview, at: int) -> int:
    """How long the batch in a chunk says it is; the least a batch is where it does not say."""
    if len(chunk) - at < HEADER_SIZE:
        return HEADER_SIZE
    return max(LOG_OVERHEAD + int(_LENGTH(chunk, at + _LENGTH_POSITION)[0]), HEADER_SIZE)


def position_before(disk: Disk, order: CleaningOrder, source: Source, offset: int) -> int:
    """Where to begin reading for an offset: what the index says if a batch confirms it, else 0."""
    path = segment_path(order.directory, source.base_offset, OFFSET_INDEX)
    if not disk.exists(path):
        return 0
    entries = OffsetIndex.layout.iter_unpack(_whole_entries(disk.read_file(path)))
    found = (0, 0)
    for entry in entries:
        if entry[0] + source.base_offset > offset:
            break
        found = entry
    relative_offset, position = found
    if not 0 < position < source.size:
        return 0
    path = segment_path(order.directory, source.base_offset, LOG)
    try:
        header = read_header(_read(disk, path, _HEADER_BYTES, position), 0, position)
    except CorruptBatch:
        return 0
    confirmed = (
        header is not None
        and header.magic == MAGIC
        and header.last_offset == source.base_offset + relative_offset
    )
    return position if confirmed else 0


def _whole_entries(data: bytes) -> bytes:
    return data[: len(data) // OffsetIndex.layout.size * OffsetIndex.layout.size]


def aborted_transactions(disk: Disk, order: CleaningOrder) -> list[AbortedEntry]:
    """The aborted transactions that may have data in the sources, by the indexes' word.

    Those of later segments are asked until one says that none further can have any.
    """
    found: list[AbortedEntry] = []
    for source in order.sources:
        found += _index(disk, order, source.base_offset).entries()
    for base_offset in order.later_base_offsets:
        entries, complete = _index(disk, order, base_offset).collect(0, order.end_offset)
        found += entries
        if complete:
            break
    return found


def _index(disk: Disk, order: CleaningOrder, base_offset: int) -> TransactionIndex:
    path = segment_path(order.directory, base_offset, TRANSACTION_INDEX)
    index = TransactionIndex(disk, path, base_offset)
    try:
        index.entries()
    except CorruptFileError as error:
        raise Uncleanable(error.path, 0, error.reason) from error
    return index


def index_bytes(disk: Disk, order: CleaningOrder, source: Source) -> tuple[int, int]:
    """Lengths of a segment's offset and time index; 0 for one that is missing."""
    offset_index, time_index = (
        disk.file_size(path) if disk.exists(path) else 0
        for path in (
            segment_path(order.directory, source.base_offset, kind)
            for kind in (OFFSET_INDEX, TIME_INDEX)
        )
    )
    return offset_index, time_index
