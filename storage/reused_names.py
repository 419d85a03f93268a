"""Names that come back: which logs the checkpoint files of a directory must not be believed about.

Checkpoints speak of partitions by name, and are written now and then. A topic that is deleted and
made anew in between would, after a crash, be loaded with the offsets of its predecessor: records
below the old log start would be hidden, or everything dropped, and what was never flushed would
count as durable. So a log made under a name that the files may still tie to another one gets an
empty file `newer-than-checkpoints`; until a checkpoint of all three kinds that was planned after
the predecessor's end is durable, a start that was not clean takes nothing from them for that log.

    predecessor gone → claim() when the name returns → three checkpoints written → settled()

The file's name is durable when the log is, since the first flush syncs the log's directory. One
that a start finds without its identity was never flushed, and gets the file then.

A log that moved here from another log directory is not new, but the checkpoints here do not speak
of it yet either. Its file holds what they would say, as a checkpoint does:
```text
0
1
1500 1200 1498         recovery point, log start offset, high watermark
```
"""

from collections.abc import Iterable
from typing import NamedTuple

from protocol.model import TopicPartition
from runtime.disk import Disk
from storage.checkpoints import decode_lines, encode_lines
from storage.errors import CorruptFileError
from storage.filenames import NEWER_THAN_CHECKPOINTS


class KnownOffsets(NamedTuple):
    """What checkpoint files say of one log."""

    recovery_point: int
    log_start_offset: int
    high_watermark: int


NOTHING_KNOWN = KnownOffsets(0, 0, 0)


class ReusedNames:
    """Names in doubt by partition, over all log directories of a manager."""

    __slots__ = ("_doubted", "ended")

    def __init__(self) -> None:
        self.ended = 0
        """How many logs have ended so far: what a checkpoint was planned after."""
        self._doubted: dict[tuple[str, TopicPartition], int] = {}

    def doubt(self, log_dir: str, partitions: Iterable[TopicPartition]) -> None:
        """Logs of these names have ended, or a start found the files to speak of what is gone."""
        self.ended += 1
        for partition in partitions:
            self._doubted[log_dir, partition] = self.ended

    def claim(self, disk: Disk, log_dir: str, directory: str, partition: TopicPartition) -> None:
        """A new log of this name is being made in `directory`; before any other file of it."""
        if (log_dir, partition) in self._doubted:
            mark_newer(disk, directory)

    def settled(self, log_dir: str, planned_after: int) -> list[TopicPartition]:
        """Forget the doubts of a directory whose files all know of so many ends; their names."""
        found = [
            partition
            for (path, partition), ended in self._doubted.items()
            if path == log_dir and ended <= planned_after
        ]
        for partition in found:
            del self._doubted[log_dir, partition]
        return found


def mark_newer(disk: Disk, directory: str, known: KnownOffsets | None = None) -> None:
    """What the checkpoints say of the name is not about the log in this directory.

    What is known instead is durable afterwards, but for the file's name.
    """
    data = b"" if known is None else encode_lines([" ".join(map(str, known))])
    disk.write_file(f"{directory}/{NEWER_THAN_CHECKPOINTS}", data, sync=known is not None)


def known_instead(disk: Disk, directory: str) -> KnownOffsets | None:
    """What holds of the log in place of the checkpoints' entries; None where those hold."""
    path = f"{directory}/{NEWER_THAN_CHECKPOINTS}"
    if not disk.exists(path):
        return None
    try:
        lines = decode_lines(path, disk.read_file(path))
        return KnownOffsets(*map(int, lines[0])) if lines else NOTHING_KNOWN
    except (CorruptFileError, ValueError, TypeError):
        return NOTHING_KNOWN


def forget_known(disk: Disk, directory: str) -> None:
    """What is known in place of the checkpoints holds no more: the log is about to be cut.

    Durable afterwards, but only a log that has just moved here has anything to forget.
    """
    if known_instead(disk, directory) not in (None, NOTHING_KNOWN):
        disk.write_file(f"{directory}/{NEWER_THAN_CHECKPOINTS}", b"", sync=True)


def is_newer_than_checkpoints(disk: Disk, directory: str) -> bool:
    """Whether the log in this directory must not be loaded by the checkpoints' entries."""
    return disk.exists(f"{directory}/{NEWER_THAN_CHECKPOINTS}")


def remove_mark(disk: Disk, directory: str) -> None:
    """The checkpoints speak of this log from now on."""
    if is_newer_than_checkpoints(disk, directory):
        disk.unlink(f"{directory}/{NEWER_THAN_CHECKPOINTS}")
