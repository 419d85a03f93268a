"""The one place where an OSError becomes a StorageError.

Whoever works in a log directory is given a `LogDirDisk` bound to it, which is a `Disk` like the
one it wraps: code below sees StorageError, naming the directory that has to go offline, and code
above never has to guess where an OSError came from. A refusal (`BlockingIOError` of `lock`) stays
as it is; running out of descriptors says nothing about the drive and stays an OSError too, so that
`FilePool` can make room and try again.
"""

import errno
from typing import NoReturn

from runtime.disk import DirectoryLock, Disk
from storage.errors import StorageError

_NOT_THE_DRIVE = frozenset((errno.EMFILE, errno.ENFILE))


class LogDirDisk:
    """A Disk whose errors take one log directory offline."""

    __slots__ = ("_disk", "log_dir")

    def __init__(self, disk: Disk, log_dir: str) -> None:
        self._disk = disk
        self.log_dir = log_dir

    def _failed(self, what: str, error: OSError) -> NoReturn:
        if error.errno in _NOT_THE_DRIVE:
            raise error
        raise StorageError(self.log_dir, f"Error while {what}", error) from error

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> int:
        """Descriptor of a file."""
        try:
            return self._disk.open(path, create=create, writable=writable)
        except OSError as error:
            self._failed(f"opening {path}", error)

    def close(self, fd: int) -> None:
        """Close a descriptor."""
        try:
            self._disk.close(fd)
        except OSError as error:
            self._failed("closing a file", error)

    def dup(self, fd: int) -> int:
        """A second descriptor of the same file."""
        try:
            return self._disk.dup(fd)
        except OSError as error:
            self._failed("duplicating a descriptor", error)

    def pread(self, fd: int, size: int, position: int) -> bytes:
        """Read at a position."""
        try:
            return self._disk.pread(fd, size, position)
        except OSError as error:
            self._failed("reading", error)

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        """Write the whole buffer at a position."""
        try:
            return self._disk.pwrite(fd, data, position)
        except OSError as error:
            self._failed("writing", error)

    def size(self, fd: int) -> int:
        """Length of an open file."""
        try:
            return self._disk.size(fd)
        except OSError as error:
            self._failed("asking a file's size", error)

    def truncate(self, fd: int, size: int) -> None:
        """Set a file's length."""
        try:
            self._disk.truncate(fd, size)
        except OSError as error:
            self._failed("truncating", error)

    def fsync(self, fd: int) -> None:
        """Make a file's bytes durable."""
        try:
            self._disk.fsync(fd)
        except OSError as error:
            self._failed("flushing", error)

    def read_file(self, path: str) -> bytes:
        """The content of a file; ask `exists` first where it may be missing."""
        try:
            return self._disk.read_file(path)
        except OSError as error:
            self._failed(f"reading {path}", error)

    def write_file(self, path: str, data: bytes, *, sync: bool = False) -> None:
        """Create or replace a file's content."""
        try:
            self._disk.write_file(path, data, sync=sync)
        except OSError as error:
            self._failed(f"writing {path}", error)

    def exists(self, path: str) -> bool:
        """Whether anything has this name."""
        try:
            return self._disk.exists(path)
        except OSError as error:
            self._failed(f"looking for {path}", error)

    def isdir(self, path: str) -> bool:
        """Whether a directory has this name."""
        try:
            return self._disk.isdir(path)
        except OSError as error:
            self._failed(f"looking for {path}", error)

    def listdir(self, path: str) -> list[str]:
        """Names in a directory."""
        try:
            return self._disk.listdir(path)
        except OSError as error:
            self._failed(f"listing {path}", error)

    def file_size(self, path: str) -> int:
        """Length of a file."""
        try:
            return self._disk.file_size(path)
        except OSError as error:
            self._failed(f"asking the size of {path}", error)

    def mkdir(self, path: str) -> None:
        """Make one directory."""
        try:
            self._disk.mkdir(path)
        except OSError as error:
            self._failed(f"making {path}", error)

    def makedirs(self, path: str) -> None:
        """Make a directory and its parents."""
        try:
            self._disk.makedirs(path)
        except OSError as error:
            self._failed(f"making {path}", error)

    def rename(self, source: str, target: str) -> None:
        """Move to a free name."""
        try:
            self._disk.rename(source, target)
        except OSError as error:
            self._failed(f"renaming {source} to {target}", error)

    def replace(self, source: str, target: str) -> None:
        """Move over another file."""
        try:
            self._disk.replace(source, target)
        except OSError as error:
            self._failed(f"replacing {target} by {source}", error)

    def unlink(self, path: str) -> None:
        """Remove a file's name."""
        try:
            self._disk.unlink(path)
        except OSError as error:
            self._failed(f"deleting {path}", error)

    def rmtree(self, path: str) -> None:
        """Remove a directory and all below it."""
        try:
            self._disk.rmtree(path)
        except OSError as error:
            self._failed(f"deleting {path}", error)

    def fsync_dir(self, path: str) -> None:
        """Make the names in a directory durable."""
        try:
            self._disk.fsync_dir(path)
        except OSError as error:
            self._failed(f"flushing directory {path}", error)

    def mtime_ms(self, path: str) -> int:
        """Time of last modification."""
        try:
            return self._disk.mtime_ms(path)
        except OSError as error:
            self._failed(f"asking the age of {path}", error)

    def set_mtime(self, path: str, mtime_ms: int) -> None:
        """Set the time of last modification."""
        try:
            self._disk.set_mtime(path, mtime_ms)
        except OSError as error:
            self._failed(f"setting the age of {path}", error)

    def usage(self, path: str) -> tuple[int, int]:
        """(total, usable) bytes of the file system."""
        try:
            return self._disk.usage(path)
        except OSError as error:
            self._failed(f"asking the usage of {path}", error)

    def boot_id(self) -> str:
        """Which run of the machine this is."""
        return self._disk.boot_id()

    def lock(self, path: str) -> DirectoryLock:
        """Lock a file; BlockingIOError when another holder has it."""
        try:
            return self._disk.lock(path)
        except BlockingIOError:
            raise
        except OSError as error:
            self._failed(f"locking {path}", error)
