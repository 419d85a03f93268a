"""Whatever fails on a drive names the log directory that has to go offline."""

import errno
from collections.abc import Callable

import pytest

from runtime.disk import Disk
from storage.errors import StorageError
from storage.log_dir_disk import LogDirDisk
from tests.support.fault_disk import FaultDisk

CALLS: dict[str, Callable[[Disk, int], object]] = {
    "open": lambda disk, fd: disk.open("/d/none"),
    "close": lambda disk, fd: disk.close(-1),
    "dup": lambda disk, fd: disk.dup(-1),
    "pread": lambda disk, fd: disk.pread(-1, 1, 0),
    "pwrite": lambda disk, fd: disk.pwrite(-1, b"x", 0),
    "size": lambda disk, fd: disk.size(-1),
    "truncate": lambda disk, fd: disk.truncate(-1, 0),
    "fsync": lambda disk, fd: disk.fsync(-1),
    "read_file": lambda disk, fd: disk.read_file("/d/none"),
    "write_file": lambda disk, fd: disk.write_file("/d/none/x", b""),
    "listdir": lambda disk, fd: disk.listdir("/d/none"),
    "file_size": lambda disk, fd: disk.file_size("/d/none"),
    "mkdir": lambda disk, fd: disk.mkdir("/d"),
    "makedirs": lambda disk, fd: disk.makedirs("/d/file/x"),
    "rename": lambda disk, fd: disk.rename("/d/none", "/d/x"),
    "replace": lambda disk, fd: disk.replace("/d/none", "/d/x"),
    "unlink": lambda disk, fd: disk.unlink("/d/none"),
    "rmtree": lambda disk, fd: disk.rmtree("/d/none"),
    "fsync_dir": lambda disk, fd: disk.fsync_dir("/d/none"),
    "mtime_ms": lambda disk, fd: disk.mtime_ms("/d/none"),
    "set_mtime": lambda disk, fd: disk.set_mtime("/d/none", 0),
    "lock": lambda disk, fd: disk.lock("/d/none/x"),
}


@pytest.fixture
def fault() -> FaultDisk:
    disk = FaultDisk()
    disk.mkdir("/d")
    disk.write_file("/d/file", b"content")
    return disk


@pytest.mark.parametrize("name", CALLS)
def test_a_failing_call_takes_the_directory_offline(name: str, fault: FaultDisk) -> None:
    with pytest.raises(StorageError) as raised:
        CALLS[name](LogDirDisk(fault, "/d"), 0)
    assert raised.value.directory == "/d"
    assert isinstance(raised.value.cause, OSError)


@pytest.mark.parametrize("name", ["exists", "isdir"])
def test_a_drive_that_does_not_say_whether_a_file_is_there_does_too(
    name: str, fault: FaultDisk
) -> None:
    fault.fail_call(1, errno.EIO)
    with pytest.raises(StorageError, match="looking for /d/file"):
        getattr(LogDirDisk(fault, "/d"), name)("/d/file")


def test_a_failing_usage_does_too(fault: FaultDisk) -> None:
    fault.fail("usage", errno.EIO)
    with pytest.raises(StorageError):
        LogDirDisk(fault, "/d").usage("/d")


def test_what_works_is_passed_on(fault: FaultDisk) -> None:
    disk = LogDirDisk(fault, "/d")
    fd = disk.open("/d/file")
    other = disk.dup(fd)
    assert disk.pwrite(fd, b"C", 0) == 1
    assert disk.pread(other, 7, 0) == b"Content"
    disk.truncate(fd, 7)
    assert disk.size(fd) == disk.file_size("/d/file") == 7
    disk.fsync(fd)
    disk.close(other)
    disk.close(fd)
    disk.makedirs("/d/x/y")
    disk.mkdir("/d/z")
    disk.write_file("/d/z/a", b"1", sync=True)
    disk.rename("/d/z/a", "/d/z/b")
    disk.replace("/d/z/b", "/d/z/c")
    disk.set_mtime("/d/z/c", 5)
    assert disk.mtime_ms("/d/z/c") == 5
    assert disk.read_file("/d/z/c") == b"1"
    disk.fsync_dir("/d")
    disk.unlink("/d/z/c")
    disk.rmtree("/d/x")
    assert sorted(disk.listdir("/d")) == ["file", "z"]
    assert disk.exists("/d/file")
    assert disk.isdir("/d/z")
    assert disk.usage("/d")[0] > 0


def test_a_lock_that_is_held_is_no_fault_of_the_drive(fault: FaultDisk) -> None:
    disk = LogDirDisk(fault, "/d")
    disk.lock("/d/.lock")
    with pytest.raises(BlockingIOError):
        disk.lock("/d/.lock")


def test_running_out_of_descriptors_is_no_fault_of_the_drive(fault: FaultDisk) -> None:
    fault.fail("open", errno.EMFILE)
    with pytest.raises(OSError, match="injected"):
        LogDirDisk(fault, "/d").open("/d/file")
