"""The mark that tells the later of two replicas."""

from storage.moving.marks import remove_moved_from, was_moved, write_moved_from
from tests.support.fault_disk import FaultDisk


def test_a_removed_mark_does_not_come_back() -> None:
    disk = FaultDisk()
    disk.mkdir("/b")
    disk.fsync_dir("/")
    write_moved_from(disk, "/b", "/a/orders-0")
    assert disk.read_file("/b/moved-from") == b"/a/orders-0\n"
    disk.fsync_dir("/b")
    disk.power_cut()
    assert was_moved(disk, "/b")
    remove_moved_from(disk, "/b")
    disk.power_cut()
    assert not was_moved(disk, "/b")


def test_removing_nothing_still_settles_the_names() -> None:
    disk = FaultDisk()
    disk.mkdir("/b")
    disk.fsync_dir("/")
    write_moved_from(disk, "/b", "/a/orders-0")
    disk.fsync_dir("/b")
    disk.unlink("/b/moved-from")
    remove_moved_from(disk, "/b")
    disk.power_cut()
    assert not was_moved(disk, "/b")
