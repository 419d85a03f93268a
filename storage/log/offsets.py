"""Questions about offsets that clients ask with ListOffsets.

    by time      the first record at or after a timestamp, in the first segment that reaches it
    by maximum   the first record that has the greatest timestamp of the log
Source: UnifiedLog.fetchOffsetByTimestamp, KIP-79, KIP-734.
"""

from storage.log.results import TimestampOffset
from storage.log.segments import Segments


def offset_for_timestamp(
    segments: Segments, timestamp: int, log_start_offset: int
) -> TimestampOffset | None:
    """The first record with a timestamp ≥ this one, at or after the log start; None if none has."""
    for segment in segments:
        if segment.size and segment.largest_timestamp() >= timestamp:
            found = segment.find_offset_by_timestamp(timestamp, log_start_offset)
            if found is not None:
                return TimestampOffset(*found)
    return None


def max_timestamp_offset(segments: Segments, log_start_offset: int) -> TimestampOffset | None:
    """The first record that has the greatest timestamp; None in a log without timestamps."""
    greatest = max(segment.max_timestamp_so_far for segment in segments)
    if greatest < 0:
        return None
    return offset_for_timestamp(segments, greatest, log_start_offset)
