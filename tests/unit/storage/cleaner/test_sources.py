"""Batches are believed only when they are right."""

import pytest

from protocol.records.builder import build_batch
from protocol.records.record import Record
from storage.cleaner.order import CleaningOrder, Source, Uncleanable
from storage.cleaner.sources import (
    aborted_transactions,
    index_bytes,
    position_before,
    read_batches,
)
from storage.filenames import LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX, segment_path
from storage.segment.file_set import SegmentSettings
from storage.segment.offset_index import OffsetIndex
from storage.segment.transaction_index import AbortedEntry, TransactionIndex
from tests.support.fault_disk import FaultDisk


def order(*sources: Source, later: tuple[int, ...] = (), io_bytes: int = 4096) -> CleaningOrder:
    settings = SegmentSettings(100, 1024)
    return CleaningOrder(
        "/log", sources, later, 0, {}, 0, 0, 1 << 20, settings, io_bytes, 10, 9, bytes(16)
    )


def batch(offset: int, value: bytes = b"v", count: int = 1) -> bytes:
    records = [Record(0, 0, b"k", value, [])] * count
    return bytes(build_batch(records, base_offset=offset))


def disk_with(data: bytes) -> FaultDisk:
    disk = FaultDisk()
    disk.mkdir("/log")
    disk.write_file(segment_path("/log", 10, LOG), data)
    return disk


def offsets(data: bytes, end_offset: int = 100, io_bytes: int = 4096) -> list[tuple[int, int]]:
    source = Source(10, end_offset, len(data))
    disk = disk_with(data)
    found = [
        (position, one.base_offset)
        for position, one in read_batches(disk, order(source, io_bytes=io_bytes), source)
    ]
    assert disk.open_count == 0
    return found


@pytest.mark.parametrize("io_bytes", [1, 61, 70, 100, 4096])
def test_every_batch_comes_with_its_position_whatever_is_read_at_a_time(io_bytes: int) -> None:
    data = batch(10) + batch(11, b"x" * 500) + batch(20, count=3)
    positions = [0, len(batch(10)), len(batch(10) + batch(11, b"x" * 500))]
    assert offsets(data, io_bytes=io_bytes) == list(zip(positions, [10, 11, 20], strict=True))
    assert offsets(b"") == []


def wrong(data: bytes, end_offset: int = 100) -> tuple[int, str]:
    with pytest.raises(Uncleanable) as caught:
        offsets(data, end_offset)
    assert caught.value.path == segment_path("/log", 10, LOG)
    return caught.value.position, caught.value.reason


def test_every_flipped_bit_that_a_checksum_covers_is_met() -> None:
    first, second = batch(10), batch(11)
    for at in range(16, len(second)):
        damaged = bytearray(first + second)
        damaged[len(first) + at] ^= 0x10
        assert wrong(bytes(damaged))[0] == len(first)


def test_offsets_that_go_back_or_leave_the_segment_are_wrong() -> None:
    assert "not within [12, 100)" in wrong(batch(10, count=2) + batch(11))[1]
    assert wrong(batch(9))[0] == 0
    assert wrong(batch(10) + batch(99, count=2)) == (
        len(batch(10)),
        "offsets 99 to 100 are not within [11, 100)",
    )


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_batch_that_is_cut_short_is_wrong(cut: int) -> None:
    assert wrong(batch(10) + batch(11)[:-cut])[0] == len(batch(10))


def test_a_file_shorter_than_the_loop_knew_is_wrong() -> None:
    source = Source(10, 100, 500)
    with pytest.raises(Uncleanable):
        list(read_batches(disk_with(batch(10)), order(source), source))


def test_messages_of_old_formats_are_left_as_they_are() -> None:
    old = (10).to_bytes(8, "big") + (60).to_bytes(4, "big") + bytes(4) + b"\1" + bytes(55)
    assert "message format 1" in wrong(old)[1]


def place(data: bytes, entries: list[tuple[int, int]], offset: int) -> int:
    disk = disk_with(data)
    content = b"".join(OffsetIndex.layout.pack(*entry) for entry in entries)
    disk.write_file(segment_path("/log", 10, OFFSET_INDEX), content)
    source = Source(10, 100, len(data))
    return position_before(disk, order(source), source, offset)


def test_reading_begins_where_the_index_says_if_a_batch_is_there() -> None:
    data = batch(10) + batch(11) + batch(12)
    size = len(batch(10))
    entries = [(1, size), (2, 2 * size)]
    assert [place(data, entries, offset) for offset in (10, 11, 12, 50)] == [
        0,
        size,
        2 * size,
        2 * size,
    ]
    assert place(data, [], 12) == 0


@pytest.mark.parametrize("entry", [(1, 81), (1, 3), (0, 70), (1, -5), (1, 1 << 30)])
def test_an_entry_that_no_batch_confirms_is_not_believed(entry: tuple[int, int]) -> None:
    assert place(batch(10) + batch(11) + batch(12), [entry], 50) == 0


def test_without_an_index_reading_begins_at_the_front() -> None:
    source = Source(10, 100, 80)
    assert position_before(disk_with(batch(10)), order(source), source, 50) == 0


def test_aborted_transactions_are_looked_for_in_later_segments_until_none_can_follow() -> None:
    disk = disk_with(b"")

    def put(base_offset: int, *entries: AbortedEntry) -> None:
        path = segment_path("/log", base_offset, TRANSACTION_INDEX)
        index = TransactionIndex(disk, path, base_offset)
        for entry in entries:
            index.append(entry)

    within, across = AbortedEntry(1, 11, 13, 14), AbortedEntry(2, 15, 30, 15)
    after, never = AbortedEntry(3, 31, 33, 34), AbortedEntry(4, 12, 50, 51)
    put(10, within)
    put(20, across, after)
    put(40, never)
    wanted = order(Source(10, 20, 0), later=(20, 40))
    assert aborted_transactions(disk, wanted) == [within, across]


def test_an_index_of_transactions_that_cannot_be_read_is_no_ground_to_drop_anything() -> None:
    disk = disk_with(b"")
    disk.write_file(segment_path("/log", 10, TRANSACTION_INDEX), b"123")
    with pytest.raises(Uncleanable):
        aborted_transactions(disk, order(Source(10, 20, 0)))


def test_lengths_of_indexes_are_those_of_their_files() -> None:
    disk = disk_with(b"")
    source = Source(10, 20, 0)
    assert index_bytes(disk, order(source), source) == (0, 0)
    disk.write_file(segment_path("/log", 10, OFFSET_INDEX), bytes(16))
    disk.write_file(segment_path("/log", 10, TIME_INDEX), bytes(24))
    assert index_bytes(disk, order(source), source) == (16, 24)
