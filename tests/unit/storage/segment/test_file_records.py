"""Descriptors are few, shared and never closed under anyone."""

import errno

import pytest

from storage.segment.file_records import FilePool, PooledFile
from tests.support.fault_disk import FaultDisk


def files(disk: FaultDisk, pool: FilePool, count: int) -> list[PooledFile]:
    for number in range(count):
        disk.write_file(f"/{number}", str(number).encode() * 10)
    return [PooledFile(disk, pool, f"/{number}") for number in range(count)]


def test_a_pool_holds_at_least_one_file() -> None:
    with pytest.raises(ValueError, match="cannot hold"):
        FilePool(0)


def test_no_more_than_the_limit_are_open() -> None:
    disk, pool = FaultDisk(), FilePool(3)
    for file in files(disk, pool, 10):
        file.open()
        assert disk.open_count <= 3
    assert pool.open_count == 3


def test_files_in_use_are_spared() -> None:
    disk, pool = FaultDisk(), FilePool(2)
    hot, *cold = files(disk, pool, 6)
    fd = hot.open()
    for file in cold:
        file.open()
        hot.used = True
    assert hot.fd == fd


def test_a_file_is_opened_again_when_needed() -> None:
    disk, pool = FaultDisk(), FilePool(1)
    first, second = files(disk, pool, 2)
    first.open()
    second.open()
    assert first.fd == -1
    assert disk.pread(first.open(), 1, 0) == b"0"
    assert second.fd == -1


def test_a_slice_outlives_eviction_closing_and_deletion() -> None:
    disk, pool = FaultDisk(), FilePool(1)
    first, second = files(disk, pool, 2)
    kept = first.slice(2, 4)
    other = first.slice(0, 1)
    second.open()
    second.close()
    disk.unlink("/0")
    assert kept.read() == b"0000"
    assert kept.intact
    other.release()
    kept.release()
    kept.release()
    assert disk.open_count == 0
    assert kept.fd == -1


def test_a_slice_knows_when_its_bytes_were_cut() -> None:
    disk, pool = FaultDisk(), FilePool(2)
    (file,) = files(disk, pool, 1)
    slices = [file.slice(0, 4), file.slice(0, 8)]
    file.truncate(6)
    assert [part.intact for part in slices] == [True, False]
    slices.append(file.slice(0, 6))
    file.truncate(3)
    slices.append(file.slice(0, 3))
    assert [part.intact for part in slices] == [False, False, False, True]


def test_closing_twice_and_closing_what_was_never_open_is_fine() -> None:
    disk, pool = FaultDisk(), FilePool(2)
    (file,) = files(disk, pool, 1)
    file.close()
    file.open()
    file.close()
    file.close()
    assert disk.open_count == pool.open_count == 0


def test_running_out_of_descriptors_makes_room_and_tries_again() -> None:
    disk, pool = FaultDisk(), FilePool(100)
    made = files(disk, pool, 5)
    for file in made[:4]:
        file.open()
    disk.fail("open", errno.EMFILE)
    made[4].open()
    assert pool.open_count == 3
    disk.fail("open", errno.EIO)
    made[4].close()
    with pytest.raises(OSError, match="injected"):
        made[4].open()


def test_a_duplicate_needs_no_place_in_the_pool() -> None:
    disk, pool = FaultDisk(), FilePool(1)
    first, second = files(disk, pool, 2)
    fd = first.duplicate()
    assert pool.open_count == 0
    first.open()
    other = first.duplicate()
    second.open()
    for number in (fd, other):
        assert disk.pread(number, 1, 0) == b"0"
        disk.close(number)


def test_evicting_more_than_there_are_empties_the_pool() -> None:
    disk, pool = FaultDisk(), FilePool(3)
    for file in files(disk, pool, 3):
        file.open()
    pool.evict(9)
    assert disk.open_count == 0
