"""One cleaning of one log, in steps: the part that reads, computes and writes files.

    map       keys of the dirty part, until the map is full      nothing is written
    group     which segments become one                          by what they hold now
    rewrite   each group into a new segment `.cleaned`           durable, then reported

Runs away from the loop, usually in a process of its own, on sealed segments that only a swap takes
away; whoever runs it asks for one step after the other and swaps in what is reported between them.

Writes, for a crash at any of them: everything goes to names ending in `.cleaned`, which a start
removes. A group is reported once its files and their names are durable, so that a swap, which only
renames, never gives a name to bytes that a power cut can still take.
Source: Cleaner.doClean, cleanSegments, buildOffsetMap (4.3).
"""

import errno
from collections.abc import Generator, Iterator

from protocol.errors import KafkaError
from protocol.records.batch import RecordBatch
from protocol.records.compaction import OffsetMap
from runtime.disk import Disk
from storage.cleaner.grouping import GroupLimits, IndexBytes, group_segments
from storage.cleaner.order import (
    CleanedGroup,
    CleaningOrder,
    CleaningStats,
    Progress,
    Source,
    Uncleanable,
)
from storage.cleaner.rewriting import BatchCleaner, CleaningRules
from storage.cleaner.sources import (
    aborted_transactions,
    index_bytes,
    position_before,
    read_batches,
)
from storage.cleaner.transactions import CleanedTransactions
from storage.filenames import CLEANED, LOG, segment_path
from storage.segment.file_records import FilePool
from storage.segment.file_set import SegmentFiles
from storage.segment.segment import Segment

_REPORTED_BYTES = 1 << 16
_OPEN_FILES = 4
SPARE_BYTES = 16 << 20
_SPARE_PART = 20
"""A cleaning leaves so much of the disk, or this part of a small one, to those who append."""

_Step = int | CleanedGroup
"""Bytes moved, or a group that is done."""


class Cleaning:
    """See the module: `advance` until it answers with stats."""

    def __init__(self, disk: Disk, order: CleaningOrder) -> None:
        """Nothing is read yet."""
        self._disk = disk
        self._order = order
        self._offsets = OffsetMap(order.slots, order.most_keys, order.secret)
        self._map_end_offset = order.first_dirty_offset
        self._map_bytes = self._bytes_read = self._bytes_written = 0
        self._messages_read = self._messages_written = 0
        self._output: _Output | None = None
        self._steps = self._run()

    def advance(self, most_bytes: int) -> Progress:
        """Go on for about so many bytes of reading and writing, at most to the end of a group.

        Uncleanable where the log is damaged, OSError or StorageError where the disk is.
        """
        moved = 0
        for step in self._steps:
            if isinstance(step, CleanedGroup):
                return Progress(moved, step)
            moved += step
            if moved >= most_bytes:
                return Progress(moved)
        return Progress(moved, None, self._stats())

    def close(self) -> None:
        """Give up: no file is open afterwards."""
        self._steps.close()
        if self._output is not None:
            self._output.segment.close_files()

    def _stats(self) -> CleaningStats:
        return CleaningStats(
            self._map_end_offset,
            self._bytes_read,
            self._bytes_written,
            self._map_bytes,
            self._messages_read,
            self._messages_written,
            self._offsets.utilization,
        )

    def _run(self) -> Generator[_Step, None, None]:
        disk, order = self._disk, self._order
        aborted = aborted_transactions(disk, order)
        # Markers before the dirty part are not met while it is mapped: what they ended is over.
        start_offset = order.first_dirty_offset
        dirty = [entry for entry in aborted if entry.last_offset >= start_offset]
        yield from self._map_keys(CleanedTransactions(dirty))
        if self._map_end_offset <= order.first_dirty_offset:
            raise Uncleanable(
                segment_path(order.directory, self._first_dirty.base_offset, LOG),
                0,
                f"a batch has more keys than the map takes ({order.most_keys}): raise "
                "log.cleaner.dedupe.buffer.size, or lower log.cleaner.threads",
            )
        sources = [one for one in order.sources if one.base_offset < self._map_end_offset]
        rules = CleaningRules(
            self._offsets,
            self._map_end_offset,
            order.end_offset,
            order.producers,
            order.now_ms,
            order.delete_retention_ms,
        )
        cleaner = BatchCleaner(rules, CleanedTransactions(aborted))
        indexes = [IndexBytes(*index_bytes(disk, order, source)) for source in sources]
        limits = GroupLimits(order.segment_bytes, order.settings.max_index_bytes)
        for group in group_segments(sources, indexes, limits):
            yield from self._rewrite(group, cleaner)
            self._messages_read = cleaner.messages_read
            self._messages_written = cleaner.messages_written

    # The map.

    @property
    def _first_dirty(self) -> Source:
        dirty = [
            one for one in self._order.sources if one.end_offset > self._order.first_dirty_offset
        ]
        return dirty[0]

    def _map_keys(self, transactions: CleanedTransactions) -> Iterator[_Step]:
        """Put the keys of the dirty part into the map, segment by segment, until it is full."""
        start_offset = self._order.first_dirty_offset
        for source in self._order.sources:
            if source.end_offset <= start_offset:
                continue
            is_mapped = yield from self._map_segment(source, start_offset, transactions)
            if not is_mapped:
                return
            self._map_end_offset = source.end_offset

    def _map_segment(
        self, source: Source, start_offset: int, transactions: CleanedTransactions
    ) -> Generator[_Step, None, bool]:
        """False where the map was full before the end of the segment."""
        position = 0
        if start_offset > source.base_offset:
            position = position_before(self._disk, self._order, source, start_offset)
        reported = position
        for at, batch in read_batches(self._disk, self._order, source, position):
            if batch.last_offset >= start_offset:
                try:
                    is_mapped = self._map_batch(batch, start_offset, transactions)
                except KafkaError as error:
                    raise self._unreadable(source, at, error) from error
                if not is_mapped:
                    return False
                self._map_end_offset = batch.next_offset
            if at - reported >= _REPORTED_BYTES:
                self._map_bytes += at - reported
                yield at - reported
                reported = at
        self._map_bytes += source.size - reported
        yield source.size - reported
        return True

    def _map_batch(
        self, batch: RecordBatch, start_offset: int, transactions: CleanedTransactions
    ) -> bool:
        """False where the map was full before the end of the batch."""
        if batch.is_control:
            transactions.marker_may_go(batch)
            return True
        if transactions.data_may_go(batch) or not batch.record_count:
            return True
        return self._offsets.add_records(
            batch.decompressed(), batch.record_count, batch.base_offset, start_offset
        )

    # The rewrite.

    def _rewrite(self, group: list[Source], cleaner: BatchCleaner) -> Iterator[_Step]:
        """Make one `.cleaned` segment of a group."""
        output = self._output = _Output(self._disk, self._order, group)
        for source in group:
            reported = 0
            for at, batch in read_batches(self._disk, self._order, source):
                try:
                    kept = cleaner.clean(batch)
                except KafkaError as error:
                    raise self._unreadable(source, at, error) from error
                if kept is not None:
                    output.add(kept)
                for entry in cleaner.transactions.take_kept():
                    output.segment.append_aborted(entry)
                read = at + batch.size - reported
                if read >= _REPORTED_BYTES:
                    reported += read
                    self._bytes_read += read
                    yield read + output.take_written()
            self._bytes_read += source.size - reported
            yield source.size - reported
        output.finish(segment_path(self._order.directory, group[-1].base_offset, LOG))
        self._bytes_written += output.segment.size
        yield output.take_written()
        self._output = None
        yield CleanedGroup(group[0].base_offset, tuple(source.base_offset for source in group))

    def _unreadable(self, source: Source, position: int, error: KafkaError) -> Uncleanable:
        """Records that cannot be read though their checksum is right."""
        path = segment_path(self._order.directory, source.base_offset, LOG)
        return Uncleanable(path, position, str(error))


class _Output:
    """The new segment of a group, written in pieces of the cleaner's buffer."""

    def __init__(self, disk: Disk, order: CleaningOrder, group: list[Source]) -> None:
        files = SegmentFiles(disk, FilePool(_OPEN_FILES), CLEANED)
        self._disk = disk
        self._order = order
        self._batches: list[RecordBatch] = []
        self._waiting = 0
        self._written = 0
        self.segment = Segment.open(
            files,
            order.directory,
            group[0].base_offset,
            order.settings,
            order.now_ms,
            existing=False,
        )

    def add(self, batch: RecordBatch) -> None:
        """The next batch of the segment."""
        self._batches.append(batch)
        self._waiting += batch.size
        if self._waiting >= self._order.io_bytes:
            self._write()

    def take_written(self) -> int:
        """Bytes written since last asked."""
        written, self._written = self._written, 0
        return written

    def finish(self, aged_like: str) -> None:
        """All is durable, names included; the file is as old as its last source.

        The age is what time-based deletion, and tombstones of old formats, go by.
        """
        self._write()
        segment = self.segment
        segment.on_become_inactive()
        self._disk.set_mtime(segment.path(LOG), self._disk.mtime_ms(aged_like))
        segment.flush()
        segment.close_files()
        self._disk.fsync_dir(self._order.directory)

    def _write(self) -> None:
        if not self._batches:
            return
        self._require_space()
        data = b"".join(batch.view for batch in self._batches)
        self.segment.append_many(self._batches, memoryview(data))
        self._written += self._waiting
        self._batches, self._waiting = [], 0

    def _require_space(self) -> None:
        """OSError(ENOSPC) before the disk is full: what a failed append would cost is far more."""
        total, usable = self._disk.usage(self._order.directory)
        if usable < self._waiting + min(SPARE_BYTES, total // _SPARE_PART):
            raise OSError(
                errno.ENOSPC, "What is left of the disk is for appends", self._order.directory
            )
