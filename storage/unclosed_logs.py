"""`.boot-id` in a partition directory: a log that nobody closed, whatever its log directory says.

A start that was not clean recovers the logs it serves. Those it leaves alone stay as the crash left
them, and at its end the broker may well mark their log directory as closed cleanly: it knows
nothing of them. When metadata knows such a log again, from a store that was restored, it would be
trusted. So its directory is given a copy of the log directory's `.boot-id`: which run of the
machine wrote what may not be synced; empty where that is not known.

    unclean start, log left alone    keep_unclosed(): durable before there can be a clean mark
    later starts                     the log counts as not closed while the file is there
    served, once it was recovered    forget_unclosed(): the clean mark is gone since this start
                                     began, and comes only after a flush of the log. If a power cut
                                     brings the file back, the log is recovered once more.
"""

from runtime.disk import Disk
from storage.filenames import BOOT_ID_FILE


def keep_unclosed(disk: Disk, log_dir: str, directory: str) -> None:
    """Remember of a log that is left alone that it was not closed; durable afterwards.

    What an earlier start remembered holds, but may not be durable yet.
    """
    since = unclosed_since(disk, directory)
    if since is None:
        since = unclosed_since(disk, log_dir) or b""
    disk.write_file(f"{directory}/{BOOT_ID_FILE}", since, sync=True)
    disk.fsync_dir(directory)


def unclosed_since(disk: Disk, directory: str) -> bytes | None:
    """The run of the machine in which this directory was not closed; None if nothing says so."""
    path = f"{directory}/{BOOT_ID_FILE}"
    return disk.read_file(path) if disk.exists(path) else None


def forget_unclosed(disk: Disk, directory: str) -> None:
    """The log is served, and will be closed with its log directory."""
    if unclosed_since(disk, directory) is not None:
        disk.unlink(f"{directory}/{BOOT_ID_FILE}")
