"""The files of a segment are touched when they are needed, not before."""

from storage.segment.file_records import FilePool
from storage.segment.file_set import FileSet, SegmentFiles
from tests.support.fault_disk import FaultDisk


def test_nothing_is_opened_by_naming_files() -> None:
    disk = FaultDisk()
    files = FileSet(SegmentFiles(disk, FilePool(1)), "/d", 5, 1000)
    files.close()
    files.moved_to("/e")
    assert files.log.path == files.path(".log") == "/e/00000000000000000005.log"
    assert disk.opened == disk.changes == 0


def test_indexes_are_made_once_and_follow_the_names() -> None:
    disk = FaultDisk()
    disk.mkdir("/d")
    files = FileSet(SegmentFiles(disk, FilePool(1)), "/d", 5, 1000)
    index = files.offset_index
    assert files.offset_index is index
    assert files.time_index is files.time_index
    assert files.transaction_index is files.transaction_index
    index.write_out()
    files.change_suffix(".swap")
    assert index.path == "/d/00000000000000000005.index.swap"
    assert disk.listdir("/d") == ["00000000000000000005.index.swap"]
    assert files.time_index.path.endswith(".timeindex.swap")
    assert files.transaction_index.path.endswith(".txnindex.swap")


def test_another_pool_takes_the_files_over_closed() -> None:
    disk = FaultDisk()
    disk.mkdir("/d")
    first, second = FilePool(4), FilePool(4)
    files = FileSet(SegmentFiles(disk, first), "/d", 5, 1000)
    files.log.create()
    files.offset_index.write_out()
    files.moved_to("/d", second)
    assert (first.open_count, disk.open_count) == (0, 0)
    files.log.open()
    assert (first.open_count, second.open_count) == (0, 1)
