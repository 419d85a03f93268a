"""A start refuses what is not its own, with a remedy, and has then changed nothing."""

import errno

import pytest

from broker.data_directories import (
    Identity,
    StartFailed,
    open_directories,
    partition_directories,
    read_identity,
    release,
    write_identity,
)
from storage.log_directory import LogDirectory
from storage.log_dirs import MetaProperties, read_meta_properties, write_meta_properties
from tests.support.fault_disk import FaultDisk

NOW = 1_700_000_000_000


def opened(disk: FaultDisk, *paths: str) -> list[LogDirectory]:
    return open_directories(paths or ("/d1", "/d2"), disk)


def mark(disk: FaultDisk, path: str, node_id: int = 1, cluster_id: str = "c") -> None:
    disk.makedirs(path)
    write_meta_properties(disk, path, MetaProperties(1, node_id, cluster_id, "d" * 22), NOW)


def test_directories_are_made_locked_and_given_back() -> None:
    disk = FaultDisk()
    directories = opened(disk)
    with pytest.raises(StartFailed, match="another directory"):
        opened(disk, "/d2")
    release(directories)
    release(opened(disk))


def test_a_lock_held_elsewhere_gives_the_others_back() -> None:
    disk = FaultDisk()
    held = opened(disk, "/d2")
    with pytest.raises(StartFailed):
        opened(disk)
    release(opened(disk, "/d1"))
    release(held)


def test_an_unusable_directory_is_offline_but_the_first_refuses_the_start(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk = FaultDisk()
    disk.makedirs("/d1")
    disk.fail("mkdir", errno.EACCES)
    directories = opened(disk)
    assert [directory.offline for directory in directories] == [False, True]
    release(directories)
    disk = FaultDisk()
    disk.fail("mkdir", errno.ENOSPC)
    with pytest.raises(StartFailed, match="free some space"):
        opened(disk)


def test_fresh_directories_take_the_configured_number_or_one() -> None:
    disk = FaultDisk()
    directories = opened(disk)
    assert read_identity(directories, None) == (Identity(1, None), directories)
    assert read_identity(directories, 7)[0] == Identity(7, None)


def test_known_directories_tell_who_they_are_and_fresh_ones_are_listed() -> None:
    disk = FaultDisk()
    mark(disk, "/d1", node_id=4)
    directories = opened(disk)
    identity, fresh = read_identity(directories, None)
    assert identity == Identity(4, "c")
    assert [directory.path for directory in fresh] == ["/d2"]
    write_identity(fresh, identity, lambda: "n" * 22, NOW)
    assert read_meta_properties(disk, "/d2") == MetaProperties(1, 4, "c", "n" * 22)


@pytest.mark.parametrize(
    ("node_id", "cluster_id", "configured", "words"),
    [
        (2, "c", None, "node_id"),
        (1, "other", None, "cluster_id"),
        (1, "c", 9, "correct node.id"),
    ],
)
def test_any_disagreement_is_refused(
    node_id: int, cluster_id: str, configured: int | None, words: str
) -> None:
    disk = FaultDisk()
    mark(disk, "/d1")
    mark(disk, "/d2", node_id, cluster_id)
    with pytest.raises(StartFailed, match=words):
        read_identity(opened(disk), configured)


def test_an_unreadable_identity_is_refused() -> None:
    disk = FaultDisk()
    disk.makedirs("/d1")
    disk.write_file("/d1/meta.properties", b"nonsense")
    with pytest.raises(StartFailed, match="restore"):
        read_identity(opened(disk), None)


def test_a_full_disk_refuses_the_identity() -> None:
    disk = FaultDisk()
    directories = opened(disk)
    disk.fail("pwrite", errno.ENOSPC)
    with pytest.raises(StartFailed, match="free some space"):
        write_identity(directories, Identity(1, "c"), lambda: "n" * 22, NOW)


def test_partition_directories_are_found_by_name() -> None:
    disk = FaultDisk()
    disk.makedirs("/d1/t-0")
    disk.makedirs("/d2/t-1")
    disk.makedirs("/d2/notes")
    assert partition_directories(opened(disk)) == ["/d1/t-0", "/d2/t-1"]
