"""Cutting a log: from an offset on (a follower meets its leader), or wholly, to start elsewhere.

Whole batches go, from the one that contains the offset. The log end is where the batches that stay
end: the offset, or less where it lay inside a batch or behind a gap, so that what was cut is asked
for again. Producers go back to that point by snapshot and replay; epochs, recovery point, high
watermark and log start come down with the log end. The generation rises: flushes and swaps planned
before are void.

Segments cut away are renamed `.deleted` at once, newest first, so that a crash leaves a log that
is cut less, never one with a hole. Among the jobs is a flush: until it is done a power cut may
bring back what was cut, to be recovered like any tail.

That holds where recovery looks, from the recovery point of the checkpoint file on. A file cut below
it may come back with its old length and zeros at its end (file systems write the page that was cut
before they write the length), and nobody would look. So a caller that truncates below the recovery
point first calls `doubt_from` and has the checkpoint written; only then does it truncate.
Source: UnifiedLog.truncateTo, truncateFullyAndStartAt; LocalLog.
"""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from storage.jobs import NO_JOBS, Job
from storage.log.deletion import discard_segments
from storage.log.recovery import replay
from storage.reused_names import forget_known
from storage.segment.reading import UNKNOWN
from storage.segment.segment import Segment

if TYPE_CHECKING:
    from storage.log.partition_log import PartitionLog

logger = logging.getLogger(__name__)


def doubt_from(log: "PartitionLog", offset: int) -> None:
    """The log will be cut here: nothing from here on counts as durable, no flush says otherwise."""
    log.generation += 1
    log.recovery_point = log.flushed_end_offset = min(log.recovery_point, offset)


def truncate_to(log: "PartitionLog", offset: int, now_ms: int) -> Sequence[Job]:
    """No offset ≥ `offset` is in the log afterwards."""
    if offset >= log.log_end_offset:
        logger.info(
            "%s Truncating to %d has no effect as the largest offset in the log is %d",
            log.prefix,
            offset,
            log.log_end_offset - 1,
        )
        return NO_JOBS
    logger.info("%s Truncating to offset %d", log.prefix, offset)
    if offset < log.segments.first.base_offset:
        return truncate_fully_and_start_at(log, offset, now_ms)
    forget_known(log.disk, log.directory)
    end_offset = _batch_boundary(log, offset)
    old_end_offset = log.log_end_offset
    log.generation += 1
    jobs = discard_segments(log, log.segments.drop_above(end_offset)[::-1])
    end_offset = _cut_segment(log.segments.active, end_offset, now_ms)
    log.ended_at(end_offset, min(log.log_start_offset, end_offset))
    _rewind_producers(log, old_end_offset, now_ms)
    log.flusher.was_cut()
    return (*jobs, *log.flusher.want(end_offset))


def truncate_fully_and_start_at(
    log: "PartitionLog", offset: int, now_ms: int, log_start_offset: int | None = None
) -> Sequence[Job]:
    """The log is empty, and its next offset is `offset`, afterwards."""
    logger.info(
        "%s Truncate and start at offset %d, logStartOffset: %s",
        log.prefix,
        offset,
        log_start_offset,
    )
    log.generation += 1
    forget_known(log.disk, log.directory)
    jobs = discard_segments(log, log.segments[::-1])
    log.segments.replace_all(log.new_segment(offset, now_ms))
    log.epochs.clear()
    log.producers.truncate_fully_and_start_at(offset)
    log.ended_at(offset, offset if log_start_offset is None else log_start_offset)
    log.flusher.was_cut()
    return (*jobs, *log.flusher.want(offset))


def _cut_segment(segment: Segment, offset: int, now_ms: int) -> int:
    """Cut the active segment; where its records end now, which is what a restart will find.

    That lies below `offset` where compaction, or a leader, left a gap before it.
    """
    segment.truncate_to(offset, now_ms)
    segment.next_offset = UNKNOWN
    return segment.read_next_offset()


def _batch_boundary(log: "PartitionLog", offset: int) -> int:
    """The base of the batch that an offset lies inside of, else the offset."""
    segment = log.segments.floor(offset)
    assert segment is not None, offset
    found = segment.read(offset, 0, segment.size, False)
    return offset if found is None else min(offset, found[1])


def _rewind_producers(log: "PartitionLog", old_end_offset: int, now_ms: int) -> None:
    """Bring producers back to the log end; without any there is nothing to replay."""
    producers = log.producers
    end_offset = log.log_end_offset
    had_any = len(producers) > 0
    producers.map_end_offset = old_end_offset
    producers.truncate_and_reload(
        log.log_start_offset, end_offset, now_ms, log.environment.producer_id_expiration_ms()
    )
    if had_any:
        replay(producers, log.segments.since(producers.map_end_offset), end_offset)
    producers.map_end_offset = end_offset
    producers.on_high_watermark(log.high_watermark)
