"""Rebuilds what a segment's log says: its end, its indexes, and what its batches tell the log.

Each batch is checked, header and checksum, in order; records are not decompressed. The first one
that is not right, or whose offsets go back, ends the segment: it and all after it are cut off.
Source: LogSegment.recover (4.3).
"""

from typing import NamedTuple

from protocol.records.batch import RecordBatch
from protocol.records.errors import CorruptBatch, MalformedRecords
from runtime.disk import Disk
from storage import filenames
from storage.epochs import LeaderEpochCache
from storage.producer.state import ProducerState
from storage.segment.batch_scan import BatchHeader, check, scan_whole
from storage.segment.segment import Segment
from storage.segment.sparse_index import MAX_RELATIVE_OFFSET
from storage.segment.transaction_index import AbortedEntry


class Recovery(NamedTuple):
    """What was found. `reason` says why bytes were cut off; None if none were."""

    valid_bytes: int
    truncated_bytes: int
    next_offset: int
    batches: int
    reason: str | None


def recover_segment(
    disk: Disk, segment: Segment, producers: ProducerState, epochs: LeaderEpochCache
) -> Recovery:
    """Make the segment hold its valid batches only, with indexes for just those, written out.

    producers, which must stand at the segment's base offset or before, and epochs follow the
    batches. Nothing is synced. For a segment nobody else uses; may run in a worker.
    """
    path = segment.path(filenames.LOG)
    fd = disk.open(path)
    try:
        length = disk.size(fd)
        segment.restart_indexes()
        reason = None
        batches = 0

        def read(size: int, position: int) -> bytes:
            return disk.pread(fd, size, position)

        try:
            for header, view in scan_whole(read, 0, length):
                _take(segment, header, check(header, view), producers, epochs)
                batches += 1
        except (CorruptBatch, MalformedRecords) as error:
            reason = error.message
        truncated = length - segment.size
        if truncated:
            reason = reason or "the last batch is incomplete"
            disk.truncate(fd, segment.size)
    finally:
        disk.close(fd)
    segment.finish_recovery()
    return Recovery(segment.size, truncated, segment.next_offset, batches, reason)


def _take(
    segment: Segment,
    header: BatchHeader,
    batch: RecordBatch | None,
    producers: ProducerState,
    epochs: LeaderEpochCache,
) -> None:
    """Count one valid batch. batch is None for a message of format 0 or 1."""
    if header.base_offset < segment.next_offset:
        raise CorruptBatch(
            f"offset {header.base_offset} is below the expected {segment.next_offset}"
        )
    if header.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET:
        raise CorruptBatch(f"offset {header.last_offset} is out of the segment's range")
    aborted = None if batch is None else replay_batch(producers, batch)
    segment.recovered(header)
    if header.leader_epoch >= 0 and header.leader_epoch > epochs.latest_epoch:
        epochs.assign(header.leader_epoch, header.base_offset)
    if aborted is not None:
        segment.append_aborted(aborted)


def replay_batch(producers: ProducerState, batch: RecordBatch) -> AbortedEntry | None:
    """Bring producers up to a batch read back from the log.

    An aborted transaction is returned as its index entry, for whoever rebuilds that index.
    """
    aborted = None
    if batch.producer_id >= 0:
        update = producers.check_replayed(batch)
        producers.apply(update)
        completed = update.completed
        if completed is not None:
            last_stable_offset = producers.last_stable_offset(completed)
            producers.complete_transaction(completed)
            if completed.is_aborted:
                aborted = AbortedEntry(
                    completed.producer_id,
                    completed.first_offset,
                    completed.last_offset,
                    last_stable_offset,
                )
    producers.map_end_offset = batch.next_offset
    return aborted
