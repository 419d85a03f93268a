"""When a log begins a new segment: a decision over plain values.

Event time drives it: the wait is counted from the first batch's timestamp to the incoming one's, so
that a log without traffic does not roll, and one that is refilled with old data rolls as it did the
first time. Only batches without timestamps are counted by the clock.
Source: LogSegment.shouldRoll (4.3).
"""

from typing import NamedTuple

from storage.segment.sparse_index import MAX_RELATIVE_OFFSET


class RollLimits(NamedTuple):
    """segment.bytes, segment.ms, and the jitter (ms) drawn for this segment."""

    segment_bytes: int
    segment_ms: int
    jitter_ms: int


class SegmentState(NamedTuple):
    """What is asked of the active segment; first_batch_timestamp is -1 where there is none."""

    size: int
    base_offset: int
    created_ms: int
    first_batch_timestamp: int
    offset_index_full: bool
    time_index_full: bool


def roll_reason(
    segment: SegmentState,
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
        if segment.first_batch_timestamp >= 0:
            waited_ms = incoming_max_timestamp - segment.first_batch_timestamp
        else:
            waited_ms = now_ms - segment.created_ms
        if waited_ms > limits.segment_ms - limits.jitter_ms:
            return "time"
    if segment.offset_index_full:
        return "offset index"
    if segment.time_index_full:
        return "time index"
    if not 0 <= last_offset - segment.base_offset <= MAX_RELATIVE_OFFSET:
        return "offset range"
    return None
