"""What a crash left half done is finished before segments are opened."""

import pytest

from protocol.records.builder import build_batch
from storage.log.tidying import tidy
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import records


def name(base: int, kind: str) -> str:
    return f"{base:020d}.{kind}"


@pytest.fixture
def disk() -> FaultDisk:
    disk = FaultDisk()
    disk.mkdir("/log")
    return disk


def fill(disk: FaultDisk, *names: str, data: bytes = b"") -> None:
    for each in names:
        disk.write_file(f"/log/{each}", data)


def test_whole_segments_and_snapshots_are_listed(disk: FaultDisk) -> None:
    for base in (0, 10):
        fill(disk, name(base, "log"), name(base, "index"), name(base, "timeindex"))
    fill(disk, name(10, "snapshot"), name(20, "log"), "leader-epoch-checkpoint")
    found = tidy(disk, "/log")
    assert (found.base_offsets, found.snapshots) == ([0, 10, 20], [10])
    assert found.unindexed == {20}


def test_deleted_and_unfinished_files_are_removed(disk: FaultDisk) -> None:
    fill(disk, name(0, "log.deleted"), name(0, "index.deleted"), name(5, "snapshot.deleted"))
    fill(disk, name(10, "log.cleaned"), name(10, "log.swap"), name(20, "log.swap"))
    fill(disk, name(10, "log"), name(20, "log"))
    assert tidy(disk, "/log").base_offsets == [10, 20]
    assert sorted(disk.listdir("/log")) == [name(10, "log"), name(20, "log")]


def test_an_index_without_its_log_is_removed(disk: FaultDisk) -> None:
    fill(disk, name(0, "index"), name(0, "timeindex"), name(0, "txnindex"), name(7, "snapshot"))
    assert tidy(disk, "/log") == ([], [7], frozenset())
    assert disk.listdir("/log") == [name(7, "snapshot")]


def test_a_swap_takes_the_place_of_all_it_covers(disk: FaultDisk) -> None:
    cleaned = build_batch(records([b"a"]), base_offset=3) + build_batch(
        records([b"b"]), base_offset=14
    )
    fill(disk, name(0, "log.swap"), data=bytes(cleaned))
    fill(disk, name(0, "index.swap"), name(0, "timeindex.swap"))
    for base in (0, 10, 15):
        fill(disk, name(base, "log"), name(base, "index"), name(base, "timeindex"), data=b"old")
    found = tidy(disk, "/log")
    assert (found.base_offsets, found.unindexed) == ([0, 15], frozenset())
    assert disk.read_file(f"/log/{name(0, 'log')}") == bytes(cleaned)


def test_a_swap_without_batches_leaves_no_index_of_what_it_replaces(disk: FaultDisk) -> None:
    fill(disk, name(0, "log.swap"), name(0, "index.swap"), name(0, "timeindex.swap"))
    fill(disk, name(0, "log"), name(0, "index"), name(0, "timeindex"), name(0, "txnindex"))
    assert tidy(disk, "/log").base_offsets == [0]
    assert not disk.exists(f"/log/{name(0, 'txnindex')}")
