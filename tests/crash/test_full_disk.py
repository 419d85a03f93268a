"""A disk that is full when it is written to, for each kind of write: offline, and nothing lost."""

import errno

import pytest

from tests.crash.engine import CUT, KILL, start_again
from tests.crash.failing_disk import go_on
from tests.crash.lives import LIVES
from tests.crash.machine import Machine
from tests.support.fault_disk import FaultDisk

pytestmark = pytest.mark.usefixtures("quiet")

WRITES = {
    "an append": ("pwrite", ".log", "appends"),
    "an abort": ("pwrite", ".txnindex", "transactions"),
    "a new segment": ("create", "12.log", "retention"),
    "offset entries": ("pwrite", ".index", "appends"),
    "time entries": ("pwrite", ".timeindex", "appends"),
    "a snapshot": ("pwrite", ".snapshot", "appends"),
    "the identity of a log": ("pwrite", "partition.metadata", "topics"),
    "leader epochs": ("pwrite", "leader-epoch-checkpoint.tmp", "appends"),
    "recovery points": ("pwrite", "recovery-point-offset-checkpoint.tmp", "appends"),
    "log starts": ("pwrite", "log-start-offset-checkpoint.tmp", "retention"),
    "high watermarks": ("pwrite", "replication-offset-checkpoint.tmp", "retention"),
    "the clean mark": ("pwrite", ".kafka_cleanshutdown.tmp", "appends"),
    "a new log": ("mkdir", "orders-0", "topics"),
    "a deletion": ("rename", "-delete", "topics"),
    "a segment's end": ("replace", ".deleted", "retention"),
    "a truncation": ("truncate", ".log", "truncation"),
    "a flush": ("fsync", ".log", "group-commit"),
    "new names": ("fsync_dir", "orders-0", "group-commit"),
}


class FullDisk(FaultDisk):
    """A disk that tells whether the call it was to fail has come."""

    @property
    def is_full_for(self) -> int:
        """How many calls are still to fail."""
        return len(self._failures)


@pytest.mark.parametrize("way", [KILL, CUT])
@pytest.mark.parametrize(("call", "path_ends", "name"), WRITES.values(), ids=WRITES)
def test_a_full_disk_loses_nothing_that_was_acknowledged(
    call: str, path_ends: str, name: str, way: str
) -> None:
    disk = FullDisk()
    machine = Machine(disk, LIVES[name].setup)
    disk.fail(call, errno.ENOSPC, path_ends=path_ends)
    go_on(machine, LIVES[name], until_failed=True)
    assert not disk.is_full_for, f"nothing calls {call} on …{path_ends}"
    disk.restart()
    if way == CUT or call == "fsync":
        disk.power_cut()
    start_again(machine, disk, killed=way == KILL and call != "fsync")
