"""Which leader epoch wrote which offsets of one log.

A list of (epoch, start offset), both strictly ascending: every offset from an entry's start up to
the next entry's start was written by that epoch. It answers OffsetForLeaderEpoch and finds where
two replicas part.

On disk, `leader-epoch-checkpoint`: a checkpoint file (see `storage.checkpoints`) with one
`epoch startOffset` a line. Memory is ahead of the file. What must hold, and what the owner of the
log sees to by running `flush_work()` with each flush: before the recovery point passes an offset,
the file has the entry that covers it. Entries above the recovery point are found again in the
batches when the log is recovered.
Source: LeaderEpochFileCache.java (4.3), KIP-101, KIP-279.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from typing import NamedTuple

from runtime.disk import Disk
from storage.checkpoints import decode_lines, encode_lines, replace_file
from storage.errors import CorruptFileError
from storage.filenames import LEADER_EPOCH_CHECKPOINT

UNDEFINED_EPOCH = -1
UNDEFINED_EPOCH_OFFSET = -1


class EpochEntry(NamedTuple):
    """An epoch and the first offset it wrote."""

    epoch: int
    start_offset: int


class LeaderEpochCache:
    """The epochs of one log, in memory, and their file."""

    __slots__ = ("_directory", "_disk", "_epochs", "_starts", "dirty")

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._directory = directory
        self._epochs: list[int] = []
        self._starts: list[int] = []
        self.dirty = False

    # The file.

    @property
    def path(self) -> str:
        """Where the file is."""
        return f"{self._directory}/{LEADER_EPOCH_CHECKPOINT}"

    def load(self) -> None:
        """Take the entries from the file; none without one.

        CorruptFileError leaves the cache empty.
        """
        self._epochs, self._starts = [], []
        self.dirty = False
        if not self._disk.exists(self.path):
            return
        entries = []
        for fields in decode_lines(self.path, self._disk.read_file(self.path)):
            try:
                epoch, start_offset = map(int, fields)
            except ValueError as error:
                raise CorruptFileError(self.path, f"malformed line {' '.join(fields)!r}") from error
            entries.append((epoch, start_offset))
        try:
            for epoch, start_offset in entries:
                self.assign(epoch, start_offset)
        except ValueError as error:
            self._epochs, self._starts = [], []
            raise CorruptFileError(self.path, str(error)) from error
        finally:
            self.dirty = False

    def write(self, *, sync: bool = True) -> None:
        """Put the entries in the file now; durable afterwards with sync."""
        replace_file(self._disk, self.path, self._encode(), sync=sync)
        self.dirty = False

    def flush_work(self) -> Callable[[], None] | None:
        """What a worker must run to make the present entries durable; None if they are.

        The cache counts as clean from now on: an owner whose work failed has a failed directory.
        """
        if not self.dirty:
            return None
        self.dirty = False
        disk, path, text = self._disk, self.path, self._encode()
        return lambda: replace_file(disk, path, text)

    def moved_to(self, directory: str) -> None:
        """The log's directory has another name now."""
        self._directory = directory

    def _encode(self) -> bytes:
        return encode_lines(f"{epoch} {start}" for epoch, start in self.entries())

    # Questions.

    def entries(self) -> list[EpochEntry]:
        """All entries, ascending."""
        return list(map(EpochEntry, self._epochs, self._starts))

    @property
    def latest_epoch(self) -> int:
        """Highest epoch, or -1."""
        return self._epochs[-1] if self._epochs else UNDEFINED_EPOCH

    @property
    def earliest(self) -> EpochEntry | None:
        """First entry."""
        return EpochEntry(self._epochs[0], self._starts[0]) if self._epochs else None

    def previous_epoch(self, epoch: int) -> int:
        """Highest epoch below this one, or -1."""
        slot = bisect_left(self._epochs, epoch)
        return self._epochs[slot - 1] if slot else UNDEFINED_EPOCH

    def start_offset_of(self, epoch: int) -> int:
        """First offset of exactly this epoch, or -1."""
        slot = bisect_left(self._epochs, epoch)
        if slot < len(self._epochs) and self._epochs[slot] == epoch:
            return self._starts[slot]
        return UNDEFINED_EPOCH_OFFSET

    def epoch_for_offset(self, offset: int) -> int:
        """Epoch that wrote, or will write, this offset; -1 below the first entry."""
        slot = bisect_right(self._starts, offset)
        return self._epochs[slot - 1] if slot else UNDEFINED_EPOCH

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(epoch, exclusive end offset) of the largest epoch not above this one; (-1, -1) unknown.

        The latest epoch ends at the log end. An epoch below all known ends where the first known
        starts, and keeps its own number in the answer.
        """
        epochs = self._epochs
        if epoch == UNDEFINED_EPOCH or not epochs or epoch > epochs[-1]:
            return UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
        if epoch == epochs[-1]:
            return epoch, log_end_offset
        slot = bisect_right(epochs, epoch)
        return (epochs[slot - 1] if slot else epoch), self._starts[slot]

    # Changes, in memory.

    def assign(self, epoch: int, start_offset: int) -> bool:
        """The epoch writes from start_offset on; whether that was news.

        Entries that would no longer ascend, in epoch or in start, are dropped from the end.
        ValueError if either is negative.
        """
        epochs, starts = self._epochs, self._starts
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"invalid leader epoch entry ({epoch}, {start_offset})")
        if epochs and epoch == epochs[-1] and start_offset >= starts[-1]:
            return False
        while epochs and (epochs[-1] >= epoch or starts[-1] >= start_offset):
            epochs.pop()
            starts.pop()
        epochs.append(epoch)
        starts.append(start_offset)
        self.dirty = True
        return True

    def adopt(self, entries: Iterable[EpochEntry]) -> None:
        """Have the entries of another copy of this log."""
        found = list(entries)
        if found != self.entries():
            self._epochs = [entry.epoch for entry in found]
            self._starts = [entry.start_offset for entry in found]
            self.dirty = True

    def truncate_from_end(self, end_offset: int) -> None:
        """Drop entries that start at or after end_offset; a negative one drops nothing."""
        if end_offset >= 0 and self._starts and self._starts[-1] >= end_offset:
            slot = bisect_left(self._starts, end_offset)
            del self._epochs[slot:], self._starts[slot:]
            self.dirty = True

    def truncate_from_start(self, start_offset: int) -> None:
        """Drop entries before start_offset; the one that covers it starts there now."""
        if start_offset >= 0 and self._starts and self._starts[0] < start_offset:
            slot = bisect_right(self._starts, start_offset) - 1
            del self._epochs[:slot], self._starts[:slot]
            self._starts[0] = start_offset
            self.dirty = True

    def clear(self) -> None:
        """Drop all entries."""
        if self._epochs:
            self._epochs, self._starts = [], []
            self.dirty = True
