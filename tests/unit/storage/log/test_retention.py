"""Which segments retention lets go."""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from storage.log.retention import (
    NOTHING,
    Deletion,
    LogBounds,
    RetentionLimits,
    eligible_segments,
)


class Fake(NamedTuple):
    base_offset: int
    size: int
    timestamp: int = 0

    def largest_timestamp(self) -> int:
        return self.timestamp


UNLIMITED = RetentionLimits(delete=True, retention_bytes=-1, retention_ms=-1)
SEGMENTS = [Fake(0, 100, 10), Fake(10, 100, 20), Fake(20, 100, 30)]
ALL_REPLICATED = LogBounds(log_start_offset=0, high_watermark=30, log_end_offset=30)


def test_nothing_goes_without_limits() -> None:
    assert eligible_segments(SEGMENTS, UNLIMITED, ALL_REPLICATED, 10**15) == NOTHING


def test_segments_wholly_below_the_log_start_go_under_any_policy() -> None:
    kept = UNLIMITED._replace(delete=False)
    bounds = ALL_REPLICATED._replace(log_start_offset=19)
    assert eligible_segments(SEGMENTS, kept, bounds, 0) == Deletion(1, "log start offset 19 breach")
    bounds = ALL_REPLICATED._replace(log_start_offset=20)
    assert eligible_segments(SEGMENTS, kept, bounds, 0).segment_count == 2


def test_the_log_never_shrinks_below_retention_bytes() -> None:
    for limit, expected in ((300, 0), (299, 0), (200, 1), (199, 1), (100, 2), (0, 3)):
        limits = UNLIMITED._replace(retention_bytes=limit)
        assert eligible_segments(SEGMENTS, limits, ALL_REPLICATED, 0).segment_count == expected


def test_a_segment_expires_only_after_more_than_retention_ms() -> None:
    limits = UNLIMITED._replace(retention_ms=5)
    assert eligible_segments(SEGMENTS, limits, ALL_REPLICATED, 15).segment_count == 0
    deletion = eligible_segments(SEGMENTS, limits, ALL_REPLICATED, 16)
    assert deletion == Deletion(1, "retention time 5ms breach")


def test_the_first_survivor_stops_the_walk() -> None:
    segments = [Fake(0, 1, 100), Fake(10, 1, 0), Fake(20, 1, 0)]
    limits = UNLIMITED._replace(retention_ms=5)
    assert eligible_segments(segments, limits, ALL_REPLICATED, 50) == NOTHING


def test_nothing_at_or_above_the_high_watermark_goes() -> None:
    limits = UNLIMITED._replace(retention_ms=0)
    bounds = ALL_REPLICATED._replace(high_watermark=19)
    assert eligible_segments(SEGMENTS, limits, bounds, 1000).segment_count == 1


def test_an_empty_active_segment_stays() -> None:
    segments = [Fake(0, 10, 1), Fake(10, 0, 1)]
    limits = UNLIMITED._replace(retention_ms=0)
    bounds = LogBounds(0, 10, 10)
    assert eligible_segments(segments, limits, bounds, 1000).segment_count == 1


def test_policies_without_delete_ignore_size_and_time() -> None:
    limits = RetentionLimits(delete=False, retention_bytes=0, retention_ms=0)
    assert eligible_segments(SEGMENTS, limits, ALL_REPLICATED, 1000) == NOTHING


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(0, 100)), min_size=1, max_size=8),
    st.integers(-1, 400),
    st.integers(-1, 100),
    st.integers(0, 80),
    st.integers(0, 200),
)
def test_what_goes_is_a_prefix_below_the_high_watermark(
    shape: list[tuple[int, int]], limit: int, age: int, high_watermark: int, now: int
) -> None:
    segments = [Fake(index * 10, size, time) for index, (size, time) in enumerate(shape)]
    end = len(segments) * 10
    bounds = LogBounds(0, min(high_watermark, end), end)
    limits = RetentionLimits(delete=True, retention_bytes=limit, retention_ms=age)
    count = eligible_segments(segments, limits, bounds, now).segment_count
    assert count * 10 <= bounds.high_watermark
    if age < 0 and limit >= 0:
        assert count == 0 or sum(segment.size for segment in segments[count:]) >= limit
