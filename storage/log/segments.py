"""The segments of one log in the order of their base offsets.

Invariant: base offsets ascend strictly, the last segment is the active one, and a log that is open
has at least one.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, overload

from storage.segment.segment import Segment

NO_TIME: Final = -(1 << 63)


class Segments(Sequence[Segment]):
    """A sorted list of segments, found by offset."""

    __slots__ = ("_base_offsets", "_reached_times", "_segments", "active")

    def __init__(self, segments: Iterable[Segment]) -> None:
        """Take segments in any order; at least one."""
        self._segments = sorted(segments, key=lambda segment: segment.base_offset)
        self._base_offsets = [segment.base_offset for segment in self._segments]
        self._reached_times: list[int] = []
        self.active: Segment = self._segments[-1]

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    @overload
    def __getitem__(self, index: int) -> Segment: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Segment]: ...

    def __getitem__(self, index: int | slice) -> Segment | Sequence[Segment]:
        return self._segments[index]

    @property
    def first(self) -> Segment:
        """The oldest segment."""
        return self._segments[0]

    @property
    def size(self) -> int:
        """Bytes of all .log files."""
        return sum(segment.size for segment in self._segments)

    def add(self, segment: Segment) -> None:
        """Make this the active segment; its base offset lies beyond all others."""
        assert segment.base_offset > self._base_offsets[-1], (
            segment.base_offset,
            self._base_offsets,
        )
        self._segments.append(segment)
        self._base_offsets.append(segment.base_offset)
        self.active = segment

    def floor(self, offset: int) -> Segment | None:
        """The segment with the largest base offset ≤ offset: the one that would hold it."""
        index = bisect_right(self._base_offsets, offset) - 1
        return self._segments[index] if index >= 0 else None

    def higher(self, offset: int) -> Segment | None:
        """The segment with the smallest base offset > offset."""
        index = bisect_right(self._base_offsets, offset)
        return self._segments[index] if index < len(self._segments) else None

    def reaching(self, timestamp: int, after_base_offset: int) -> Segment | None:
        """The first segment beyond a base offset with a record at or after a time, if any.

        Found by bisection over the times that sealed segments have reached so far, which is
        remembered; only the active segment is asked anew.
        """
        reached = self._reached_times
        for sealed in islice(self._segments, len(reached), len(self._segments) - 1):
            reached.append(max(reached[-1] if reached else NO_TIME, _time_of(sealed)))
        index = max(
            bisect_left(reached, timestamp), bisect_right(self._base_offsets, after_base_offset)
        )
        for segment in islice(self._segments, index, None):
            if _time_of(segment) >= timestamp:
                return segment
        return None

    def since(self, offset: int) -> list[Segment]:
        """The segment that would hold this offset and all after it; all if the log begins later."""
        return self._segments[max(bisect_right(self._base_offsets, offset) - 1, 0) :]

    def between(self, first: int, last: int) -> list[Segment]:
        """The segments whose base offsets lie in [first, last]."""
        low, high = bisect_left(self._base_offsets, first), bisect_right(self._base_offsets, last)
        return self._segments[low:high]

    def replace(self, old: Sequence[Segment], new: Segment) -> None:
        """Put one segment where these, consecutive and not the active one, are."""
        low = bisect_left(self._base_offsets, old[0].base_offset)
        high = low + len(old)
        assert self._segments[low:high] == list(old), (old, new)
        assert high < len(self._segments), new
        self._segments[low:high] = [new]
        self._base_offsets[low:high] = [new.base_offset]
        self._reached_times = []

    def drop_first(self, count: int) -> list[Segment]:
        """Take the oldest `count` segments out, never the last one."""
        assert count < len(self._segments), (count, len(self._segments))
        dropped = self._segments[:count]
        del self._segments[:count], self._base_offsets[:count]
        self._reached_times = []
        return dropped

    def drop_above(self, offset: int) -> list[Segment]:
        """Take out segments with a base offset > offset; the one below becomes active."""
        index = bisect_right(self._base_offsets, offset)
        assert index > 0, (offset, self._base_offsets)
        dropped = self._segments[index:]
        del self._segments[index:], self._base_offsets[index:]
        self._reached_times = []
        self.active = self._segments[-1]
        return dropped

    def replace_all(self, segment: Segment) -> list[Segment]:
        """Take all segments out and start over with this one."""
        dropped = self._segments
        self._segments = [segment]
        self._base_offsets = [segment.base_offset]
        self._reached_times = []
        self.active = segment
        return dropped


def _time_of(segment: Segment) -> int:
    """The greatest time of a segment, before all others where it is empty."""
    return segment.largest_timestamp() if segment.size else NO_TIME
