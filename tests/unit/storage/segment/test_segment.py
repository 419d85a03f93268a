"""Appending, rolling, cutting, closing and syncing a segment."""

import errno

import pytest

from storage.errors import CorruptFileError, InvalidIndexOffsetError
from storage.segment.file_records import FilePool
from storage.segment.file_set import SegmentFiles, SegmentSettings
from storage.segment.rolling import RollLimits
from storage.segment.segment import Segment
from storage.segment.transaction_index import AbortedEntry
from tests.support.fault_disk import FaultDisk
from tests.support.record_batches import batch_at

SETTINGS = SegmentSettings(100, 400)
LIMITS = RollLimits(1 << 30, 1 << 40, 0)
NAMES = [f"00000000000000000000{kind}" for kind in (".index", ".log", ".timeindex")]


def new_segment(disk: FaultDisk, settings: SegmentSettings = SETTINGS) -> Segment:
    if not disk.exists("/d"):
        disk.mkdir("/d")
    return Segment.open(SegmentFiles(disk, FilePool(4)), "/d", 0, settings, 7, existing=False)


def reopen(disk: FaultDisk, settings: SegmentSettings = SETTINGS) -> Segment:
    return Segment.open(SegmentFiles(disk, FilePool(4)), "/d", 0, settings, 7, existing=True)


def append(segment: Segment, base_offset: int, count: int = 1, timestamp: int = 1000) -> int:
    batch = batch_at(base_offset, count, timestamp=timestamp)
    return segment.append(batch.view, batch.last_offset, batch.max_timestamp, batch.last_offset)


def filled(count: int = 10, settings: SegmentSettings = SETTINGS) -> tuple[FaultDisk, Segment]:
    disk = FaultDisk()
    segment = new_segment(disk, settings)
    for offset in range(count):
        append(segment, offset, timestamp=1000 + offset)
    return disk, segment


def test_a_new_segment_has_an_empty_log_and_no_leftovers() -> None:
    disk, segment = filled()
    segment.append_aborted(AbortedEntry(1, 0, 5, 6))
    segment.close()
    segment = new_segment(disk)
    assert disk.listdir("/d") == ["00000000000000000000.log"]
    assert segment.size == disk.file_size("/d/00000000000000000000.log") == 0
    assert segment.created_ms == 7
    assert segment.suffix == ""


def test_positions_follow_each_other() -> None:
    _, segment = filled(0)
    first = append(segment, 0)
    second = append(segment, 1, 5)
    assert first == 0
    assert second == batch_at(0).size
    assert segment.next_offset == 6
    assert repr(segment) == f"Segment(base_offset=0, size={segment.size})"


@pytest.mark.parametrize("last_offset", [-1, 2**31])
def test_an_offset_that_does_not_fit_is_not_written(last_offset: int) -> None:
    disk, segment = filled(0)
    batch = batch_at(last_offset)
    with pytest.raises(InvalidIndexOffsetError):
        segment.append(batch.view, last_offset, 0, last_offset)
    with pytest.raises(InvalidIndexOffsetError):
        segment.append_many([batch], batch.view)
    assert disk.file_size("/d/00000000000000000000.log") == 0


def test_a_failed_write_leaves_the_segment_where_it_was() -> None:
    disk, segment = filled(3)
    before = (segment.size, segment.next_offset)
    disk.fail("pwrite", errno.ENOSPC, path_ends=".log")
    with pytest.raises(OSError, match="injected"):
        append(segment, 3)
    assert (segment.size, segment.next_offset) == before
    append(segment, 3)
    assert [batch.base_offset for batch in segment.scan_batches(0)] == [0, 1, 2, 3]


def test_an_existing_segment_is_appended_to_as_if_it_had_stayed_open() -> None:
    disk, segment = filled(5)
    segment.close()
    again = reopen(disk)
    for offset in range(5, 10):
        append(again, offset, timestamp=1000 + offset)
    assert again.read_next_offset() == 10
    assert again.max_timestamp_so_far == again.largest_timestamp() == 1009
    assert again.offset_of_max_timestamp == 9
    assert again.first_batch_timestamp() == 1000
    assert [batch.base_offset for batch in again.scan_batches(0)] == list(range(10))


def test_a_full_index_asks_for_a_new_segment() -> None:
    _, segment = filled(0, SegmentSettings(0, 36))
    reasons = []
    for offset in range(4):
        reasons.append(segment.should_roll(1, 1000 + offset, offset, 0, LIMITS))
        if reasons[-1] is None:
            append(segment, offset, timestamp=1000 + offset)
    assert reasons == [None, None, None, "time index"]
    _, segment = filled(0, SegmentSettings(0, 16))
    append(segment, 0)
    assert segment.should_roll(1, 1000, 1, 0, LIMITS) == "time index"
    _, segment = filled(0, SegmentSettings(0, 40))
    for offset in range(6):
        assert segment.should_roll(1, 1000, offset, 0, LIMITS) is None
        append(segment, offset)
    assert segment.should_roll(1, 1000, 6, 0, LIMITS) == "offset index"


def test_batches_beyond_a_full_index_are_found_all_the_same() -> None:
    _, segment = filled(0, SegmentSettings(0, 24))
    batches = [batch_at(offset, timestamp=1000 + offset) for offset in range(20)]
    segment.append_many(batches, memoryview(b"".join(bytes(batch.view) for batch in batches)))
    assert segment.offset_index.count == 1
    assert segment.translate_offset(19) == (segment.size - batches[0].size, batches[0].size)
    assert segment.translate_offset(12) == (batches[0].size * 12, batches[0].size)
    segment.close()
    assert segment.time_index.last_entry == (1019, 19)


def test_rolling_is_asked_of_existing_segments_too() -> None:
    disk, segment = filled(3)
    segment.close()
    again = reopen(disk)
    limits = RollLimits(again.size + 10, 100, 0)
    assert again.should_roll(10, 1100, 3, 0, limits) is None
    assert again.should_roll(11, 1100, 3, 0, limits) == "size"
    assert again.should_roll(10, 1101, 3, 0, limits) == "time"


def test_records_without_times_fall_back_to_the_clock() -> None:
    disk = FaultDisk()
    disk.now_ms = 5555
    segment = new_segment(disk)
    append(segment, 0, timestamp=-1)
    assert segment.max_timestamp_so_far == -1
    assert segment.largest_timestamp() == segment.last_modified_ms() == 5555
    assert segment.should_roll(1, -1, 1, 108, RollLimits(1 << 30, 100, 0)) == "time"
    segment.close()
    assert disk.file_size("/d/00000000000000000000.timeindex") == 0


@pytest.mark.parametrize("state", ["active", "closed", "reopened"])
@pytest.mark.parametrize("offset", [0, 1, 5, 9, 10])
def test_truncation_drops_the_batch_with_the_offset_and_all_after(offset: int, state: str) -> None:
    disk, segment = filled(10)
    whole = segment.size
    if state != "active":
        segment.close()
    if state == "reopened":
        segment = reopen(disk)
    removed = segment.truncate_to(offset, 99)
    assert segment.size == whole - removed == whole // 10 * offset
    assert segment.created_ms == (7 if offset else 99)
    assert segment.read_next_offset() == offset
    assert segment.max_timestamp_so_far == (999 + offset if offset else -1)
    assert segment.read(offset, 100, segment.size, True) is None
    append(segment, offset, timestamp=5000)
    segment.close()
    assert disk.file_size("/d/00000000000000000000.log") == segment.size
    again = reopen(disk)
    assert [batch.base_offset for batch in again.scan_batches(0)] == [*range(offset), offset]
    for start in range(offset + 1):
        assert again.translate_offset(start) == (whole // 10 * start, whole // 10)


def test_truncating_inside_a_batch_drops_it_whole() -> None:
    _, segment = filled(1)
    append(segment, 1, 5)
    segment.truncate_to(3)
    assert segment.size == batch_at(0).size
    assert segment.next_offset == 3


def test_truncation_takes_markers_and_slices_with_it() -> None:
    _, segment = filled(10)
    segment.append_aborted(AbortedEntry(1, 0, 5, 6))
    found = segment.read(6, 1 << 20, segment.size, True)
    assert found is not None
    assert found[0] is not None
    segment.truncate_to(5)
    assert not found[0].intact
    assert segment.transaction_index.entries() == []
    found[0].release()


def test_a_closed_segment_has_all_its_files_and_no_descriptor() -> None:
    disk, segment = filled(10)
    segment.close()
    assert sorted(disk.listdir("/d")) == NAMES
    assert disk.open_count == 0
    segment.sanity_check()
    for name in (NAMES[2], NAMES[0]):
        disk.unlink(f"/d/{name}")
        with pytest.raises(CorruptFileError, match="is missing"):
            reopen(disk).sanity_check()


def test_sealing_what_was_only_opened_changes_no_byte() -> None:
    disk, segment = filled(10)
    segment.close()
    before = {name: disk.read_file(f"/d/{name}") for name in NAMES}
    reopen(disk).on_become_inactive()
    assert {name: disk.read_file(f"/d/{name}") for name in NAMES} == before


def test_closing_what_was_only_opened_touches_nothing() -> None:
    disk, segment = filled(10)
    segment.close()
    changes = disk.changes
    reopen(disk).close()
    again = reopen(disk)
    again.read(3, 10, again.size, True)
    again.close()
    assert disk.changes == changes


def test_everything_appended_survives_a_power_cut_once_flushed() -> None:
    disk = FaultDisk()
    disk.mkdir("/d")
    segment = new_segment(disk)
    disk.sync_all()
    for offset in range(10):
        append(segment, offset)
    segment.append_aborted(AbortedEntry(1, 0, 5, 6))
    disk.fsync_dir("/d")
    segment.flush()
    disk.fsync_dir("/d")
    append(segment, 10)
    disk.power_cut()
    assert disk.file_size("/d/00000000000000000000.txnindex") == 34
    assert [batch.base_offset for batch in reopen(disk).scan_batches(0)] == list(range(10))


def test_flush_work_outlives_the_segment_s_own_descriptors() -> None:
    disk, segment = filled(10)
    work = segment.flush_work()
    segment.close()
    assert disk.open_count == 3
    work()
    assert disk.open_count == 0
    segment.flush_work().discard()
    assert disk.open_count == 0


def test_flush_work_that_cannot_be_made_leaves_nothing_open() -> None:
    disk, segment = filled(10)
    segment.close()
    disk.fail("open", errno.EIO, path_ends=".timeindex")
    with pytest.raises(OSError, match="injected"):
        segment.flush_work()
    assert disk.open_count == 0


def test_a_failed_sync_closes_its_descriptors() -> None:
    disk, segment = filled(10)
    work = segment.flush_work()
    segment.close()
    disk.fail("fsync", errno.EIO)
    with pytest.raises(OSError, match="injected"):
        work()
    assert disk.open_count == 0


def test_preallocated_space_is_given_back() -> None:
    disk = FaultDisk()
    segment = new_segment(disk, SegmentSettings(100, 400, 1 << 16))
    assert disk.file_size("/d/00000000000000000000.log") == 1 << 16
    append(segment, 0)
    assert disk.file_size("/d/00000000000000000000.log") == 1 << 16
    segment.on_become_inactive()
    assert disk.file_size("/d/00000000000000000000.log") == segment.size


def test_files_are_renamed_together_and_removed() -> None:
    disk, segment = filled(10)
    segment.append_aborted(AbortedEntry(1, 0, 5, 6))
    segment.close()
    found = segment.read(0, 10, segment.size, True)
    assert found is not None
    segment.rename_to_deleted()
    assert segment.suffix == ".deleted"
    assert sorted(disk.listdir("/d")) == sorted(
        name + ".deleted" for name in [*NAMES, "00000000000000000000.txnindex"]
    )
    assert segment.read(5, 10, segment.size, True) is not None
    segment.close_files()
    segment.delete_files()
    assert disk.listdir("/d") == []
    assert found[0] is not None
    assert found[0].read() == bytes(batch_at(0).view)


def test_a_segment_follows_its_directory() -> None:
    disk, segment = filled(3)
    segment.append_aborted(AbortedEntry(1, 0, 5, 6))
    assert segment.read(0, 10, segment.size, True) is not None
    disk.rename("/d", "/e")
    segment.moved_to("/e")
    append(segment, 3)
    segment.close()
    assert len(disk.listdir("/e")) == 4
    assert not disk.exists("/d")


def test_a_directory_that_moved_early_finds_its_indexes_later() -> None:
    disk, segment = filled(3)
    segment.close()
    again = reopen(disk)
    disk.rename("/d", "/e")
    again.moved_to("/e")
    assert again.translate_offset(2) is not None
