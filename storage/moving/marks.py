"""`moved-from`: which of two replicas of one partition is the later one.

```text
/disk1/orders-0          one line: the directory this log was copied from
```
A moved log takes its live name in one log directory before the one it was copied from loses it in
another, because nothing makes two renames on two file systems durable in one step. A start that
finds both serves the one that holds this file. It is written, durably, before the live name is
taken, and removed once the name of the old directory is durably gone.
"""

from runtime.disk import Disk
from storage.filenames import MOVED_FROM


def write_moved_from(disk: Disk, directory: str, source: str) -> None:
    """Mark a copy; durable afterwards but for the file's name."""
    disk.write_file(f"{directory}/{MOVED_FROM}", f"{source}\n".encode(), sync=True)


def was_moved(disk: Disk, directory: str) -> bool:
    """Whether this replica is the later one of two, if there are two."""
    return disk.exists(f"{directory}/{MOVED_FROM}")


def remove_moved_from(disk: Disk, directory: str) -> None:
    """There are no two replicas any more, durably: a mark that comes back would win over another.

    Nor can one come back that somebody has removed a moment ago.
    """
    if was_moved(disk, directory):
        disk.unlink(f"{directory}/{MOVED_FROM}")
    disk.fsync_dir(directory)
