"""Giving up old segments: what retention decided, put into force.

Order, for a crash at any step: the log start moves first, so that nobody reads what goes; then the
files are renamed `.deleted`, oldest first, so that what a crash leaves is a log without its
beginning; a later job unlinks them. Segments cut from the end go newest first, for the same reason.
Source: UnifiedLog.deleteOldSegments, LocalLog.deleteSegmentFiles.
"""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from storage.jobs import Job, OffLoopWork, Work
from storage.log.retention import LogBounds, RetentionLimits, eligible_segments
from storage.segment.segment import Segment

if TYPE_CHECKING:
    from storage.log.partition_log import PartitionLog

logger = logging.getLogger(__name__)

DELETE_FILE = "delete-file"
MOST_SEGMENTS = 64
"""Renames are some 40 µs a segment: one call keeps the loop for a few ms at most."""


def delete_old_segments(
    log: "PartitionLog", now_ms: int, limit: int
) -> tuple[list[int], Sequence[Job]]:
    """Drop at most `limit` segments that retention does not keep; their base offsets, and jobs."""
    config = log.config
    limits = RetentionLimits(config.delete, config.retention_bytes, config.retention_ms)
    deleted: list[int] = []
    jobs: list[Job] = []
    while len(deleted) < limit and not log.offline:
        bounds = LogBounds(log.log_start_offset, log.high_watermark, log.log_end_offset)
        found = eligible_segments(log.segments, limits, bounds, now_ms)
        count = min(found.segment_count, limit - len(deleted))
        if not count:
            break
        if count == len(log.segments):
            jobs += log.roll(now_ms, log.log_end_offset)
        next_offset = log.segments[count].base_offset
        bases = [segment.base_offset for segment in log.segments[:count]]
        logger.info(
            "%s Found deletable segments with base offsets [%s] due to %s",
            log.prefix,
            ",".join(map(str, bases)),
            found.reason,
        )
        log.maybe_increment_log_start_offset(next_offset, "segment deletion")
        jobs += discard_segments(log, log.segments.drop_first(count))
        log.producers.delete_snapshots_before(next_offset)
        deleted += bases
    if not log.offline:
        _warn_of_the_future(log, now_ms)
    return deleted, jobs


def _warn_of_the_future(log: "PartitionLog", now_ms: int) -> None:
    """Time will not end the oldest segment: say so once a pass, as Kafka does."""
    config, first = log.config, log.segments.first
    if config.delete and config.retention_ms >= 0 and first.size:
        latest_ms = first.largest_timestamp()
        if latest_ms > now_ms:
            logger.warning(
                "%s %r contains future timestamp(s), the latest %d, making it ineligible to be "
                "deleted by retention.ms",
                log.prefix,
                first,
                latest_ms,
            )


def discard_segments(log: "PartitionLog", segments: Sequence[Segment]) -> Sequence[Job]:
    """Rename the files of segments out of use, in this order; the job removes them later."""
    if not segments:
        return ()
    for segment in segments:
        segment.close_files()
        segment.rename_to_deleted()
    log.flusher.names_changed()
    log_dir, prefix = log.log_dir, log.prefix

    def delete() -> None:
        logger.info("%s Deleting segment files %s", prefix, ",".join(map(repr, segments)))
        for segment in segments:
            segment.delete_files()

    def plan(_now_ms: int) -> Sequence[Work]:
        return (OffLoopWork(log_dir, delete),)

    return (Job(DELETE_FILE, log.config.file_delete_delay_ms, plan),)
