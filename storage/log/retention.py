"""Which of the oldest segments may go: pure decisions over a list of segments.

Rules (kafka.log.UnifiedLog.deleteOldSegments, 3.9 and 4.3), each walking from the oldest segment
and stopping at the first survivor:

1. log start: the next segment begins at or below the log start offset (any cleanup policy);
2. size: the log without the segment would still hold `retention.bytes` (policy with delete);
3. time: now - largest timestamp of the segment > `retention.ms` (policy with delete).

Invariants: a segment that reaches the high watermark never goes (upper bound ≤ high watermark:
nothing unreplicated is lost), and the empty last segment stays. When all segments qualify the
caller rolls first, so that a log always has an active segment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

UNLIMITED = -1


class SegmentFacts(Protocol):
    """What retention looks at in a segment."""

    @property
    def base_offset(self) -> int:
        """First offset the segment may hold."""

    @property
    def size(self) -> int:
        """Bytes of its .log file."""

    def largest_timestamp(self) -> int:
        """Largest record timestamp, or the time of the last write where no record has one."""


class RetentionLimits(NamedTuple):
    """The limits in force; -1 = unlimited. `delete` = the cleanup policy contains it."""

    delete: bool
    retention_bytes: int
    retention_ms: int


class LogBounds(NamedTuple):
    """The offsets that retention may not cross."""

    log_start_offset: int
    high_watermark: int
    log_end_offset: int


class Deletion(NamedTuple):
    """The first `segment_count` segments may go, for this reason."""

    segment_count: int
    reason: str


NOTHING = Deletion(0, "")


def eligible_segments(
    segments: Sequence[SegmentFacts], limits: RetentionLimits, bounds: LogBounds, now_ms: int
) -> Deletion:
    """The longest run of oldest segments that one rule allows to go; rules in Kafka's order, the
    first that fires wins.

    Called again after a deletion it answers for the rules that follow, so a pass loops until
    nothing is eligible.
    """
    deletion = _below_log_start(segments, bounds)
    if deletion.segment_count or not limits.delete:
        return deletion
    deletion = _over_size(segments, limits.retention_bytes, bounds)
    if deletion.segment_count:
        return deletion
    return _expired(segments, limits.retention_ms, bounds, now_ms)


def _below_log_start(segments: Sequence[SegmentFacts], bounds: LogBounds) -> Deletion:
    start = bounds.log_start_offset
    last = len(segments) - 1

    def next_begins_at_or_below(index: int, _segment: SegmentFacts) -> bool:
        return index < last and segments[index + 1].base_offset <= start

    count = _leading(segments, bounds, next_begins_at_or_below)
    return Deletion(count, f"log start offset {start} breach") if count else NOTHING


def _over_size(
    segments: Sequence[SegmentFacts], retention_bytes: int, bounds: LogBounds
) -> Deletion:
    if retention_bytes < 0:
        return NOTHING
    excess = sum(segment.size for segment in segments) - retention_bytes
    if excess < segments[0].size:
        return NOTHING

    def fits_in_excess(_index: int, segment: SegmentFacts) -> bool:
        nonlocal excess
        if excess < segment.size:
            return False
        excess -= segment.size
        return True

    count = _leading(segments, bounds, fits_in_excess)
    return (
        Deletion(count, f"retention size in bytes {retention_bytes} breach") if count else NOTHING
    )


def _expired(
    segments: Sequence[SegmentFacts], retention_ms: int, bounds: LogBounds, now_ms: int
) -> Deletion:
    if retention_ms < 0:
        return NOTHING

    def is_expired(_index: int, segment: SegmentFacts) -> bool:
        return now_ms - segment.largest_timestamp() > retention_ms

    count = _leading(segments, bounds, is_expired)
    return Deletion(count, f"retention time {retention_ms}ms breach") if count else NOTHING


def _leading(
    segments: Sequence[SegmentFacts],
    bounds: LogBounds,
    may_go: Callable[[int, SegmentFacts], bool],
) -> int:
    """How many of the oldest segments lie wholly below the high watermark and satisfy
    `may_go(index, segment)`.
    """
    last = len(segments) - 1
    for index, segment in enumerate(segments):
        upper_bound = segments[index + 1].base_offset if index < last else bounds.log_end_offset
        if index == last and segment.size == 0:
            return index
        if upper_bound > bounds.high_watermark or not may_go(index, segment):
            return index
    return len(segments)
