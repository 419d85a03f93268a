"""One contract for the real disk and the fake one, and what only one of them does."""

import errno
import fcntl
import os
import pathlib
import random
import subprocess
import sys

import pytest

from runtime.disk import Disk, OsDisk
from tests.support.fault_disk import Crash, FaultDisk


@pytest.fixture(params=["os", "fake"])
def disk(request: pytest.FixtureRequest) -> Disk:
    return OsDisk() if request.param == "os" else FaultDisk()


@pytest.fixture
def root(disk: Disk, tmp_path: pathlib.Path) -> str:
    disk.makedirs(str(tmp_path))
    return str(tmp_path)


def test_bytes_are_read_where_they_were_written(disk: Disk, root: str) -> None:
    fd = disk.open(f"{root}/a", create=True)
    assert disk.pwrite(fd, b"hello", 3) == 5
    assert disk.pwrite(fd, memoryview(b"J"), 3) == 1
    assert disk.pread(fd, 5, 3) == b"Jello"
    assert disk.pread(fd, 100, 0) == b"\0\0\0Jello"
    assert disk.pread(fd, 100, 8) == b""
    assert disk.size(fd) == disk.file_size(f"{root}/a") == 8
    disk.close(fd)
    assert disk.read_file(f"{root}/a") == b"\0\0\0Jello"


def test_a_missing_file_is_made_only_when_asked(disk: Disk, root: str) -> None:
    with pytest.raises(FileNotFoundError):
        disk.open(f"{root}/a")
    disk.close(disk.open(f"{root}/a", create=True))
    fd = disk.open(f"{root}/a", writable=False)
    with pytest.raises(OSError, match=r".") as raised:
        disk.pwrite(fd, b"x", 0)
    assert raised.value.errno == errno.EBADF
    disk.close(fd)


def test_a_duplicate_outlives_the_descriptor_it_was_made_from(disk: Disk, root: str) -> None:
    fd = disk.open(f"{root}/a", create=True)
    disk.pwrite(fd, b"x", 0)
    other = disk.dup(fd)
    disk.close(fd)
    disk.fsync(other)
    assert disk.pread(other, 1, 0) == b"x"
    disk.close(other)


def test_files_are_cut_and_grown(disk: Disk, root: str) -> None:
    fd = disk.open(f"{root}/a", create=True)
    disk.pwrite(fd, b"abcdef", 0)
    disk.truncate(fd, 2)
    disk.truncate(fd, 4)
    assert disk.pread(fd, 9, 0) == b"ab\0\0"
    disk.close(fd)


def test_writing_a_file_replaces_what_it_held(disk: Disk, root: str) -> None:
    disk.write_file(f"{root}/a", b"longer text", sync=True)
    disk.write_file(f"{root}/a", b"short")
    assert disk.read_file(f"{root}/a") == b"short"
    disk.write_file(f"{root}/a", b"")
    assert disk.read_file(f"{root}/a") == b""


def test_names_move_and_go(disk: Disk, root: str) -> None:
    disk.mkdir(f"{root}/d")
    disk.makedirs(f"{root}/d/e/f")
    disk.makedirs(f"{root}/d/e/f")
    disk.write_file(f"{root}/d/a", b"1")
    disk.write_file(f"{root}/d/b", b"2")
    with pytest.raises(FileExistsError):
        disk.mkdir(f"{root}/d")
    with pytest.raises(FileExistsError):
        disk.rename(f"{root}/d/a", f"{root}/d/b")
    disk.replace(f"{root}/d/a", f"{root}/d/b")
    assert disk.read_file(f"{root}/d/b") == b"1"
    disk.rename(f"{root}/d", f"{root}/g")
    assert sorted(disk.listdir(f"{root}/g")) == ["b", "e"]
    assert disk.isdir(f"{root}/g/e")
    assert not disk.isdir(f"{root}/g/b")
    assert not disk.exists(f"{root}/d")
    disk.fsync_dir(root)
    disk.unlink(f"{root}/g/b")
    disk.write_file(f"{root}/g/e/x", b"3")
    disk.rmtree(f"{root}/g")
    assert disk.listdir(root) == []


def test_times_can_be_set(disk: Disk, root: str) -> None:
    disk.write_file(f"{root}/a", b"1")
    disk.set_mtime(f"{root}/a", 1_700_000_000_123)
    assert disk.mtime_ms(f"{root}/a") == 1_700_000_000_123


def test_usage_says_how_much_there_is(disk: Disk, root: str) -> None:
    total, usable = disk.usage(root)
    assert total >= usable > 0


def test_a_lock_has_one_holder(disk: Disk, root: str) -> None:
    lock = disk.lock(f"{root}/.lock")
    with pytest.raises(BlockingIOError):
        disk.lock(f"{root}/.lock")
    lock.release()
    lock.release()
    disk.lock(f"{root}/.lock").release()


def test_other_processes_see_the_lock_of_records_too(tmp_path: pathlib.Path) -> None:
    lock = OsDisk().lock(str(tmp_path / ".lock"))
    probe = (
        "import fcntl, sys\n"
        "try: fcntl.lockf(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        "except OSError: sys.exit(7)\n"
    )
    command = [sys.executable, "-S", "-c", probe, str(tmp_path / ".lock")]
    assert subprocess.run(command, check=False).returncode == 7
    lock.release()
    assert subprocess.run(command, check=False).returncode == 0


def test_short_reads_and_writes_are_continued(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = OsDisk()
    pread, pwrite = os.pread, os.pwrite
    monkeypatch.setattr(os, "pread", lambda fd, size, at: pread(fd, min(size, 3), at))
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: pwrite(fd, bytes(data)[:3], at))
    fd = disk.open(str(tmp_path / "a"), create=True)
    assert disk.pwrite(fd, b"0123456789", 0) == 10
    assert disk.pread(fd, 10, 0) == b"0123456789"
    assert disk.pread(fd, 20, 1) == b"123456789"
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: 0)
    with pytest.raises(OSError, match="nothing was written"):
        disk.pwrite(fd, b"x", 0)
    disk.close(fd)


def test_removing_a_tree_does_not_follow_links(tmp_path: pathlib.Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_bytes(b"x")
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone" / "link").symlink_to(tmp_path / "kept")
    OsDisk().rmtree(str(tmp_path / "gone"))
    assert (tmp_path / "kept" / "file").exists()


def test_what_leads_nowhere_is_not_there_and_what_cannot_be_asked_is_an_error(
    tmp_path: pathlib.Path,
) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    (tmp_path / "nowhere").symlink_to(tmp_path / "none")
    (tmp_path / "file").touch()
    disk = OsDisk()
    for name in ("circle", "nowhere", "file/below"):
        assert not disk.exists(str(tmp_path / name))
        assert not disk.isdir(str(tmp_path / name))
    with pytest.raises(OSError, match="too long"):
        disk.exists(str(tmp_path / ("x" * 300)))


def test_locking_fails_for_other_reasons_as_itself(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FileNotFoundError):
        OsDisk().lock(str(tmp_path / "none" / ".lock"))

    def no_locks(fd: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(OSError, match="no locks available"):
        OsDisk().lock(str(tmp_path / ".lock"))


# What the fake adds.


def test_a_crash_stops_everything_and_keeps_what_the_kernel_had() -> None:
    disk = FaultDisk()
    disk.write_file("a", b"old")
    disk.crash_at(2)
    with pytest.raises(Crash):
        disk.write_file("a", b"new")
    with pytest.raises(Crash):
        disk.read_file("a")
    disk.restart()
    assert disk.read_file("a") == b""
    assert disk.open_count == 0


def test_a_torn_write_leaves_its_first_half() -> None:
    disk = FaultDisk()
    disk.torn_writes = True
    fd = disk.open("a", create=True)
    disk.crash_at(1)
    with pytest.raises(Crash):
        disk.pwrite(fd, b"123456", 0)
    disk.restart()
    assert disk.read_file("a") == b"123"


def test_a_power_cut_takes_what_was_not_synced() -> None:
    disk = FaultDisk()
    disk.mkdir("d")
    disk.write_file("d/a", b"synced", sync=True)
    disk.write_file("d/b", b"name only")
    disk.fsync_dir("d")
    disk.fsync_dir("/")
    fd = disk.open("d/a")
    disk.pwrite(fd, b"X", 0)
    disk.write_file("d/c", b"nothing", sync=True)
    disk.power_cut()
    assert disk.read_file("d/a") == b"synced"
    assert disk.read_file("d/b") == b""
    assert sorted(disk.listdir("d")) == ["a", "b"]


def test_chance_keeps_a_prefix_of_what_was_not_synced() -> None:
    seen = set()
    for seed in range(50):
        disk = FaultDisk()
        fd = disk.open("a", create=True)
        disk.sync_all()
        for number in range(3):
            disk.pwrite(fd, b"x", number)
        disk.power_cut(random.Random(seed))
        seen.add(disk.read_file("a"))
    assert seen == {b"", b"x", b"xx", b"xxx"}


def test_failures_are_met_once_and_by_path() -> None:
    disk = FaultDisk()
    disk.fail("pwrite", errno.ENOSPC, path_ends=".log")
    disk.write_file("a.index", b"x")
    with pytest.raises(OSError, match="injected") as raised:
        disk.write_file("a.log", b"x")
    assert raised.value.errno == errno.ENOSPC
    disk.write_file("a.log", b"x")
    disk.fail("fsync", errno.EIO)
    disk.clear_failures()
    disk.write_file("a.log", b"x", sync=True)
    assert disk.fsyncs == 1


def test_a_run_of_the_machine_has_one_name() -> None:
    known = pathlib.Path("/proc/sys/kernel/random/boot_id")
    assert OsDisk().boot_id() == (known.read_text().strip() if known.exists() else "")
