"""When a log begins a new segment: a decision over plain values.

Event time drives it: the wait is counted from the first batch's timestamp to the incoming one's, so
that a log without traffic does not roll, and one that is refilled with old data rolls as it did the
first time. Only batches without timestamps are counted by the clock.
Source: LogSegment.shouldRoll (4.3).
"""

from typing import NamedTuple, Protocol

from storage.segment.sparse_index import MAX_RELATIVE_OFFSET


class RollLimits(NamedTuple):
    """segment.bytes, segment.ms, and the jitter (ms) drawn for this segment."""

    segment_bytes: int
    segment_ms: int
    jitter_ms: int


class Rollable(Protocol):
    """What is asked of the active segment."""

    @property
    def size(self) -> int:
        """Bytes of its log."""

    @property
    def base_offset(self) -> int:
        """Its first offset."""

    @property
    def created_ms(self) -> int:
        """When it was made, or opened."""

    @property
    def rolling_timestamp(self) -> int:
        """Greatest timestamp of its first batch; -1 where there is none."""

    @property
    def full_index(self) -> str | None:
        """The index that has no room for another entry."""


def roll_reason(
    segment: Rollable,
    incoming_size: int,
    incoming_max_timestamp: int,
    last_offset: int,
    now_ms: int,
    limits: RollLimits,
) -> str | None:
    """'size', 'time', 'offset index', 'time index' or 'offset range'; None to go on.

    last_offset is the greatest one the incoming batches will have.
    """
    if segment.size > limits.segment_bytes - incoming_size:
        return "size"
    if segment.size > 0:
        if segment.rolling_timestamp >= 0:
            waited_ms = incoming_max_timestamp - segment.rolling_timestamp
        else:
            waited_ms = now_ms - segment.created_ms
        if waited_ms > limits.segment_ms - limits.jitter_ms:
            return "time"
    if segment.full_index is not None:
        return segment.full_index
    if not 0 <= last_offset - segment.base_offset <= MAX_RELATIVE_OFFSET:
        return "offset range"
    return None
