"""Directories out of use are removed when their time has come."""

from storage.log_directory import LogDirectory
from storage.pending_deletions import PendingDeletions
from tests.support.fault_disk import FaultDisk


def test_what_is_due_is_removed_once() -> None:
    disk = FaultDisk()
    disk.makedirs("/a/x-0.1-delete")
    disk.makedirs("/a/y-0.1-delete")
    directory = LogDirectory(disk, "/a")
    deletions = PendingDeletions()
    deletions.add(directory, "/a/x-0.1-delete", 100)
    deletions.add(directory, "/a/y-0.1-delete", 200)
    job = deletions.later(50)
    assert job.delay_ms == 50
    assert job.plan(99) == []
    for work in job.plan(100):
        work.work()
    assert disk.listdir("/a") == ["y-0.1-delete"]
    assert job.plan(100) == []
    assert len(deletions) == 1


def test_nothing_is_removed_below_a_failed_directory() -> None:
    disk = FaultDisk()
    directories = [LogDirectory(disk, path) for path in ("/a", "/b")]
    deletions = PendingDeletions()
    for directory in directories:
        deletions.add(directory, f"{directory.path}/x-0.1-delete", 0)
    deletions.forget(directories[0])
    directories[1].offline = True
    assert deletions.plan(0) == []
    assert len(deletions) == 0
