"""Finding segments by offset."""

import pytest

from storage.log.segments import Segments
from storage.segment.file_records import FilePool
from storage.segment.file_set import SegmentFiles, SegmentSettings
from storage.segment.segment import Segment
from tests.support.fault_disk import FaultDisk


@pytest.fixture
def segments() -> Segments:
    disk = FaultDisk()
    disk.mkdir("/log")
    files = SegmentFiles(disk, FilePool(10))
    settings = SegmentSettings(100, 1024)
    return Segments(
        Segment.open(files, "/log", base, settings, 0, existing=False) for base in (20, 0, 10)
    )


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
