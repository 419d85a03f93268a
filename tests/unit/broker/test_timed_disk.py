"""Each fsync is observed."""

from pathlib import Path

from broker.timed_disk import TimedDisk
from tests.support.manual_clock import ManualClock


def test_an_fsync_is_timed(tmp_path: Path) -> None:
    disk = TimedDisk(ManualClock())
    fd = disk.open(str(tmp_path / "file"), create=True)
    disk.fsync(fd)
    disk.close(fd)
    assert disk.fsync_s.count == 1
