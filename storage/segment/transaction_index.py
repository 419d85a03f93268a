"""`.txnindex`: the transactions whose abort marker lies in this segment.

```text
 0 version           i16 = 0
 2 producerId        i64
10 firstOffset       i64   first record of the transaction, maybe in an older segment
18 lastOffset        i64   the abort marker
26 lastStableOffset  i64   of the log just after the marker
```
Entries are appended in the order of their markers. There is no file before the first one. They
are few, and kept in memory once they were needed.
Source: TransactionIndex.java, AbortedTxn.java (4.3), KIP-98.
"""

from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

from runtime.disk import Disk
from storage.checkpoints import replace_file
from storage.errors import CorruptFileError, InvalidIndexOffsetError

_ENTRY = Struct(">hqqqq")
_VERSION = 0


class AbortedEntry(NamedTuple):
    """One aborted transaction; all offsets inclusive but lastStableOffset, which is exclusive."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """The aborted transactions of one segment."""

    __slots__ = ("_disk", "_entries", "_fd", "base_offset", "path")

    def __init__(self, disk: Disk, path: str, base_offset: int) -> None:
        self._disk = disk
        self._entries: list[AbortedEntry] | None = None
        self._fd = -1
        self.base_offset = base_offset
        self.path = path

    def entries(self) -> list[AbortedEntry]:
        """All entries, oldest first. CorruptFileError if the file cannot hold them."""
        if self._entries is None:
            self._entries = self._read()
        return self._entries

    def prepare(self) -> bool:
        """Have all the next `append` needs, so that only the disk can fail it; whether the file had
        to be made. Its name is then not durable yet.
        """
        is_new = not self.entries() and not self._disk.exists(self.path)
        if self._fd < 0:
            self._fd = self._disk.open(self.path, create=True)
        return is_new

    def append(self, entry: AbortedEntry) -> None:
        """Add an entry; InvalidIndexOffsetError unless its marker is beyond the last one's."""
        entries = self.entries()
        if entries and entry.last_offset <= entries[-1].last_offset:
            raise InvalidIndexOffsetError(
                f"last offset {entry.last_offset} is not beyond the last one, "
                f"{entries[-1].last_offset}, of {self.path}"
            )
        self.prepare()
        try:
            position = len(entries) * _ENTRY.size
            self._disk.pwrite(self._fd, _ENTRY.pack(_VERSION, *entry), position)
        finally:
            self.close()
        entries.append(entry)

    def close(self) -> None:
        """Give up what `prepare` opened."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            self._disk.close(fd)

    def collect(
        self, fetch_offset: int, upper_bound_offset: int
    ) -> tuple[list[AbortedEntry], bool]:
        """Aborted transactions that overlap [fetch_offset, upper_bound_offset).

        The flag says that no later segment can have more of them.
        """
        found = []
        for entry in self.entries():
            if entry.last_offset >= fetch_offset and entry.first_offset < upper_bound_offset:
                found.append(entry)
            if entry.last_stable_offset >= upper_bound_offset:
                return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Drop the entries whose marker is at or after an offset."""
        entries = self.entries()
        kept = [entry for entry in entries if entry.last_offset < offset]
        if len(kept) < len(entries):
            self._cut_file(len(kept) * _ENTRY.size)
            self._entries = kept

    def rewrite(self, entries: Sequence[AbortedEntry], *, durable: bool = False) -> None:
        """Hold just these; without any, a file there was is empty and none is made.

        Durable: in one step.
        """
        if entries or self._disk.exists(self.path):
            data = b"".join(_ENTRY.pack(_VERSION, *entry) for entry in entries)
            if durable:
                replace_file(self._disk, self.path, data)
            else:
                self._disk.write_file(self.path, data)
        self._entries = list(entries)

    def sanity_check(self) -> None:
        """CorruptFileError if the file holds what this segment's index cannot."""
        self._read()

    def moved_to(self, path: str) -> None:
        """The file has another name now."""
        self.path = path

    def _read(self) -> list[AbortedEntry]:
        if not self._disk.exists(self.path):
            return []
        data = self._disk.read_file(self.path)
        if len(data) % _ENTRY.size:
            raise CorruptFileError(self.path, f"{len(data)} bytes are no whole number of entries")
        entries: list[AbortedEntry] = []
        before = self.base_offset - 1
        for version, *fields in _ENTRY.iter_unpack(data):
            entry = AbortedEntry(*fields)
            if version != _VERSION:
                raise CorruptFileError(self.path, f"entry of version {version}")
            if entry.last_offset < self.base_offset:
                raise CorruptFileError(
                    self.path, f"last offset {entry.last_offset} is below the segment's base"
                )
            if entry.last_offset <= before or entry.first_offset > entry.last_offset:
                raise CorruptFileError(self.path, f"{entry} cannot follow offset {before}")
            before = entry.last_offset
            entries.append(entry)
        return entries

    def _cut_file(self, size: int) -> None:
        fd = self._disk.open(self.path)
        try:
            self._disk.truncate(fd, size)
        finally:
            self._disk.close(fd)
