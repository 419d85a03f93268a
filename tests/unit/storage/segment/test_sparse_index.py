"""Where index entries are kept: the file's content never depends on it."""

import struct

import pytest

from storage.errors import CorruptFileError
from storage.segment.file_records import FilePool
from storage.segment.offset_index import OffsetIndex
from storage.segment.sparse_index import SparseIndex
from tests.support.fault_disk import FaultDisk

LARGE = 1 << 20


def index(disk: FaultDisk) -> OffsetIndex:
    return OffsetIndex(disk, FilePool(2), "/i", 0, LARGE)


def filled(count: int) -> tuple[FaultDisk, OffsetIndex]:
    disk = FaultDisk()
    made = index(disk)
    for number in range(count):
        made.append(number * 2, number * 100)
    return disk, made


def test_a_full_tail_moves_to_the_file() -> None:
    disk, made = filled(1300)
    assert disk.file_size("/i") == 1024 * 8
    assert made.count == 1300
    assert made.raw_entries() == [(number * 2, number * 100) for number in range(1300)]


@pytest.mark.parametrize("count", [0, 1, 511, 512, 513, 3000])
def test_every_floor_is_found_wherever_it_is_kept(count: int) -> None:
    _, made = filled(count)
    for target in range(-1, count * 2 + 2, 7):
        slot = min(target // 2, count - 1)
        expected = (slot, slot * 2, slot * 100) if slot >= 0 else (-1, 0, 0)
        assert made.floor(target, 0) == expected
        assert made.floor(target, 0, private=True) == expected


def test_the_file_written_out_is_an_array_of_entries() -> None:
    disk, made = filled(600)
    made.write_out()
    made.write_out()
    content = b"".join(struct.pack(">ii", number * 2, number * 100) for number in range(600))
    assert disk.read_file("/i") == content
    again = index(disk)
    assert again.count == 600
    assert again.last_offset == 1198


def test_an_empty_index_has_a_file_once_written_out() -> None:
    disk, made = filled(0)
    assert not disk.exists("/i")
    made.write_out()
    assert disk.read_file("/i") == b""


@pytest.mark.parametrize("kept", [0, 100, 512, 550, 600])
def test_cut_entries_are_gone_from_file_and_memory(kept: int) -> None:
    disk, made = filled(600)
    made.keep_first(kept)
    assert made.count == kept
    made.write_out()
    assert disk.file_size("/i") == kept * 8


def test_what_a_crash_left_in_the_file_is_replaced_when_the_new_entries_are_written() -> None:
    disk = FaultDisk()
    disk.write_file("/i", bytes(8000))
    made = index(disk)
    made.restart()
    for number in range(1, 700):
        made.append(number, number)
    assert (made.count, disk.read_file("/i")) == (699, bytes(8000))
    made.write_out()
    assert disk.file_size("/i") == 699 * 8
    made.restart()
    made.write_out()
    assert disk.file_size("/i") == 0


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        (((1, 2), (3, 4)), None),
        ((), None),
        (((1, 2), (-3, 4)), "entries go back"),
        (((1, 2), (3, 1)), "entries go back"),
        (((-1, 2), (3, 4)), "entries go back"),
        (((1, 2), (3, 90)), "outside the 80 bytes"),
    ],
)
def test_an_index_that_cannot_be_right_is_told(
    entries: tuple[tuple[int, int], ...], problem: str | None
) -> None:
    disk = FaultDisk()
    disk.write_file("/i", b"".join(OffsetIndex.layout.pack(*entry) for entry in entries))
    made = index(disk)

    def look() -> None:
        made.sanity_check()
        made.check_within(80)

    if problem is None:
        look()
        return
    with pytest.raises(CorruptFileError, match=problem):
        look()


def test_an_index_of_a_broken_length_is_told() -> None:
    disk = FaultDisk()
    disk.write_file("/i", bytes(12))
    with pytest.raises(CorruptFileError, match="12 bytes are no whole number"):
        index(disk).sanity_check()


def test_a_worker_gets_a_descriptor_of_what_was_written_out() -> None:
    disk, made = filled(3)
    fd = made.duplicate()
    assert disk.size(fd) == 24
    disk.close(fd)


def test_a_renamed_index_goes_on() -> None:
    disk, made = filled(600)
    made.floor(3, 0)
    disk.rename("/i", "/j")
    made.moved_to("/j")
    made.close()
    assert made.path == "/j"
    assert made.floor(3, 0) == (1, 2, 100)
    assert isinstance(made, SparseIndex)
