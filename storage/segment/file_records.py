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

    Holds the descriptor until `release()`. A truncation may take bytes away under it, so reads and
    sends may come to the end of the file before `nbytes`.
    """

    __slots__ = ("_disk", "_file", "fd", "nbytes", "position")

    def __init__(self, disk: Disk, file: SharedFile, position: int, nbytes: int) -> None:
        file.acquire()
        self._disk = disk
        self._file: SharedFile | None = file
        self.fd = file.fd
        self.position = position
        self.nbytes = nbytes

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

    On the hot path: take `fd`, call `open()` if it is -1, set `used`.
    """

    __slots__ = ("_create", "_disk", "_pool", "_shared", "fd", "path", "used")

    def __init__(self, disk: Disk, pool: "FilePool", path: str, *, create: bool = False) -> None:
        """Nothing is opened yet; with create, the first opening makes the file."""
        self._disk = disk
        self._pool = pool
        self._create = create
        self._shared: SharedFile | None = None
        self.path = path
        self.fd = CLOSED
        self.used = False

    def open(self) -> int:
        """The descriptor, opened and admitted to the pool if need be."""
        if self._shared is None:
            self._pool.make_room()
            try:
                fd = self._disk.open(self.path, create=self._create)
            except OSError as error:
                if error.errno not in _OUT_OF_DESCRIPTORS:
                    raise
                self._pool.evict(self._pool.open_count // 2)
                fd = self._disk.open(self.path, create=self._create)
            self._create = False
            self._shared = SharedFile(self._disk, fd)
            self.fd = fd
            self._pool.admit(self)
        self.used = True
        return self.fd

    def slice(self, position: int, nbytes: int) -> FileSlice:
        """A slice that holds the descriptor."""
        if self._shared is None:
            self.open()
        assert self._shared is not None
        self.used = True
        return FileSlice(self._disk, self._shared, position, nbytes)

    def duplicate(self) -> int:
        """A descriptor of one's own, to be closed by the caller; the file need not be pooled."""
        if self._shared is not None:
            return self._disk.dup(self.fd)
        fd = self._disk.open(self.path, create=self._create)
        self._create = False
        return fd

    def close(self) -> None:
        """Let the descriptor go; the next use opens the path anew."""
        if self._shared is not None:
            self._pool.forget(self)
            self.let_go()

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
