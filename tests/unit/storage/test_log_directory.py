"""One log directory: made, locked, marked, looked through."""

import errno

from protocol.model import TopicPartition
from storage.log_directory import LogDirectory
from tests.support.fault_disk import FaultDisk


def opened(disk: FaultDisk, path: str = "/var/lib/tide") -> LogDirectory:
    directory = LogDirectory(disk, path)
    directory.open()
    return directory


def test_a_new_directory_outlives_a_power_cut() -> None:
    disk = FaultDisk()
    opened(disk)
    disk.power_cut()
    assert disk.isdir("/var/lib/tide")


def test_names_are_told_apart() -> None:
    disk = FaultDisk()
    directory = opened(disk)
    unique = "0" * 32
    marked = (f"c-0.{unique}-delete", f"d-0.{unique}-future", f"e-0.{unique}-stray")
    for name in ("b-1", "a-x-0", *marked, "lost+found"):
        disk.mkdir(f"{directory.path}/{name}")
    disk.write_file(f"{directory.path}/file-3", b"")
    found = directory.discover()
    assert found.live == [(TopicPartition("a-x", 0), "a-x-0"), (TopicPartition("b", 1), "b-1")]
    assert found.deleted == [f"c-0.{unique}-delete"]
    assert found.futures == [(TopicPartition("d", 0), f"d-0.{unique}-future")]
    assert found.other == [f"e-0.{unique}-stray"]


def test_the_clean_mark_is_written_only_by_a_clean_close() -> None:
    disk = FaultDisk()
    directory = opened(disk)
    assert not directory.take_clean_mark()
    directory.close(clean=True, broker_epoch=7)
    directory = opened(disk)
    assert directory.take_clean_mark()
    assert directory.clean_broker_epoch == 7
    directory.close(clean=False)
    assert not opened(disk).take_clean_mark()


def test_an_offline_directory_gets_no_mark_but_gives_up_its_lock() -> None:
    disk = FaultDisk()
    directory = opened(disk)
    directory.offline = True
    directory.close(clean=True)
    assert not opened(disk).take_clean_mark()


def test_a_damaged_checkpoint_counts_as_empty() -> None:
    disk = FaultDisk()
    directory = opened(disk)
    disk.write_file(directory.recovery_points.path, b"0\n5\n")
    assert directory.read_checkpoint(directory.recovery_points) == {}


def test_usage_is_unknown_where_the_disk_does_not_tell() -> None:
    disk = FaultDisk(total=100, usable=40)
    directory = opened(disk)
    assert directory.usage() == (100, 40)
    disk.fail("usage", errno.EIO)
    assert directory.usage() == (-1, -1)


def test_a_power_cut_is_known_by_the_run_of_the_machine() -> None:
    disk = FaultDisk()

    def loses_power() -> bool:
        directory = LogDirectory(disk, "/var/lib/tide")
        directory.open()
        directory.find_power_cut()
        return directory.lost_power

    assert not loses_power()
    disk.restart()
    opened(disk).remember_boot()
    disk.restart()
    assert not loses_power()
    disk.power_cut()
    assert loses_power()
    disk.restart()
    assert loses_power(), "what an interrupted start did not mend, the next one has to"
    disk.restart()
    directory = opened(disk)
    directory.remember_boot()
    directory.close(clean=True)
    disk.power_cut()
    assert not loses_power()
