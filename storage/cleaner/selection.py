"""Which log to clean, and how far: pure decisions over facts of logs.

```text
log start      first dirty offset          first uncleanable offset        log end
    │  clean         │        cleanable             │    not yet               │
    └────────────────┴──────────────────────────────┴──────────────────────────┘
ratio = cleanable bytes / (clean bytes + cleanable bytes), by whole segments
```
The first dirty offset is where the last cleaning ended; one that cannot be, below the log start or
beyond the log end, counts as the log start. Not cleaned are: what lies beyond the last stable
offset, the active segment, and segments with a record younger than min.compaction.lag.ms.

A log is cleaned if its ratio is above min.cleanable.dirty.ratio, or must be if its oldest dirty
segment is older than max.compaction.lag.ms; of all these the one with the greatest ratio.
Source: LogCleanerManager.java (4.3), KIP-58, KIP-354.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

NEVER_CLEANED = -1


class SegmentFacts(Protocol):
    """What selection looks at in a segment."""

    @property
    def base_offset(self) -> int:
        """First offset it may hold."""

    @property
    def size(self) -> int:
        """Bytes of its .log file."""

    def largest_timestamp(self) -> int:
        """Largest record timestamp, or the time of the last write where no record has one."""

    def first_batch_timestamp(self) -> int:
        """Largest timestamp of the first batch, -1 without one."""


class LogFacts(NamedTuple):
    """Offsets of a log; the first dirty one is NEVER_CLEANED if there is none."""

    first_dirty_offset: int
    log_start_offset: int
    log_end_offset: int
    last_stable_offset: int


class LagLimits(NamedTuple):
    """min.compaction.lag.ms and max.compaction.lag.ms."""

    min_compaction_lag_ms: int
    max_compaction_lag_ms: int


class Dirt(NamedTuple):
    """How dirty a log is. `end_offset` is the first uncleanable offset, at a segment's base.

    `overdue_ms` is for how long it should have been cleaned, by max.compaction.lag.ms.
    """

    first_dirty_offset: int
    end_offset: int
    clean_bytes: int
    cleanable_bytes: int
    overdue_ms: int

    @property
    def ratio(self) -> float:
        """What part of what may be cleaned is dirty, from 0 to 1."""
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0

    def is_due(self, min_ratio: float) -> bool:
        """Whether the log is to be cleaned now."""
        return self.cleanable_bytes > 0 and (self.overdue_ms > 0 or self.ratio > min_ratio)


def first_dirty_offset(facts: LogFacts) -> int:
    """Where cleaning begins: where the last one ended, if that can be true."""
    found = facts.first_dirty_offset
    if facts.log_start_offset <= found <= facts.log_end_offset:
        return found
    return facts.log_start_offset


def measure(
    segments: Sequence[SegmentFacts], facts: LogFacts, limits: LagLimits, now_ms: int
) -> Dirt:
    """How dirty a log is; its segments in order, the active one last."""
    start = first_dirty_offset(facts)
    sealed = _sealed_from(segments, start)
    uncleanable = min(facts.last_stable_offset, segments[-1].base_offset)
    if limits.min_compaction_lag_ms > 0:
        for segment in sealed:
            if segment.largest_timestamp() > now_ms - limits.min_compaction_lag_ms:
                uncleanable = min(uncleanable, segment.base_offset)
                break
    uncleanable = max(uncleanable, start)
    beyond = _sealed_from(segments, uncleanable)
    end_offset = beyond[0].base_offset if beyond else segments[-1].base_offset
    cleanable = [one for one in _sealed_from(segments, start) if one.base_offset < end_offset]
    return Dirt(
        start,
        end_offset,
        sum(segment.size for segment in segments if segment.base_offset < start),
        sum(segment.size for segment in cleanable),
        _overdue_ms(sealed, limits.max_compaction_lag_ms, now_ms),
    )


def _sealed_from(segments: Sequence[SegmentFacts], offset: int) -> Sequence[SegmentFacts]:
    """The segments before the active one, from that which holds an offset on."""
    last = len(segments) - 1
    if offset >= segments[last].base_offset:
        return ()
    first = 0
    while first + 1 < last and segments[first + 1].base_offset <= offset:
        first += 1
    return segments[first:last]


def _overdue_ms(dirty: Sequence[SegmentFacts], max_lag_ms: int, now_ms: int) -> int:
    """How long ago the oldest dirty segment passed the longest lag; 0 if none has."""
    limit = now_ms - max_lag_ms
    if limit <= 0:
        return 0
    times = [time for time in (one.first_batch_timestamp() for one in dirty) if time > 0]
    return max(0, limit - min(times, default=limit))
