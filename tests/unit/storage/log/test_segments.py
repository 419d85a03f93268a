"""Finding segments by offset."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.records.builder import build_batch
from protocol.records.record import Record
from storage.log.segments import Segments
from storage.segment.file_records import FilePool
from storage.segment.file_set import SegmentFiles, SegmentSettings
from storage.segment.segment import Segment
from tests.support.fault_disk import FaultDisk


@pytest.fixture
def segments() -> Segments:
    return segments_at((20, 0, 10))


def segments_at(bases: Sequence[int]) -> Segments:
    disk = FaultDisk()
    disk.mkdir("/log")
    files = SegmentFiles(disk, FilePool(10))
    settings = SegmentSettings(100, 1024)
    return Segments(
        Segment.open(files, "/log", base, settings, 0, existing=False) for base in bases
    )


def append(segment: Segment, timestamp: int) -> None:
    """One record that takes the segment's next offset."""
    batch = build_batch([Record(0, timestamp, None, b"v", [])])
    segment.append(batch, segment.next_offset, timestamp, segment.next_offset)


def bases(found: list[Segment]) -> list[int]:
    return [segment.base_offset for segment in found]


def test_the_last_one_is_active(segments: Segments) -> None:
    assert (segments.first.base_offset, segments.active.base_offset, len(segments)) == (0, 20, 3)
    assert segments.size == 0


def test_floor_and_higher_enclose_an_offset(segments: Segments) -> None:
    for offset, floor, higher in ((0, 0, 10), (9, 0, 10), (10, 10, 20), (25, 20, None)):
        found = segments.floor(offset)
        above = segments.higher(offset)
        assert found is not None
        assert found.base_offset == floor
        assert (None if above is None else above.base_offset) == higher
    assert segments.floor(-1) is None


def test_ranges_begin_with_the_segment_that_holds_the_offset(segments: Segments) -> None:
    assert bases(segments.since(15)) == [10, 20]
    assert bases(segments.since(-5)) == [0, 10, 20]
    assert bases(list(segments[:2])) == [0, 10]


def test_segments_leave_from_either_end(segments: Segments) -> None:
    assert bases(segments.drop_first(1)) == [0]
    assert bases(segments.drop_above(10)) == [20]
    assert segments.active.base_offset == 10
    replaced = segments.active
    assert segments.replace_all(replaced) == [replaced]
    with pytest.raises(AssertionError):
        segments.add(replaced)


TIMES = st.lists(st.lists(st.integers(0, 20), max_size=3), min_size=1, max_size=6)


@given(TIMES, st.lists(st.tuples(st.integers(-1, 21), st.integers(-1, 60)), max_size=8))
def test_the_first_segment_that_reaches_a_time_is_found_whatever_came_before(
    times: list[list[int]], questions: list[tuple[int, int]]
) -> None:
    segments = segments_at([10 * number for number in range(len(times))])
    for segment, timestamps in zip(segments, times, strict=True):
        for timestamp in timestamps:
            append(segment, timestamp)
    for timestamp, after in questions:
        expected = [
            10 * number
            for number, found in enumerate(times)
            if 10 * number > after and found and max(found) >= timestamp
        ]
        found = segments.reaching(timestamp, after)
        assert ([] if found is None else [found.base_offset]) == expected[:1]


def test_times_are_learnt_anew_where_segments_come_and_go(segments: Segments) -> None:
    for segment, timestamp in zip(segments, (5, 9, 7), strict=True):
        append(segment, timestamp)
    assert segments.reaching(6, -1) is segments[1]
    segments.drop_first(1)
    segments.add(segments_at([30]).first)
    assert segments.reaching(6, 10) is segments[1]
    segments.drop_above(10)
    assert segments.reaching(10, -1) is None
