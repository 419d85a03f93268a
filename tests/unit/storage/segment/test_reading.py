"""From offsets and times to bytes."""

import struct
import tracemalloc

import pytest

from protocol.records.batch import RecordBatch, parse_batch
from protocol.records.builder import build_batch
from protocol.records.errors import CorruptBatch
from protocol.records.record import Record
from storage.segment.file_records import FilePool, FileSlice
from storage.segment.file_set import SegmentFiles, SegmentSettings
from storage.segment.offset_index import OffsetIndex
from storage.segment.segment import Segment
from tests.support.fault_disk import FaultDisk
from tests.support.record_batches import batch_at, legacy

# A compacted segment: gaps between batches.
BATCHES = [
    batch_at(10, 2, timestamps=[100, 90]),
    batch_at(15, 3, timestamps=[80, 200, 150]),
    batch_at(20, 1, timestamps=[200]),
    batch_at(21, 4, timestamps=[210, 220, 230, 240]),
]
SIZES = [batch.size for batch in BATCHES]


def open_segment(disk: FaultDisk, *, existing: bool, interval: int = 100) -> Segment:
    files = SegmentFiles(disk, FilePool(4))
    return Segment.open(files, "", 10, SegmentSettings(interval, 1000), 0, existing=existing)


def append(segment: Segment, batches: list[RecordBatch]) -> None:
    for batch in batches:
        segment.append(batch.view, batch.last_offset, batch.max_timestamp, batch.last_offset)


@pytest.fixture(params=["active", "reopened", "no index"])
def segment(request: pytest.FixtureRequest) -> Segment:
    disk = FaultDisk()
    made = open_segment(disk, existing=False, interval=100 if request.param != "no index" else 9999)
    append(made, BATCHES)
    if request.param == "reopened":
        made.close()
        return open_segment(disk, existing=True)
    return made


def text(file_slice: FileSlice | None) -> bytes:
    assert file_slice is not None
    data = file_slice.read()
    file_slice.release()
    return data


@pytest.mark.parametrize(
    ("offset", "index"), [(0, 0), (10, 0), (11, 0), (12, 1), (17, 1), (18, 2), (20, 2), (24, 3)]
)
def test_reading_starts_at_the_batch_that_reaches_the_offset(
    segment: Segment, offset: int, index: int
) -> None:
    found = segment.read(offset, 1 << 20, segment.size, False)
    assert found is not None
    file_slice, base_offset, position = found
    assert base_offset == BATCHES[index].base_offset
    assert position == sum(SIZES[:index])
    assert text(file_slice) == b"".join(bytes(batch.view) for batch in BATCHES[index:])
    assert segment.translate_offset(offset) == (position, SIZES[index])


def test_an_offset_beyond_the_last_batch_is_not_here(segment: Segment) -> None:
    assert segment.read(25, 100, segment.size, True) is None
    assert segment.translate_offset(25) is None
    assert segment.read_next_offset() == 25
    assert segment.read(25, 100, segment.size, True) is None


def test_max_bytes_cuts_inside_later_batches_only(segment: Segment) -> None:
    found = segment.read(10, SIZES[0] + 5, segment.size, False)
    assert found is not None
    assert len(text(found[0])) == SIZES[0] + 5
    assert segment.read(10, SIZES[0] - 1, segment.size, False) == (None, 10, 0)
    assert segment.read(10, 0, segment.size, False) == (None, 10, 0)
    for offset, index in ((10, 0), (24, 3), (21, 3)):
        found = segment.read(offset, 0, segment.size, True)
        assert found is not None
        assert text(found[0]) == bytes(BATCHES[index].view)


def test_nothing_beyond_the_bound_is_read(segment: Segment) -> None:
    found = segment.read(10, 1 << 20, SIZES[0], True)
    assert found is not None
    assert text(found[0]) == bytes(BATCHES[0].view)
    assert segment.read(15, 1 << 20, SIZES[0], True) == (None, 15, SIZES[0])


def test_a_reader_at_the_tail_goes_on_where_it_ended() -> None:
    segment = open_segment(FaultDisk(), existing=False, interval=9999)
    for batch in BATCHES:
        offset = segment.next_offset
        assert segment.read(offset, 1 << 20, segment.size, True) is None
        append(segment, [batch])
        assert text((segment.read(offset, 1 << 20, segment.size, True) or (None,))[0]) == batch.view
    append(segment, [batch_at(30), batch_at(31)])
    found = segment.read(25, 1 << 20, segment.size, True)
    assert found is not None
    assert found[1] == 30
    assert len(text(found[0])) == segment.size - sum(SIZES)


@pytest.mark.parametrize(
    ("timestamp", "start", "found"),
    [
        (0, 0, (100, 10, 0)),
        (91, 0, (100, 10, 0)),
        (90, 11, (90, 11, 0)),
        (101, 0, (200, 16, 0)),
        (101, 17, (150, 17, 0)),
        (151, 17, (200, 20, 0)),
        (240, 0, (240, 24, 0)),
        (241, 0, None),
        (0, 25, None),
    ],
)
def test_the_first_record_at_or_after_a_time_is_found(
    segment: Segment, timestamp: int, start: int, found: tuple[int, int, int] | None
) -> None:
    assert segment.find_offset_by_timestamp(timestamp, start) == found


def test_under_append_time_records_are_found_by_the_time_of_their_batch() -> None:
    records = [Record(0, time, b"key", b"value", []) for time in (500, 700, 600)]
    stamped = parse_batch(build_batch(records, base_offset=10, log_append_time=1000))
    segment = open_segment(FaultDisk(), existing=False)
    append(segment, [stamped])
    assert segment.find_offset_by_timestamp(999, 0) == (1000, 10, -1)
    assert segment.find_offset_by_timestamp(1000, 12) == (1000, 12, -1)
    assert segment.find_offset_by_timestamp(1001, 0) is None


def test_looking_for_a_time_makes_no_records() -> None:
    records = [Record(0, 1000, None, None, [])] * 100_000
    crowded = parse_batch(build_batch(records, base_offset=10, codec=4))
    segment = open_segment(FaultDisk(), existing=False)
    append(segment, [crowded])
    tracemalloc.start()
    try:
        assert segment.find_offset_by_timestamp(1000, 100_000) == (1000, 100_000, -1)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000  # a tenth of what they would take
    finally:
        tracemalloc.stop()


def test_the_time_of_an_older_message_is_that_of_its_header() -> None:
    disk = FaultDisk()
    disk.write_file("/00000000000000000010.log", legacy(10, 1, 70) + legacy(11, 1, 80))
    segment = open_segment(disk, existing=True)
    assert segment.find_offset_by_timestamp(75, 0) == (80, 11, -1)
    assert list(segment.scan_batches(0)) == []


def test_batches_are_scanned_from_the_one_with_the_offset(segment: Segment) -> None:
    for start in (0, 11, 12, 21, 24, 25):
        bases = [batch.base_offset for batch in segment.scan_batches(start)]
        assert bases == [batch.base_offset for batch in BATCHES if batch.last_offset >= start]


def test_how_far_to_look_for_aborted_transactions(segment: Segment) -> None:
    bound = segment.fetch_upper_bound_offset(0, SIZES[0])
    assert bound is None or bound >= BATCHES[1].base_offset
    assert segment.fetch_upper_bound_offset(0, segment.size) is None


def test_an_empty_segment_has_nothing() -> None:
    segment = open_segment(FaultDisk(), existing=False)
    assert segment.read(10, 100, 100, True) is None
    assert list(segment.scan_batches(0)) == []
    assert segment.read_next_offset() == 10
    assert segment.first_batch_timestamp() == -1
    assert segment.largest_timestamp() == 0


def test_a_log_that_lost_its_tail_is_no_end_of_the_world() -> None:
    disk = FaultDisk()
    segment = open_segment(disk, existing=False)
    append(segment, BATCHES)
    fd = disk.open("/00000000000000000010.log")
    disk.truncate(fd, sum(SIZES[:3]) + 5)
    with pytest.raises(CorruptBatch, match="no whole batch"):
        segment.translate_offset(21)


@pytest.mark.parametrize("position", [-1, -(2**31), 2**31 - 1])
def test_an_index_entry_that_cannot_be_true_is_not_followed(position: int) -> None:
    disk = FaultDisk()
    made = open_segment(disk, existing=False)
    append(made, BATCHES)
    made.close()
    disk.write_file("/00000000000000000010.index", struct.pack(">ii", 1, position))
    segment = open_segment(disk, existing=True)
    assert segment.translate_offset(21) == (sum(SIZES[:3]), SIZES[3])
    assert segment.truncate_to(21) == SIZES[3]


# An index is a hint.


INDEX = f"/{10:020d}.index"


def closed_with_thirty() -> tuple[FaultDisk, Segment]:
    """One record a batch, offsets 10 to 39, an index entry for every third of them."""
    disk = FaultDisk()
    made = open_segment(disk, existing=False)
    append(made, [batch_at(offset) for offset in range(10, 40)])
    made.close()
    return disk, open_segment(disk, existing=True)


def entries_of(disk: FaultDisk) -> list[tuple[int, int]]:
    data = disk.read_file(INDEX)
    return list(OffsetIndex.layout.iter_unpack(data))


def with_index(disk: FaultDisk, entries: list[tuple[int, int]]) -> Segment:
    """The segment after a restart, its index saying this."""
    disk.write_file(INDEX, b"".join(OffsetIndex.layout.pack(*entry) for entry in entries))
    return open_segment(disk, existing=True)


@pytest.mark.parametrize("shift", [-70, -1, 1, 13, 70, 1 << 20])
def test_a_read_begins_at_a_batch_wherever_the_index_points(shift: int) -> None:
    disk, whole = closed_with_thirty()
    entries = entries_of(disk)
    assert len(entries) > 3
    expected = [whole.translate_offset(offset) for offset in range(10, 40)]
    wrong = [(offset, max(position + shift, 0)) for offset, position in entries]
    segment = with_index(disk, wrong)
    assert [segment.translate_offset(offset) for offset in range(10, 40)] == expected
    assert with_index(disk, wrong).read_next_offset() == 40
    assert next(with_index(disk, wrong).scan_batches(17)).base_offset == 17


def test_an_entry_that_points_beyond_its_offset_is_not_followed() -> None:
    """The batch there is a batch, but readers of what lies before it would miss that."""
    disk, whole = closed_with_thirty()
    entries = entries_of(disk)
    expected = [whole.translate_offset(offset) for offset in range(10, 40)]
    for ahead in range(1, len(entries)):
        offsets = [offset for offset, _ in entries]
        positions = [position for _, position in entries]
        wrong = list(zip(offsets, positions[ahead:] + positions[-1:] * ahead, strict=True))
        segment = with_index(disk, wrong)
        assert [segment.translate_offset(offset) for offset in range(10, 40)] == expected


@pytest.mark.parametrize("shift", [-70, 1, 70])
def test_a_search_by_time_begins_at_a_batch_wherever_the_index_points(shift: int) -> None:
    disk = FaultDisk()
    made = open_segment(disk, existing=False)
    append(made, [batch_at(offset, timestamp=100 * offset) for offset in range(10, 40)])
    made.close()
    wrong = [(offset, max(position + shift, 0)) for offset, position in entries_of(disk)]
    for offset in range(10, 40):
        segment = with_index(disk, wrong)
        assert segment.find_offset_by_timestamp(100 * offset - 5, 10) == (100 * offset, offset, 0)


def test_a_segment_is_closed_once_its_greatest_time_is_the_last_entry() -> None:
    disk = FaultDisk()
    made = open_segment(disk, existing=False)
    append(made, BATCHES)
    made.flush()
    assert not open_segment(disk, existing=True).is_closed()
    made.close()
    assert open_segment(disk, existing=True).is_closed()
    assert disk.open_count == 0
    disk.write_file(f"/{10:020d}.log", bytes(sum(SIZES)))
    assert not open_segment(disk, existing=True).is_closed()
