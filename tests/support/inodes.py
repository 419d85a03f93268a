"""Files and directories as a kernel holds them: what it shows, what the platter has, what is owed.

Every change carries the number of the disk's change that made it, so that a power cut can be told
which of them arrived. A `PowerCut` decides for each node by itself:

    PowerCut()                  nothing that was not synced
    Until(change)               all changes up to one, over the whole disk: what a journal does
    EachByItself(random)        any prefix of each file's changes, any past state of each directory
    PageByPage(random, size)    likewise, but every page of a file, and its length, by itself

Names follow the order of their own directory and nothing else: a rename may outlive the bytes it
was meant to follow, and one directory may be ahead of another.
"""

import random
from typing import NamedTuple


class Change(NamedTuple):
    """One change of a file: bytes at a position, or None for a new length."""

    number: int
    position: int
    content: bytes | None


class File:
    """An inode: bytes as the kernel shows them, bytes on the platter, changes between the two."""

    __slots__ = ("data", "durable", "lost", "mtime_ms", "pending")

    def __init__(self) -> None:
        self.data = bytearray()
        self.lost = False
        self.durable = b""
        self.pending: list[Change] = []
        self.mtime_ms = 0

    def write(self, number: int, position: int, content: bytes) -> None:
        """Apply a write, growing with zeros."""
        self.pending.append(Change(number, position, content))
        apply(self.data, position, content)

    def truncate(self, number: int, size: int) -> None:
        """Apply a change of length."""
        self.pending.append(Change(number, size, None))
        apply(self.data, size, None)

    def sync(self) -> None:
        """Make everything that is owed durable."""
        if self.pending:
            self.durable = self.after(self.pending)
            self.pending.clear()

    def fail_to_sync(self) -> None:
        """The drive refused: the kernel forgets what it owed, and shows it until it is evicted.

        A later sync that succeeds does not bring it back.
        """
        self.pending.clear()
        self.lost = True

    def evict(self) -> None:
        """What was refused is not shown any more."""
        if self.lost:
            self.data = bytearray(self.after(self.pending))
            self.lost = False

    def after(self, changes: list[Change]) -> bytes:
        """What the platter had with these changes."""
        data = bytearray(self.durable)
        for _, position, content in changes:
            apply(data, position, content)
        return bytes(data)

    def come_back(self, data: bytes) -> None:
        """A new boot: this is what there is."""
        self.data = bytearray(data)
        self.durable = bytes(data)
        self.pending.clear()
        self.lost = False

    def copy(self, copies: "dict[int, File | Directory]") -> "File":
        """The same file, changed by nobody; `copies` remembers it."""
        found = copies.get(id(self))
        if found is None:
            found = copies[id(self)] = File()
            found.data = bytearray(self.data)
            found.durable = self.durable
            found.pending = list(self.pending)
            found.lost = self.lost
            found.mtime_ms = self.mtime_ms
        assert isinstance(found, File)
        return found


def apply(data: bytearray, position: int, content: bytes | None) -> None:
    """Write content at a position, or with None make the data this long."""
    if len(data) < position:
        data.extend(bytes(position - len(data)))
    if content is None:
        del data[position:]
    else:
        data[position : position + len(content)] = content


Names = dict[str, "File | Directory"]


class Directory:
    """A directory: names as the kernel shows them and names on the platter."""

    __slots__ = ("durable", "history", "mtime_ms", "names")

    def __init__(self) -> None:
        self.names: Names = {}
        self.durable: Names = {}
        self.history: list[tuple[int, Names]] = []
        self.mtime_ms = 0

    def changed(self, number: int) -> None:
        """Remember this state: a power cut may come back to any since the last sync."""
        self.history.append((number, dict(self.names)))

    def sync(self) -> None:
        """Make the names durable."""
        if self.history:
            self.durable = dict(self.names)
            self.history.clear()

    def come_back(self, names: Names) -> None:
        """A new boot: these are the names."""
        self.names = dict(names)
        self.durable = dict(names)
        self.history.clear()

    def copy(self, copies: "dict[int, File | Directory]") -> "Directory":
        """The same directory and all below it, now or in a state it may come back to."""
        found = copies.get(id(self))
        if found is None:
            found = copies[id(self)] = Directory()

            def copy(names: Names) -> Names:
                return {name: node.copy(copies) for name, node in names.items()}

            found.names = copy(self.names)
            found.durable = copy(self.durable)
            found.history = [(number, copy(names)) for number, names in self.history]
            found.mtime_ms = self.mtime_ms
        assert isinstance(found, Directory)
        return found


class PowerCut:
    """What is left of each node: nothing but what was synced."""

    def bytes_of(self, file: File) -> bytes:
        """The content a file comes back with."""
        return file.durable

    def names_of(self, directory: Directory) -> Names:
        """The names a directory comes back with."""
        return directory.durable


class Until(PowerCut):
    """All changes up to one of the whole disk arrived, in whatever file or directory."""

    def __init__(self, change: int) -> None:
        self._last = change

    def bytes_of(self, file: File) -> bytes:
        return file.after([change for change in file.pending if change.number <= self._last])

    def names_of(self, directory: Directory) -> Names:
        names = directory.durable
        for number, state in directory.history:
            if number <= self._last:
                names = state
        return names


class EachByItself(PowerCut):
    """Of each file some of its first changes arrived; each directory is as it once was."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def bytes_of(self, file: File) -> bytes:
        return file.after(file.pending[: self._chance.randint(0, len(file.pending))])

    def names_of(self, directory: Directory) -> Names:
        return self._chance.choice([directory.durable, *(names for _, names in directory.history)])


class PageByPage(EachByItself):
    """The pages of a file reach the platter in any order, each as it once was; so does the length.

    A page that never arrived, in a file that is already long enough, reads as zeros.
    """

    def __init__(self, chance: random.Random, page_bytes: int = 4096) -> None:
        super().__init__(chance)
        self._page = page_bytes

    def bytes_of(self, file: File) -> bytes:
        if not file.pending:
            return file.durable
        states = [file.after(file.pending[:count]) for count in range(len(file.pending) + 1)]
        size = len(self._chance.choice(states))
        pages = []
        for start in range(0, size, self._page):
            page = self._chance.choice(states)[start : start + self._page]
            pages.append(page.ljust(self._page, b"\0"))
        return b"".join(pages)[:size]
