"""One segment of a log: a `.log` file of batches and the three indexes into it.

```text
base offset ≤ every offset in it ≤ base offset + 2^31-1
.log        batches, offsets ascending           always
.index      offset → position, sparse            written at roll, flush and close
.timeindex  timestamp → offset, sparse           likewise
.txnindex   aborted transactions                 from the first one on
```
Invariants: `size` is the end of the last whole batch appended, whatever a failed write left beyond
it. An index never points beyond `size`. Files of a segment that was closed, or rolled and flushed,
equal those Kafka writes for the same appends byte for byte.

A segment is the loop thread's, but for the functions that say otherwise: those open descriptors
of their own and may run in a worker while nobody else uses the segment.
Source: LogSegment.java (4.3).
"""

import logging
from collections.abc import Sequence
from struct import Struct

from protocol.records.batch import RecordBatch
from runtime.disk import Disk
from storage import filenames
from storage.errors import InvalidIndexOffsetError
from storage.segment.file_records import FilePool
from storage.segment.file_set import FileSet, FlushWork, SegmentFiles, SegmentSettings
from storage.segment.reading import UNKNOWN, SegmentReader
from storage.segment.rolling import RollLimits, roll_reason
from storage.segment.sparse_index import MAX_RELATIVE_OFFSET
from storage.segment.time_index import NO_TIMESTAMP
from storage.segment.transaction_index import AbortedEntry

logger = logging.getLogger(__name__)

_BASE_OFFSET = Struct(">q").unpack_from


class Segment(SegmentReader):
    """See the module. Made by `Segment.open`."""

    __slots__ = (
        "_bytes_since_index_entry",
        "_index_interval",
        "_max_timestamp",
        "_offset_of_max_timestamp",
        "_preallocated",
        "_prepared",
        "created_ms",
        "full_index",
    )

    def __init__(self, files: FileSet, disk: Disk, interval_bytes: int, now_ms: int) -> None:
        """A segment of which nothing is known yet; use `open`."""
        super().__init__(files, disk)
        self._index_interval = interval_bytes
        self._preallocated = False
        self._prepared = False
        self._bytes_since_index_entry = 0
        self._max_timestamp = UNKNOWN
        self._offset_of_max_timestamp = files.base_offset
        self.created_ms = now_ms
        self.full_index: str | None = None

    @classmethod
    def open(
        cls,
        files: SegmentFiles,
        directory: str,
        base_offset: int,
        settings: SegmentSettings,
        now_ms: int,
        *,
        existing: bool,
    ) -> "Segment":
        """A segment over the files of this base offset, or with new ones.

        existing costs one stat and may run in a worker; nothing but the length is looked at. A new
        segment's `.log` exists afterwards, empty, or of its preallocated size and sparse; what was
        left of an older one with that name is gone.
        """
        file_set = FileSet(files, directory, base_offset, settings.max_index_bytes)
        segment = cls(file_set, files.disk, settings.index_interval_bytes, now_ms)
        if existing:
            segment.size = files.disk.file_size(file_set.log.path)
            return segment
        file_set.delete()
        fd = file_set.log.create()
        if settings.preallocate_bytes:
            files.disk.truncate(fd, settings.preallocate_bytes)
            segment._preallocated = True
        segment.next_offset = base_offset
        segment._prepared = True
        return segment

    def __repr__(self) -> str:
        return f"Segment(base_offset={self.base_offset}, size={self.size})"

    def moved_to(self, directory: str, pool: FilePool | None = None) -> None:
        """The directory has another name now; open descriptors stay good.

        A pool that is given takes the files over from the one before, closed.
        """
        self._files.moved_to(directory, pool)

    def change_suffix(self, suffix: str) -> None:
        """Rename every file of the segment that exists."""
        self._files.change_suffix(suffix)

    def rename_to_deleted(self) -> None:
        """Mark the files as garbage: whoever finds them at start removes them."""
        self.change_suffix(filenames.DELETED)

    def delete_files(self) -> None:
        """Remove the files that exist, whatever their suffix; slices held keep their bytes.

        Opens nothing and may run in a worker once the segment is out of use and `close_files` was
        called.
        """
        self._files.delete()

    # Appending.

    def append(
        self,
        data: bytes | bytearray | memoryview,
        last_offset: int,
        max_timestamp: int,
        offset_of_max_timestamp: int,
    ) -> int:
        """Write one whole batch at the end; the position it starts at.

        InvalidIndexOffsetError, before anything is written, if the offset does not fit the segment.
        An index without room, which `should_roll` tells of, only makes later searches walk further.
        Kafka passes the last offset as offset_of_max_timestamp.
        """
        if not self._prepared:
            self._prepare_append()
        if not 0 <= last_offset - self.base_offset <= MAX_RELATIVE_OFFSET:
            raise self._out_of_range(last_offset)
        log = self._log
        fd = log.fd
        if fd < 0:
            fd = log.open()
        else:
            log.used = True
        position = self.size
        size = self._disk.pwrite(fd, data, position)
        self._appended(position, size, last_offset, max_timestamp, offset_of_max_timestamp)
        self._tail_offset = _BASE_OFFSET(data)[0]
        return position

    def append_many(self, batches: Sequence[RecordBatch], data: memoryview) -> int:
        """Write consecutive batches, data being all their bytes, at once; the first's position."""
        if not self._prepared:
            self._prepare_append()
        for batch in batches:
            if not 0 <= batch.last_offset - self.base_offset <= MAX_RELATIVE_OFFSET:
                raise self._out_of_range(batch.last_offset)
        log = self._log
        self._disk.pwrite(log.open(), data, self.size)
        first_position = self.size
        for batch in batches:
            last_offset = batch.last_offset
            self._appended(self.size, batch.size, last_offset, batch.max_timestamp, last_offset)
            self._tail_offset = batch.base_offset
        return first_position

    def _appended(
        self,
        position: int,
        size: int,
        last_offset: int,
        max_timestamp: int,
        offset_of_max_timestamp: int,
    ) -> None:
        """Take note of a batch that was written: sizes, times, and now and then index entries."""
        if not position:
            self.rolling_timestamp = max_timestamp
            self._find_full_index()
        self.size = position + size
        self._tail_position = position
        self.next_offset = last_offset + 1
        if max_timestamp > self._max_timestamp:
            self._max_timestamp = max_timestamp
            self._offset_of_max_timestamp = offset_of_max_timestamp
        since = self._bytes_since_index_entry
        if since > self._index_interval and self.full_index is None:
            self.offset_index.append(last_offset, position)
            self.time_index.maybe_append(self._max_timestamp, self._offset_of_max_timestamp)
            self._find_full_index()
            since = 0
        self._bytes_since_index_entry = since + size

    def append_aborted(self, entry: AbortedEntry) -> None:
        """Put an aborted transaction, whose marker lies in this segment, in its index."""
        self.transaction_index.append(entry)

    def should_roll(
        self,
        incoming_size: int,
        incoming_max_timestamp: int,
        last_offset: int,
        now_ms: int,
        limits: RollLimits,
    ) -> str | None:
        """Why a new segment must be begun before a batch is appended, in one word; None if not."""
        if not self._prepared:
            self._prepare_append()
        return roll_reason(self, incoming_size, incoming_max_timestamp, last_offset, now_ms, limits)

    def _find_full_index(self) -> None:
        """Learn whether an index has room; asked only when an entry was added."""
        self.full_index = None
        if self.offset_index.is_full:
            self.full_index = "offset index"
        elif self.time_index.is_full:
            self.full_index = "time index"

    def _prepare_append(self) -> None:
        """Learn of an existing segment what appending goes on from."""
        self._load_max_timestamp()
        self.first_batch_timestamp()
        if self.next_offset == UNKNOWN:
            self.read_next_offset()
        self._find_full_index()
        self._prepared = True

    def _out_of_range(self, last_offset: int) -> InvalidIndexOffsetError:
        return InvalidIndexOffsetError(
            f"offset {last_offset} cannot be relative to {self.base_offset} "
            f"in {self.path(filenames.LOG)}"
        )

    # Times.

    def _load_max_timestamp(self) -> None:
        if self._max_timestamp == UNKNOWN and not self._prepared and self.size:
            timestamp, offset = self.time_index.last_entry
            if timestamp != NO_TIMESTAMP and not self._has_time(
                self.offset_index.lookup(offset), timestamp, offset
            ):
                logger.warning(
                    "The last entry of %s, timestamp %d at offset %d, is not true of the log: "
                    "reading its batches",
                    self.time_index.path,
                    timestamp,
                    offset,
                )
                timestamp, offset = self._latest_batch()
            self._max_timestamp, self._offset_of_max_timestamp = timestamp, offset

    def _latest_batch(self) -> tuple[int, int]:
        """Greatest timestamp and the last offset of the batch that has it, by all batches."""
        found = NO_TIMESTAMP, self.base_offset
        for header in self._headers_of(self._log.open(), 0):
            if header.max_timestamp > found[0]:
                found = header.max_timestamp, header.last_offset
        return found

    @property
    def max_timestamp_so_far(self) -> int:
        """Greatest timestamp of a record, -1 if none has one."""
        self._load_max_timestamp()
        return self._max_timestamp

    @property
    def offset_of_max_timestamp(self) -> int:
        """Last offset of the batch that has it; the base offset if none."""
        self._load_max_timestamp()
        return self._offset_of_max_timestamp

    def largest_timestamp(self) -> int:
        """Greatest timestamp of a record, or the time of the last write where none has one."""
        timestamp = self.max_timestamp_so_far
        return timestamp if timestamp >= 0 else self.last_modified_ms()

    def last_modified_ms(self) -> int:
        """When the `.log` was last written to."""
        return self._disk.mtime_ms(self._log.path)

    # Cutting.

    def truncate_to(self, offset: int, now_ms: int | None = None) -> int:
        """Drop the batch that contains offset and all after it; the number of bytes dropped.

        An emptied segment counts as created at now_ms, if given. The cut is not synced: the caller
        lowers the recovery point.
        """
        mapping = self.translate_offset(offset)
        next_offset = min(self.read_next_offset(), max(offset, self.base_offset))
        removed = 0
        self._load_max_timestamp()
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.transaction_index.truncate_to(offset)
        if mapping is not None:
            removed = self.size - mapping[0]
            self._log.truncate(mapping[0])
            self.size = mapping[0]
        if not self.size:
            self.rolling_timestamp = UNKNOWN
            if now_ms is not None:
                self.created_ms = now_ms
        self._bytes_since_index_entry = 0
        self._tail_offset = self._read_offset = UNKNOWN
        self.next_offset = next_offset
        if self._max_timestamp >= 0:
            self._find_max_timestamp()
        self._find_full_index()
        self._prepared = True
        return removed

    def _find_max_timestamp(self) -> None:
        """Greatest timestamp by the index, and by the batches after its last entry."""
        self._max_timestamp, self._offset_of_max_timestamp = self.time_index.last_entry
        position = self._position_near(self._offset_of_max_timestamp)
        for header in self._headers_of(self._log.open(), position):
            if header.max_timestamp > self._max_timestamp:
                self._max_timestamp = header.max_timestamp
                self._offset_of_max_timestamp = header.last_offset

    # Closing and syncing.

    def on_become_inactive(self) -> None:
        """A newer segment takes the appends: final time entry, indexes written and trimmed.

        Not synced: that is the work of `flush_work`.
        """
        self._seal()

    def close(self) -> None:
        """All entries are in the files, nothing is open; not synced. The segment can be used on."""
        if self._prepared:
            self._seal()
        self._files.close()

    def close_files(self) -> None:
        """Give the descriptors up, and nothing else."""
        self._files.close()

    def _seal(self) -> None:
        if self._prepared:
            self.time_index.maybe_append(
                self.max_timestamp_so_far, self.offset_of_max_timestamp, closing=True
            )
        self.offset_index.write_out()
        self.time_index.write_out()
        if self._preallocated:
            self._disk.truncate(self._log.open(), self.size)
            self._preallocated = False

    def flush(self) -> None:
        """Everything appended so far is durable, but for the names in the directory."""
        self.flush_work()()

    def flush_work(self) -> FlushWork:
        """What a worker must run to make everything appended so far durable.

        Index entries are written out here; syncing the directory, once for a new segment, is the
        caller's.
        """
        return self._files.flush_work()

    def sanity_check(self) -> None:
        """CorruptFileError if an index file was missing, or cannot be this segment's.

        Then the segment must be recovered.
        """
        self._files.sanity_check(self.size)

    def trim_preallocated(self, size: int) -> None:
        """End the file at its last batch, after which it holds zeros only."""
        fd = self._disk.open(self._log.path)
        try:
            self._disk.truncate(fd, size)
        finally:
            self._disk.close(fd)
        self.size = size

    # What recovery rebuilds (storage.segment.recovery); not for anyone else.

    def begin_recovery(self) -> None:
        """Forget all that was known of the content; index entries are gathered in memory."""
        self.offset_index.restart()
        self.time_index.restart()
        self._max_timestamp = NO_TIMESTAMP
        self._offset_of_max_timestamp = self.base_offset
        self._bytes_since_index_entry = 0
        self.rolling_timestamp = UNKNOWN
        self._tail_offset = self._read_offset = UNKNOWN
        self.next_offset = self.base_offset
        self.size = 0
        self.full_index = None
        self._prepared = True

    def recovered(
        self, position: int, size: int, base_offset: int, last_offset: int, max_timestamp: int
    ) -> None:
        """Count a valid batch, its offsets in range, as if it had just been appended."""
        self._appended(position, size, last_offset, max_timestamp, last_offset)
        self._tail_offset = base_offset

    def finish_recovery(self, aborted: Sequence[AbortedEntry], *, vouched: bool) -> None:
        """All valid batches were counted: write the indexes as if the segment was closed.

        Vouched: a next start will trust the segment, since the recovery point is beyond it. Then
        each index is replaced in one step, and what was missing or damaged is so until it is right.
        """
        self._bytes_since_index_entry = 0
        self._preallocated = False
        self.time_index.maybe_append(
            self.max_timestamp_so_far, self.offset_of_max_timestamp, closing=True
        )
        self.transaction_index.rewrite(aborted, durable=vouched)
        for index in (self.time_index, self.offset_index):
            if vouched:
                index.replace()
            else:
                index.write_out()
