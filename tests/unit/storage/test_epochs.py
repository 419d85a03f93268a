"""The epoch cache answers as Kafka's does."""

import pytest

from storage.epochs import EpochEntry, LeaderEpochCache
from storage.errors import CorruptFileError
from tests.support.fault_disk import FaultDisk
from tests.support.storage_golden import PARTITIONS, disk_with, golden_partition


def cache(*entries: tuple[int, int]) -> LeaderEpochCache:
    disk = FaultDisk()
    disk.mkdir("/d")
    made = LeaderEpochCache(disk, "/d")
    for epoch, start_offset in entries:
        made.assign(epoch, start_offset)
    return made


def test_an_epoch_is_assigned_once() -> None:
    made = cache()
    assert made.latest_epoch == -1
    assert made.earliest is None
    assert made.assign(2, 6)
    assert not made.assign(2, 6)
    assert not made.assign(2, 9)
    assert made.entries() == [EpochEntry(2, 6)]
    assert made.latest_epoch == 2
    assert made.earliest == (2, 6)


@pytest.mark.parametrize(
    ("epoch", "start_offset", "left"),
    [
        (4, 20, [(1, 0), (2, 10), (4, 20)]),
        (4, 15, [(1, 0), (2, 10), (4, 15)]),
        (3, 10, [(1, 0), (3, 10)]),
        (2, 25, [(1, 0), (2, 25)]),
        (0, 30, [(0, 30)]),
        (5, 0, [(5, 0)]),
        (3, 5, [(1, 0), (3, 5)]),
    ],
)
def test_assigning_drops_entries_that_would_not_ascend(
    epoch: int, start_offset: int, left: list[tuple[int, int]]
) -> None:
    made = cache((1, 0), (2, 10), (3, 20))
    if (epoch, start_offset) == (3, 20):
        return
    made.assign(epoch, start_offset)
    assert made.entries() == left


@pytest.mark.parametrize(("epoch", "start_offset"), [(-1, 0), (0, -1)])
def test_negative_entries_are_refused(epoch: int, start_offset: int) -> None:
    with pytest.raises(ValueError, match="invalid leader epoch"):
        cache().assign(epoch, start_offset)


@pytest.mark.parametrize(
    ("epoch", "answer"),
    [
        (-1, (-1, -1)),
        (1, (1, 11)),
        (2, (2, 20)),
        (3, (2, 20)),
        (4, (4, 30)),
        (7, (7, 99)),
        (8, (-1, -1)),
    ],
)
def test_an_epoch_ends_where_the_next_one_starts(epoch: int, answer: tuple[int, int]) -> None:
    made = cache((2, 11), (4, 20), (7, 30))
    assert made.end_offset_for(epoch, 99) == answer


def test_an_empty_cache_knows_no_end() -> None:
    assert cache().end_offset_for(0, 99) == (-1, -1)
    assert cache().end_offset_for(-1, 99) == (-1, -1)


def test_epochs_are_found_by_offset_and_order() -> None:
    made = cache((2, 11), (4, 20), (7, 30))
    assert [made.epoch_for_offset(offset) for offset in (10, 11, 19, 20, 30, 99)] == [
        -1,
        2,
        2,
        4,
        7,
        7,
    ]
    assert [made.previous_epoch(epoch) for epoch in (2, 3, 4, 9)] == [-1, 2, 2, 7]
    assert [made.start_offset_of(epoch) for epoch in (2, 3, 7, 8)] == [11, -1, 30, -1]


@pytest.mark.parametrize(
    ("end_offset", "left"),
    [
        (-1, [(2, 11), (4, 20), (7, 30)]),
        (31, [(2, 11), (4, 20), (7, 30)]),
        (30, [(2, 11), (4, 20)]),
        (20, [(2, 11)]),
        (19, [(2, 11)]),
        (0, []),
    ],
)
def test_truncating_from_the_end_drops_epochs_that_start_there(
    end_offset: int, left: list[tuple[int, int]]
) -> None:
    made = cache((2, 11), (4, 20), (7, 30))
    made.truncate_from_end(end_offset)
    assert made.entries() == left


@pytest.mark.parametrize(
    ("start_offset", "left"),
    [
        (-1, [(2, 11), (4, 20), (7, 30)]),
        (11, [(2, 11), (4, 20), (7, 30)]),
        (10, [(2, 11), (4, 20), (7, 30)]),
        (15, [(2, 15), (4, 20), (7, 30)]),
        (20, [(4, 20), (7, 30)]),
        (99, [(7, 99)]),
    ],
)
def test_truncating_from_the_start_keeps_the_epoch_that_covers_it(
    start_offset: int, left: list[tuple[int, int]]
) -> None:
    made = cache((2, 11), (4, 20), (7, 30))
    made.truncate_from_start(start_offset)
    assert made.entries() == left


def test_clearing_forgets_everything() -> None:
    made = cache((1, 0))
    made.clear()
    assert made.entries() == []
    made.dirty = False
    made.clear()
    assert not made.dirty


@pytest.mark.parametrize("name", PARTITIONS)
def test_kafka_s_file_is_read_and_written_alike(name: str) -> None:
    disk = disk_with(name, "leader-epoch-checkpoint")
    made = LeaderEpochCache(disk, name)
    made.load()
    assert made.latest_epoch == 0
    assert not made.dirty
    made.write()
    assert disk.read_file(made.path) == golden_partition(name)["leader-epoch-checkpoint"]


def test_entries_survive_a_power_cut_once_flushed() -> None:
    disk = FaultDisk()
    disk.mkdir("/d")
    disk.sync_all()
    made = LeaderEpochCache(disk, "/d")
    made.load()
    made.assign(1, 0)
    made.assign(2, 5)
    assert made.dirty
    work = made.flush_work()
    assert work is not None
    assert made.flush_work() is None
    work()
    disk.power_cut()
    again = LeaderEpochCache(disk, "/d")
    again.load()
    assert again.entries() == [(1, 0), (2, 5)]


def test_a_moved_log_has_its_file_elsewhere() -> None:
    made = cache((1, 0))
    made.moved_to("/e")
    assert made.path == "/e/leader-epoch-checkpoint"


@pytest.mark.parametrize("content", [b"0\n1\n1 x\n", b"0\n1\n1\n", b"7\n", b"0\n2\n1 5\n-3 9\n"])
def test_a_file_that_is_none_leaves_the_cache_empty(content: bytes) -> None:
    disk = FaultDisk()
    disk.mkdir("/d")
    made = LeaderEpochCache(disk, "/d")
    made.assign(3, 3)
    disk.write_file(made.path, content)
    with pytest.raises(CorruptFileError):
        made.load()
    assert made.entries() == []


def test_the_entries_of_another_copy_are_taken_over() -> None:
    ours, theirs = LeaderEpochCache(FaultDisk(), "/"), LeaderEpochCache(FaultDisk(), "/")
    theirs.assign(1, 0)
    theirs.assign(4, 7)
    ours.assign(2, 3)
    ours.dirty = False
    ours.adopt(theirs.entries())
    assert ours.entries() == theirs.entries()
    assert ours.dirty
    ours.dirty = False
    ours.adopt(theirs.entries())
    assert not ours.dirty
