"""The search for a record by time in one segment: planned on the loop, run in any thread.

The indexes say where to begin; from there batches are passed over by header until one may hold the
record, and that one is decompressed. Both can be long, so the loop does no more than a few
kilobytes of it itself. Whoever planned the search releases it, at any time: one that a worker runs
was given a descriptor of its own, which whoever takes it first closes.
Source: LogSegment.findOffsetByTimestamp, FileRecords.searchForTimestamp (4.3).
"""

from collections.abc import Iterator
from typing import Final

from protocol.records.batch import MAGIC, RecordBatch
from protocol.records.errors import CorruptBatch
from runtime.disk import Disk
from storage.segment.batch_scan import BatchHeader, Read, is_meant, scan_headers
from storage.segment.file_records import FileSlice

AT_ONCE_BYTES: Final = 16 * 1024
"""How far the loop looks, and the largest batch it reads, at a time."""
ANY_TIME: Final = -(1 << 63)

FoundByTime = tuple[int, int, int]
"""(timestamp, offset, leader epoch)."""


class TooFar(Exception):
    """The search is not for the loop; nothing was done."""


class TimeSearch:
    """For the first record at or after both a timestamp and an offset."""

    __slots__ = ("_disk", "_own", "_range", "_slice", "_start_offset", "timestamp")

    def __init__(
        self,
        disk: Disk,
        place: FileSlice,
        offsets: tuple[int, int],
        timestamp: int,
        start_offset: int,
    ) -> None:
        """`place`: from the batch to begin with, by the index, to the end of the segment.

        `offsets`: the segment's base, and the index entry's offset. Where no such batch begins the
        search is one of the whole segment.
        """
        self._disk = disk
        self._slice = place
        self._range = offsets
        self._start_offset = start_offset
        self._own: list[int] = []
        self.timestamp = timestamp

    def run_at_once(self) -> FoundByTime | None:
        """The record; None if the segment has none. TooFar instead of walking far or unpacking."""
        return self._run(self._slice.fd, at_once=True)

    def take_along(self) -> None:
        """Be ready for another thread; on the loop."""
        self._own.append(self._disk.dup(self._slice.fd))
        self._slice.release()

    def run(self) -> FoundByTime | None:
        """The record; None if the segment has none, or the search was released before."""
        fd = self._take_own()
        if fd is None:
            return None
        try:
            return self._run(fd, at_once=False)
        finally:
            self._disk.close(fd)

    def release(self) -> None:
        """Let the file go, now or when a run that has begun ends; on the loop."""
        self._slice.release()
        fd = self._take_own()
        if fd is not None:
            self._disk.close(fd)

    def _take_own(self) -> int | None:
        try:
            return self._own.pop()
        except IndexError:
            return None

    def _run(self, fd: int, *, at_once: bool) -> FoundByTime | None:
        place, timestamp, start_offset = self._slice, self.timestamp, self._start_offset
        begin = place.position

        def read(size: int, position: int) -> bytes:
            return self._disk.pread(fd, size, position)

        for header in self._headers(read, begin, begin + place.nbytes):
            if at_once and header.position + header.size - begin > AT_ONCE_BYTES:
                raise TooFar
            if header.max_timestamp < timestamp or header.last_offset < start_offset:
                continue
            if header.magic < MAGIC:
                return header.max_timestamp, header.last_offset, header.leader_epoch
            view = memoryview(read(header.size, header.position))
            batch = RecordBatch(view, 0, len(view))
            if at_once and batch.codec:
                raise TooFar
            found = _first_in_batch(batch, timestamp, start_offset)
            if found is not None:
                return *found, header.leader_epoch
        return None

    def _headers(self, read: Read, position: int, end_position: int) -> Iterator[BatchHeader]:
        if position:
            headers = scan_headers(read, position, end_position)
            try:
                first = next(headers, None)
            except CorruptBatch:
                first = None
            if first is not None and is_meant(first, *self._range):
                yield first
                yield from headers
                return
        yield from scan_headers(read, 0, end_position)


def _first_in_batch(
    batch: RecordBatch, timestamp: int, start_offset: int
) -> tuple[int, int] | None:
    """(timestamp, offset) of the batch's first record at or after both; None if none is.

    Under log append time all records have the greatest timestamp, which the caller compared.
    """
    from protocol.records.kernel import first_at_or_after

    stamped = batch.is_log_append_time
    found = first_at_or_after(
        batch.decompressed(),
        batch.record_count,
        batch.base_timestamp,
        ANY_TIME if stamped else timestamp,
        start_offset - batch.base_offset,
    )
    if found is None:
        return None
    return batch.max_timestamp if stamped else found[0], batch.base_offset + found[1]
