"""Cutting a log: from an offset on (a follower meets its leader), or wholly, to start elsewhere.

Whole batches go, from the one that contains the offset. The log end becomes the offset, or the base
of that batch where the offset lies inside it, so that what was cut is asked for again. Producer
state is rebuilt from snapshot and log; epochs, recovery point, high watermark and log start
come down with the log end. The generation rises: flushes and swaps planned before are void.

Segments cut away are renamed `.deleted` at once, so that a crash cannot bring them back beside their
successors, and removed later. The caller runs the jobs; one of them lowers the recovery point in the
checkpoint file before it could vouch for offsets that were written anew.
Source: UnifiedLog.truncateTo, truncateFullyAndStartAt; LocalLog.
"""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from storage.jobs import Job, OffLoopWork, Work
from storage.segment.segment import Segment

if TYPE_CHECKING:
    from storage.log.partition_log import PartitionLog

logger = logging.getLogger(__name__)

DELETE_FILE = "delete-file"


def truncate_to(log: "PartitionLog", offset: int, now_ms: int) -> tuple[bool, Sequence[Job]]:
    """No offset ≥ `offset` is in the log afterwards; whether anything went, and what follows."""
    if offset >= log.log_end_offset:
        logger.info(
            "%s Truncating to %d has no effect as the largest offset in the log is %d",
            log.prefix,
            offset,
            log.log_end_offset - 1,
        )
        return False, ()
    logger.info("%s Truncating to offset %d", log.prefix, offset)
    if offset < log.segments.first.base_offset:
        return True, truncate_fully_and_start_at(log, offset, now_ms)
    end_offset = _batch_boundary(log, offset)
    log.generation += 1
    dropped = log.segments.drop_above(end_offset)
    jobs = discard_segments(log, dropped)
    log.segments.active.truncate_to(end_offset, now_ms)
    log.ended_at(end_offset)
    return True, jobs


def _batch_boundary(log: "PartitionLog", offset: int) -> int:
    """The base of the batch that an offset lies inside of, else the offset."""
    segment = log.segments.floor(offset)
    assert segment is not None, offset
    found = segment.read(offset, 0, segment.size, False)
    return offset if found is None else min(offset, found[1])


def truncate_fully_and_start_at(
    log: "PartitionLog", offset: int, now_ms: int, log_start_offset: int | None = None
) -> Sequence[Job]:
    """The log is empty and ends at `offset` afterwards."""
    logger.info("%s Truncate and start at offset %d", log.prefix, offset)
    log.generation += 1


def discard_segments(log: "PartitionLog", segments: Sequence[Segment]) -> Sequence[Job]:
    """Rename the files of segments out of use; the job removes them after file.delete.delay.ms."""
    if not segments:
        return ()
    for segment in segments:
        segment.close_files()
        segment.rename_to_deleted()
    log.flusher.names_changed()
    log_dir = log.log_dir

    def plan(_now_ms: int) -> Sequence[Work]:
        return [OffLoopWork(log_dir, segment.delete_files) for segment in segments]

    return (Job(DELETE_FILE, log.config.file_delete_delay_ms, plan),)
