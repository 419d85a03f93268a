"""Open files of segments: shared, counted, and few.

A descriptor is closed when nobody holds it any more. The pool holds it while the file is in use,
and so does every `FileSlice` on its way to a socket: evicting a file, deleting or truncating it
never closes, and so never gives a stranger the number of, a descriptor that is being sent from.

A `PooledFile` is a path whose descriptor comes and goes. The pool keeps the recently used ones
open (second chance: a file used since the hand last passed it is spared once), so that ten
thousand idle partitions need none. Pool and files belong to the loop thread; work in other threads
opens its own descriptors, or is given duplicates.
"""

import errno
from collections import OrderedDict

from runtime.disk import Disk

CLOSED = -1
_OUT_OF_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)


class Era:
    """The time between two truncations of a file: where it was cut at its end, and what follows."""

    __slots__ = ("_end_position", "_next")

    def __init__(self) -> None:
        self._end_position = 0
        self._next: Era | None = None

    def end_at(self, position: int) -> "Era":
        """The file was cut at position; the era after that."""
        self._end_position = position
        self._next = Era()
        return self._next

    def keeps(self, end_position: int) -> bool:
        """Whether no cut since this era began took bytes below end_position."""
        era = self
        while era._next is not None:
            if end_position > era._end_position:
                return False
            era = era._next
        return True


class SharedFile:
    """An open descriptor and the number of those who hold it."""

    __slots__ = ("_disk", "_holders", "fd")

    def __init__(self, disk: Disk, fd: int) -> None:
        """Take over an open descriptor; the maker is its first holder."""
        self._disk = disk
        self._holders = 1
        self.fd = fd

    def acquire(self) -> None:
        """One more holder."""
        self._holders += 1

    def release(self) -> None:
        """One holder less; the last one closes the descriptor."""
        self._holders -= 1
        if self._holders == 0:
            fd, self.fd = self.fd, CLOSED
            self._disk.close(fd)


class FileSlice:
    """Bytes of a log, still in its file: what a fetch answers with.

    Holds the descriptor until `release()`. A truncation may take bytes away under it, and appends
    may then put others in their place: whoever sends in pieces asks `intact` before each, and
    drops the connection when it is not.
    """

    __slots__ = ("_disk", "_era", "_file", "fd", "nbytes", "position")

    def __init__(self, disk: Disk, file: SharedFile, era: Era, position: int, nbytes: int) -> None:
        file.acquire()
        self._disk = disk
        self._era = era
        self._file: SharedFile | None = file
        self.fd = file.fd
        self.position = position
        self.nbytes = nbytes

    @property
    def intact(self) -> bool:
        """Whether no truncation has cut into these bytes since the slice was made."""
        return self._era.keeps(self.position + self.nbytes)

    def read(self) -> bytes:
        """The bytes; fewer than nbytes only after a truncation."""
        return self._disk.pread(self.fd, self.nbytes, self.position)

    def release(self) -> None:
        """Let the descriptor go; a second call does nothing."""
        file = self._file
        if file is not None:
            self._file = None
            self.fd = CLOSED
            file.release()


class PooledFile:
    """A file by its path. `fd` is its descriptor while it is open, else -1.

    On the hot path: take `fd`; call `open()` if it is -1, else set `used`. So a file used once only
    is the first to go.
    """

    __slots__ = ("_disk", "_era", "_pool", "_shared", "fd", "path", "used")

    def __init__(self, disk: Disk, pool: "FilePool", path: str) -> None:
        """Nothing is opened or made."""
        self._disk = disk
        self._pool = pool
        self._era = Era()
        self._shared: SharedFile | None = None
        self.path = path
        self.fd = CLOSED
        self.used = False

    def open(self) -> int:
        """The descriptor, opened and admitted to the pool if need be."""
        if self._shared is None:
            self._open(create=False)
        else:
            self.used = True
        return self.fd

    def create(self) -> int:
        """Open the file, made if it is missing."""
        self._open(create=True)
        return self.fd

    def _open(self, *, create: bool) -> None:
        self._pool.make_room()
        try:
            fd = self._disk.open(self.path, create=create)
        except OSError as error:
            if error.errno not in _OUT_OF_DESCRIPTORS:
                raise
            self._pool.evict((self._pool.open_count + 1) // 2)
            fd = self._disk.open(self.path, create=create)
        self._shared = SharedFile(self._disk, fd)
        self.fd = fd
        self._pool.admit(self)

    def slice(self, position: int, nbytes: int) -> FileSlice:
        """A slice that holds the descriptor."""
        self.open()
        assert self._shared is not None
        return FileSlice(self._disk, self._shared, self._era, position, nbytes)

    def truncate(self, size: int) -> None:
        """Cut the file; slices that reach beyond size are not intact any more."""
        self._disk.truncate(self.open(), size)
        self._era = self._era.end_at(size)

    def duplicate(self) -> int:
        """A descriptor of one's own, to be closed by the caller; the file need not be pooled."""
        if self._shared is not None:
            return self._disk.dup(self.fd)
        return self._disk.open(self.path)

    def close(self) -> None:
        """Let the descriptor go; the next use opens the path anew."""
        if self._shared is not None:
            self._pool.forget(self)
            self.let_go()

    def use_pool(self, pool: "FilePool") -> None:
        """Be opened through another pool from now on; the file is closed."""
        assert self._shared is None, self.path
        self._pool = pool

    def let_go(self) -> None:
        """The pool's reference ends here; called by the pool."""
        shared, self._shared = self._shared, None
        self.fd = CLOSED
        self.used = False
        if shared is not None:
            shared.release()


class FilePool:
    """At most `limit` files open for use; slices may hold evicted ones a little longer."""

    __slots__ = ("_files", "limit")

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"a pool of {limit} files cannot hold one")
        self.limit = limit
        self._files: OrderedDict[PooledFile, None] = OrderedDict()

    @property
    def open_count(self) -> int:
        """Files open in the pool."""
        return len(self._files)

    def make_room(self) -> None:
        """Evict until one more file fits."""
        excess = len(self._files) - self.limit + 1
        if excess > 0:
            self.evict(excess)

    def evict(self, count: int) -> None:
        """Close count files, those not used lately first."""
        files = self._files
        spare = len(files)
        while count > 0 and files:
            file, _ = files.popitem(last=False)
            if file.used and spare > 0:
                spare -= 1
                file.used = False
                files[file] = None
                continue
            count -= 1
            file.let_go()

    def admit(self, file: PooledFile) -> None:
        """The file was opened."""
        self._files[file] = None

    def forget(self, file: PooledFile) -> None:
        """The file is being closed by its owner."""
        self._files.pop(file, None)
