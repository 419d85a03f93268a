"""The reading half of a segment: from an offset or a time to bytes.

An offset is found by the floor of the offset index and a walk over batch headers from there, at
most one index interval far. An index is a hint: unless a batch that the entry can mean begins
where it points, the walk begins at the start of the segment. Readers at the tail are spared both:
where the last batch begins, and where the last read ended, is remembered.
Source: LogSegment.read, translateOffset, FileRecords.searchForOffsetFromPosition (4.3).
"""

from collections.abc import Iterator

from protocol.records.batch import MAGIC, RecordBatch
from protocol.records.errors import CorruptBatch
from runtime.disk import Disk
from storage.segment.batch_scan import BatchHeader, Read, is_meant, scan_headers, scan_whole
from storage.segment.file_records import FileSlice
from storage.segment.file_set import FileSet
from storage.segment.offset_index import OffsetIndex
from storage.segment.time_index import NO_TIMESTAMP, TimeIndex
from storage.segment.time_search import FoundByTime, TimeSearch
from storage.segment.transaction_index import TransactionIndex

UNKNOWN = -1

SegmentRead = tuple[FileSlice | None, int, int]
"""(slice or None, base offset of the first batch, its position)."""


class SegmentReader:
    """What can be asked of a segment's files; `Segment` adds what changes them."""

    __slots__ = (
        "_disk",
        "_files",
        "_log",
        "_read_offset",
        "_read_position",
        "_tail_offset",
        "_tail_position",
        "base_offset",
        "next_offset",
        "rolling_timestamp",
        "size",
    )

    def __init__(self, files: FileSet, disk: Disk) -> None:
        """Nothing is known of the files yet."""
        self._files = files
        self._disk = disk
        self._log = files.log
        self.rolling_timestamp = UNKNOWN
        self._tail_offset = self._read_offset = UNKNOWN
        self._tail_position = self._read_position = 0
        self.base_offset = files.base_offset
        self.next_offset = UNKNOWN
        self.size = 0

    # Files.

    @property
    def suffix(self) -> str:
        """'' while in use, '.deleted' and the like otherwise."""
        return self._files.suffix

    @property
    def offset_index(self) -> OffsetIndex:
        """Offsets to positions."""
        return self._files.offset_index

    @property
    def time_index(self) -> TimeIndex:
        """Timestamps to offsets."""
        return self._files.time_index

    @property
    def transaction_index(self) -> TransactionIndex:
        """Aborted transactions."""
        return self._files.transaction_index

    def path(self, kind: str) -> str:
        """Path of one of the segment's files, `filenames.LOG` and so on, under its suffix."""
        return self._files.path(kind)

    # Reading.

    def read(
        self, start_offset: int, max_bytes: int, max_position: int, min_one_message: bool
    ) -> SegmentRead | None:
        """Bytes from the batch that contains start_offset, or the first after it.

        None if no batch of this segment reaches start_offset. The slice, to be released by the
        receiver, ends at max_bytes or max_position (exclusive), maybe inside a batch. It is None
        when the bounds leave nothing, and when the first batch is longer than max_bytes; with
        min_one_message that one batch is given whole.
        """
        found = self._locate(start_offset)
        if found is None:
            return None
        base_offset, position, size = found
        end_position = min(max_position, self.size)
        available = end_position - position
        if available <= 0 or (max_bytes <= 0 and not min_one_message):
            return None, base_offset, position
        nbytes = available
        if max_bytes < available:
            if not size:
                size = self._header_at(position).size
            if max_bytes >= size:
                nbytes = max_bytes
            elif min_one_message:
                nbytes = min(size, available)
            else:
                return None, base_offset, position
        elif end_position == self.size:
            self._read_offset, self._read_position = self.next_offset, end_position
        return self._log.slice(position, nbytes), base_offset, position

    def translate_offset(self, offset: int) -> tuple[int, int] | None:
        """(position, size) of the first batch whose last offset is ≥ offset; None if none is."""
        found = self._locate(offset)
        if found is None:
            return None
        _, position, size = found
        return position, size or self._header_at(position).size

    def _locate(self, offset: int) -> tuple[int, int, int] | None:
        """(base offset, position, size) of the batch to read from; size 0 where it is not known."""
        if offset == self._tail_offset:
            return offset, self._tail_position, 0
        if offset == self._read_offset and self._read_position < self.size:
            header = self._header_at(self._read_position)
            return header.base_offset, header.position, header.size
        if not self.size or offset >= self.next_offset != UNKNOWN:
            return None
        place = self.offset_index.lookup(offset)  # first: it may close the log to open the index
        for header in self._headers_near(self._log.open(), place):
            if header.last_offset >= offset:
                return header.base_offset, header.position, header.size
        return None

    def fetch_upper_bound_offset(self, position: int, nbytes: int) -> int | None:
        """An offset no record of [position, position + nbytes) reaches; None if the index has none.

        The first indexed batch that starts at or after their end, if it is one: how far to look for
        aborted transactions. Too far costs little, too near shows readers what was aborted.
        """
        end = position + nbytes
        offset = self.offset_index.first_at_or_after_position(end)
        if offset is None:
            return None
        place = self.offset_index.lookup(offset)
        first = next(self._headers_near(self._log.open(), place), None)
        return offset if first is not None and first.position == place[1] >= end else None

    def find_offset_by_timestamp(self, timestamp: int, start_offset: int) -> FoundByTime | None:
        """(timestamp, offset, leader epoch) of the first record at or after both; None if none."""
        search = self.plan_time_search(timestamp, start_offset)
        search.take_along()
        return search.run()

    def plan_time_search(self, timestamp: int, start_offset: int) -> TimeSearch:
        """The search for the first record at or after both; to be released."""
        indexed_time, indexed_offset = self.time_index.lookup(timestamp)
        found = self.offset_index.lookup(max(indexed_offset, start_offset))
        if indexed_offset > start_offset and not self._has_time(
            found, indexed_time, indexed_offset
        ):
            found = self.offset_index.lookup(start_offset)
        offset, position = found
        if not 0 <= position < self.size:
            offset, position = self.base_offset, 0
        place = self._log.slice(position, self.size - position)
        return TimeSearch(self._disk, place, (self.base_offset, offset), timestamp, start_offset)

    def read_next_offset(self) -> int:
        """Offset after the last batch, the base offset without one; may run in a worker."""
        if self.next_offset == UNKNOWN:
            self.read_end()
        return self.next_offset

    def read_end(self) -> int:
        """Where the last whole batch ends, by its position; may run in a worker.

        What follows it is no batch: nothing after a clean shutdown.
        """
        self.next_offset, end_position = self.base_offset, 0
        if self.size:
            count = self.offset_index.count
            place = self.offset_index.entry(count - 1) if count else (self.base_offset, 0)
            fd = self._disk.open(self._log.path, writable=False)
            try:
                for header in self._headers_near(fd, place):
                    self.next_offset = header.last_offset + 1
                    end_position = header.position + header.size
            except CorruptBatch:
                pass  # the end is told by where it is
            finally:
                self._disk.close(fd)
        return end_position

    def is_closed(self) -> bool:
        """Whether the time index ends with the greatest timestamp; may run in a worker.

        Only batches from the last offset entry on are looked at: where that was added, the time
        index was brought up to date too. Batches that cannot be read are no closed segment's.
        """
        last_time, place = self.time_index.raw_last(), self.offset_index.raw_last() or (0, 0)
        indexed = NO_TIMESTAMP if last_time is None else last_time[0]
        fd = self._disk.open(self._log.path, writable=False)
        try:
            headers = self._headers_near(fd, (self.base_offset + place[0], place[1]))
            return all(header.max_timestamp <= indexed for header in headers)
        except CorruptBatch:
            return False
        finally:
            self._disk.close(fd)

    def scan_batches(self, start_offset: int) -> Iterator[RecordBatch]:
        """Every whole batch from the one that contains start_offset on; may run in a worker.

        Unchecked: for batches below the recovery point, or just recovered. Entries of formats 0
        and 1 are left out: they have no producers.
        """
        if not self.size:
            return
        place = self.offset_index.lookup(start_offset, private=True)
        fd = self._disk.open(self._log.path, writable=False)
        try:
            position = next((each.position for each in self._headers_near(fd, place)), self.size)
            for header, view in scan_whole(_reader(self._disk, fd), position, self.size):
                if header.magic == MAGIC and header.last_offset >= start_offset:
                    yield RecordBatch(view, 0, len(view))
        finally:
            self._disk.close(fd)

    def _position_near(self, offset: int) -> int:
        """Where to begin looking for an offset: at a batch at or before it."""
        place = self.offset_index.lookup(offset)
        for header in self._headers_near(self._log.open(), place):
            return header.position
        return 0

    def _has_time(self, place: tuple[int, int], timestamp: int, offset: int) -> bool:
        """Whether the batch that holds an offset, found from a place on, has this time as greatest.

        A time index is no more to be trusted without the batch it means than an offset index.
        """
        for header in self._headers_near(self._log.open(), place):
            if header.last_offset >= offset:
                return header.base_offset <= offset and header.max_timestamp == timestamp
        return False

    def _headers_near(self, fd: int, place: tuple[int, int]) -> Iterator[BatchHeader]:
        """Headers from the place of an index entry on, (offset, position).

        From the first batch on where none begins at that position, or one beyond the offset: no
        entry that was ever written means it.
        """
        offset, position = place
        if 0 < position < self.size:
            headers = self._headers_of(fd, position)
            try:
                first = next(headers, None)
            except CorruptBatch:
                first = None
            if first is not None and is_meant(first, self.base_offset, offset):
                yield first
                yield from headers
                return
        yield from self._headers_of(fd, 0)

    def _header_at(self, position: int) -> BatchHeader:
        for header in self._headers_of(self._log.open(), position):
            return header
        raise CorruptBatch(f"no whole batch at position {position} of {self._log.path}")

    def _headers_of(self, fd: int, position: int) -> Iterator[BatchHeader]:
        return scan_headers(_reader(self._disk, fd), position, self.size)

    def _headers_private(self, position: int) -> Iterator[BatchHeader]:
        fd = self._disk.open(self._log.path, writable=False)
        try:
            yield from self._headers_of(fd, position)
        finally:
            self._disk.close(fd)

    def first_batch_timestamp(self) -> int:
        """Greatest timestamp of the first batch, -1 without one: time-based rolling counts from it.

        Read from the file once; may run in a worker.
        """
        if self.rolling_timestamp == UNKNOWN and self.size:
            for header in self._headers_private(0):
                self.rolling_timestamp = header.max_timestamp
                break
        return self.rolling_timestamp


def _reader(disk: Disk, fd: int) -> Read:
    """Reading of one descriptor as (size, position) -> bytes."""

    def read(size: int, position: int) -> bytes:
        return disk.pread(fd, size, position)

    return read
