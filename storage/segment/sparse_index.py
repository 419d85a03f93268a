"""An index of fixed-size entries: most in its file, the newest in memory.

```text
entries   0 … stored-1         stored … count-1
          in the file          in memory, appended here
```
Both fields of an entry grow with its slot (the second one not strictly), which is what makes
floor searches right. The file is an array of entries and nothing else, so a file written out is
byte for byte what Kafka leaves after trimming its preallocated index. In memory there is never
more than a few KiB: a full tail moves to the file. The file counts for nothing after a crash, where
the index is rebuilt from the log.
Source: AbstractIndex.java (4.3).
"""

from bisect import bisect_right
from struct import Struct
from typing import ClassVar

from runtime.disk import Disk
from storage.checkpoints import replace_file
from storage.errors import CorruptFileError
from storage.segment.file_records import FilePool, PooledFile

_TAIL_ENTRIES = 512
_BLOCK_ENTRIES = 512
MAX_RELATIVE_OFFSET = 2**31 - 1


class SparseIndex:
    """What offset and time index have in common: sorted pairs, and where they are kept."""

    __slots__ = (
        "_disk",
        "_file",
        "_found_bytes",
        "_last",
        "_replacing",
        "_stored",
        "_tail",
        "base_offset",
        "max_entries",
    )

    layout: ClassVar[Struct]
    offset_field: ClassVar[int]
    """Which of the two fields is the relative offset."""

    def __init__(
        self, disk: Disk, pool: FilePool, path: str, base_offset: int, max_bytes: int
    ) -> None:
        """The entries of the file at path, none if it is missing.

        max_bytes is the size Kafka would preallocate: it bounds the number of entries.
        """
        self._disk = disk
        self._file = PooledFile(disk, pool, path)
        self._tail = bytearray()
        self._last: tuple[int, int] | None = None
        self._replacing = False
        self._found_bytes = disk.file_size(path) if disk.exists(path) else None
        self._stored = (self._found_bytes or 0) // self.layout.size
        self.base_offset = base_offset
        self.max_entries = max_bytes // self.layout.size

    @property
    def path(self) -> str:
        """Where the file is, or will be."""
        return self._file.path

    @property
    def count(self) -> int:
        """Number of entries."""
        return self._stored + len(self._tail) // self.layout.size

    def raw_entry(self, slot: int) -> tuple[int, int]:
        """Both fields of an entry as stored; IndexError outside [0, count)."""
        size = self.layout.size
        if not 0 <= slot < self.count:
            raise IndexError(f"slot {slot} of {self.count} in {self.path}")
        if slot >= self._stored:
            first, second = self.layout.unpack_from(self._tail, (slot - self._stored) * size)
        else:
            first, second = self.layout.unpack(self._read_private(slot * size, size))
        return first, second

    def raw_entries(self) -> list[tuple[int, int]]:
        """All entries as stored."""
        stored = self._read_private(0, self._stored * self.layout.size) if self._stored else b""
        return list(self.layout.iter_unpack(stored + bytes(self._tail)))

    def raw_last(self) -> tuple[int, int] | None:
        """Both fields of the last entry as stored, kept once read."""
        if self._last is None and self.count:
            self._last = self.raw_entry(self.count - 1)
        return self._last

    def floor(self, target: int, field: int, *, private: bool = False) -> tuple[int, int, int]:
        """(slot, first, second) of the greatest slot whose field (0 or 1) is ≤ target.

        (-1, 0, 0) if there is none. private reads through a descriptor of its own, as callers
        outside the loop thread must.
        """
        tail = self._tail
        if tail and self.layout.unpack_from(tail)[field] <= target:
            return _floor_in(self.layout, tail, self._stored, target, field)
        if not self._stored:
            return -1, 0, 0
        if private:
            fd = self._disk.open(self.path, writable=False)
            try:
                return self._floor_in_file(fd, target, field)
            finally:
                self._disk.close(fd)
        return self._floor_in_file(self._file.open(), target, field)

    def _floor_in_file(self, fd: int, target: int, field: int) -> tuple[int, int, int]:
        unpack, size, pread = self.layout.unpack, self.layout.size, self._disk.pread
        low, high = 0, self._stored
        while high - low > _BLOCK_ENTRIES:
            middle = (low + high) // 2
            if unpack(pread(fd, size, middle * size))[field] <= target:
                low = middle
            else:
                high = middle
        block = pread(fd, (high - low) * size, low * size)
        return _floor_in(self.layout, block, low, target, field)

    def add(self, first: int, second: int) -> None:
        """Put an entry at the end."""
        tail = self._tail
        tail += self.layout.pack(first, second)
        self._last = (first, second)
        if len(tail) >= _TAIL_ENTRIES * self.layout.size and not self._replacing:
            self.write_out()

    def write_out(self) -> None:
        """All entries are in the file afterwards, which exists even when there are none."""
        if self._tail or self._replacing or not self._disk.exists(self.path):
            fd = self._disk.open(self.path, create=True)
            try:
                if self._replacing:
                    self._disk.truncate(fd, 0)
                if self._tail:
                    self._disk.pwrite(fd, self._tail, self._stored * self.layout.size)
            finally:
                self._disk.close(fd)
            self._stored = self.count
            self._found_bytes = self._stored * self.layout.size
            self._tail = bytearray()
            self._replacing = False

    def replace(self) -> None:
        """All entries, in memory since `restart`, are in the file, durable, in one step."""
        assert self._replacing, self.path
        self._file.close()
        replace_file(self._disk, self.path, bytes(self._tail))
        self._stored = self.count
        self._tail = bytearray()
        self._replacing = False

    def keep_first(self, count: int) -> None:
        """Drop all entries from slot count on."""
        self._last = None
        if count >= self._stored:
            del self._tail[(count - self._stored) * self.layout.size :]
            return
        self._tail = bytearray()
        self._cut_file(count)

    def restart(self) -> None:
        """Drop all entries and gather others in memory; the file stays as it is till `write_out`.

        So a recovery that finds it should not have begun has changed nothing.
        """
        self._last = None
        self._tail = bytearray()
        self._stored = 0
        self._replacing = True

    def sanity_check(self) -> None:
        """CorruptFileError if the file that was found is missing or cannot be such an index."""
        size = self._found_bytes
        if size is None:
            raise CorruptFileError(self.path, "is missing")
        if size % self.layout.size:
            raise CorruptFileError(self.path, f"{size} bytes are no whole number of entries")
        last = self.raw_last()
        if last is not None:
            first = self.raw_entry(0) if self.count > 1 else last
            if first[0] > last[0] or first[1] > last[1] or first[self.offset_field] < 0:
                raise CorruptFileError(self.path, f"entries go back from {first} to {last}")

    def duplicate(self) -> int:
        """A descriptor of the file for a worker to sync and close; entries written out before."""
        self.write_out()
        return self._file.duplicate()

    def moved_to(self, path: str) -> None:
        """The file has another name now."""
        self._file.path = path

    def use_pool(self, pool: FilePool) -> None:
        """Open the file through another pool from now on; it is closed."""
        self._file.use_pool(pool)

    def close(self) -> None:
        """Give the descriptor up; entries in memory stay there."""
        self._file.close()

    def _cut_file(self, count: int) -> None:
        fd = self._disk.open(self.path)
        try:
            self._disk.truncate(fd, count * self.layout.size)
        finally:
            self._disk.close(fd)
        self._stored = count

    def _read_private(self, position: int, size: int) -> bytes:
        """Read through a descriptor of its own: callers may be in any thread."""
        fd = self._disk.open(self.path, writable=False)
        try:
            return self._disk.pread(fd, size, position)
        finally:
            self._disk.close(fd)


def _floor_in(
    layout: Struct, entries: bytes | bytearray, first_slot: int, target: int, field: int
) -> tuple[int, int, int]:
    """Floor among entries of which the first one has slot first_slot; (-1, 0, 0) if none."""
    unpack, size = layout.unpack_from, layout.size
    slots = range(len(entries) // size)
    at = bisect_right(slots, target, key=lambda slot: unpack(entries, slot * size)[field]) - 1
    if at < 0:
        return -1, 0, 0
    first, second = unpack(entries, at * size)
    return first_slot + at, first, second
