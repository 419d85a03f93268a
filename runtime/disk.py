"""The file-system port: every call that touches a disk goes through it.

Whoever stores bytes takes a ``Disk`` by constructor, so that tests can put a disk there that
stops at the n-th call, forgets what was never synced, or fails as a broken drive does.

Kept by every implementation: errors are ``OSError`` with their errno; ``pwrite`` writes the whole
buffer or raises; ``pread`` returns fewer bytes than asked only at the end of the file; descriptors
do not survive ``exec``. A file's bytes are durable after ``fsync``, its name after ``fsync_dir``
of the directory that holds it.
"""

import errno
import fcntl
import os
import stat
from typing import Protocol

_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_MOST_OF_AN_ID = 100
_NOTHING_THERE = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP))


class DirectoryLock(Protocol):
    """An exclusive lock that lives until it is released or the process ends."""

    def release(self) -> None:
        """Give the lock up; a second call does nothing."""


class Disk(Protocol):
    """What storage may ask of a file system. Paths are absolute or relative to the process."""

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> int:
        """Descriptor of a file; with create, a missing one is made empty and an old one kept."""

    def close(self, fd: int) -> None:
        """Close a descriptor that nobody else uses."""

    def dup(self, fd: int) -> int:
        """A second descriptor of the same open file, for a worker that may outlive the first."""

    def pread(self, fd: int, size: int, position: int) -> bytes:
        """Read size bytes at position; shorter only where the file ends."""

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        """Write the whole buffer at position and return its length."""

    def size(self, fd: int) -> int:
        """Length of an open file in bytes."""

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file, or grow it with zeros, to size bytes."""

    def fsync(self, fd: int) -> None:
        """Return once the file's bytes and length are durable."""

    def read_file(self, path: str) -> bytes:
        """The whole content of a file."""

    def write_file(self, path: str, data: bytes, *, sync: bool = False) -> None:
        """Create or replace a file's content in place; with sync its bytes are durable after."""

    def exists(self, path: str) -> bool:
        """Whether anything has this name; an error where the drive does not say."""

    def isdir(self, path: str) -> bool:
        """Whether a directory has this name."""

    def listdir(self, path: str) -> list[str]:
        """Names in a directory, in no order."""

    def file_size(self, path: str) -> int:
        """Length of the file of this name."""

    def mkdir(self, path: str) -> None:
        """Make one directory; it must not exist."""

    def makedirs(self, path: str) -> None:
        """Make a directory and its missing parents; an existing one is kept."""

    def rename(self, source: str, target: str) -> None:
        """Move a file or directory to a name that is free."""

    def replace(self, source: str, target: str) -> None:
        """Move a file over another, in one step."""

    def unlink(self, path: str) -> None:
        """Remove a file's name."""

    def rmtree(self, path: str) -> None:
        """Remove a directory and all below it."""

    def fsync_dir(self, path: str) -> None:
        """Return once the names in this directory are durable."""

    def mtime_ms(self, path: str) -> int:
        """Time of last modification, ms since the epoch."""

    def set_mtime(self, path: str, mtime_ms: int) -> None:
        """Set the time of last modification, ms since the epoch."""

    def usage(self, path: str) -> tuple[int, int]:
        """(total, usable) bytes of the file system that holds path."""

    def lock(self, path: str) -> DirectoryLock:
        """Lock a file, made if missing; BlockingIOError when another holder has it."""

    def boot_id(self) -> str:
        """Another one after each power cut, the same until then; empty where nobody knows."""


def _mode_of(path: str) -> int | None:
    """Type and permissions of what has a name; None where nothing has, or a link leads nowhere.

    `os.path.exists` answers no where the drive fails: a checkpoint that cannot be read would count
    as one that never was written.
    """
    try:
        return os.stat(path).st_mode
    except OSError as error:
        if error.errno in _NOTHING_THERE:
            return None
        raise


class _FileLock:
    """A locked file: released by closing its descriptor."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def release(self) -> None:
        """Close the descriptor, which drops both locks."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class OsDisk:
    """The operating system's own file system."""

    __slots__ = ()

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> int:
        """Open with close-on-exec."""
        flags = os.O_CLOEXEC | (os.O_RDWR if writable else os.O_RDONLY)
        return os.open(path, flags | os.O_CREAT if create else flags, 0o644)

    def close(self, fd: int) -> None:
        """Close a descriptor."""
        os.close(fd)

    def dup(self, fd: int) -> int:
        """Duplicate with close-on-exec."""
        return os.dup(fd)

    def pread(self, fd: int, size: int, position: int) -> bytes:
        """Read until size bytes or the end of the file."""
        data = os.pread(fd, size, position)
        if len(data) == size or not data:
            return data
        parts = [data]
        got = len(data)
        while got < size:
            data = os.pread(fd, size - got, position + got)
            if not data:
                break
            parts.append(data)
            got += len(data)
        return b"".join(parts)

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        """Write until the buffer is out."""
        length = len(data)
        written = os.pwrite(fd, data, position)
        if written == length:
            return written
        rest = memoryview(data)
        while written < length:
            count = os.pwrite(fd, rest[written:], position + written)
            if count == 0:
                raise OSError(errno.EIO, "nothing was written")
            written += count
        return written

    def size(self, fd: int) -> int:
        """Length by fstat."""
        return os.fstat(fd).st_size

    def truncate(self, fd: int, size: int) -> None:
        """Set the length."""
        os.ftruncate(fd, size)

    def fsync(self, fd: int) -> None:
        """Sync data and length."""
        os.fsync(fd)

    def read_file(self, path: str) -> bytes:
        """Open, read to the end, close."""
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return self.pread(fd, os.fstat(fd).st_size, 0)
        finally:
            os.close(fd)

    def write_file(self, path: str, data: bytes, *, sync: bool = False) -> None:
        """Open truncating, write, sync when asked, close."""
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            if data:
                self.pwrite(fd, data, 0)
            if sync:
                os.fsync(fd)
        finally:
            os.close(fd)

    def exists(self, path: str) -> bool:
        """Ask stat."""
        return _mode_of(path) is not None

    def isdir(self, path: str) -> bool:
        """Ask stat."""
        mode = _mode_of(path)
        return mode is not None and stat.S_ISDIR(mode)

    def listdir(self, path: str) -> list[str]:
        """Names without . and .."""
        return os.listdir(path)

    def file_size(self, path: str) -> int:
        """Length by stat."""
        return os.stat(path).st_size

    def mkdir(self, path: str) -> None:
        """Make one directory."""
        os.mkdir(path)

    def makedirs(self, path: str) -> None:
        """Make a directory and its parents."""
        os.makedirs(path, exist_ok=True)

    def rename(self, source: str, target: str) -> None:
        """Rename; a name in use is an error, as the caller believes it free."""
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "name is in use", target)
        os.rename(source, target)

    def replace(self, source: str, target: str) -> None:
        """Rename over an existing file."""
        os.replace(source, target)

    def unlink(self, path: str) -> None:
        """Remove a name."""
        os.unlink(path)

    def rmtree(self, path: str) -> None:
        """Remove depth first; links are removed, never followed."""
        with os.scandir(path) as entries:
            children = [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in entries]
        for child, is_directory in children:
            if is_directory:
                self.rmtree(child)
            else:
                os.unlink(child)
        os.rmdir(path)

    def fsync_dir(self, path: str) -> None:
        """Sync the directory through a descriptor of its own."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def mtime_ms(self, path: str) -> int:
        """Modification time by stat, cut to milliseconds."""
        return os.stat(path).st_mtime_ns // 1_000_000

    def set_mtime(self, path: str, mtime_ms: int) -> None:
        """Set access and modification time."""
        nanoseconds = mtime_ms * 1_000_000
        os.utime(path, ns=(nanoseconds, nanoseconds))

    def usage(self, path: str) -> tuple[int, int]:
        """Total bytes, and those an unprivileged process may still use."""
        status = os.statvfs(path)
        return status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize

    def lock(self, path: str) -> DirectoryLock:
        """Take two locks on the file.

        A record lock is the one a Java broker on the same directory takes; it does not exclude
        a second holder in the same process, so an flock is taken beside it.
        """
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(fd)
            if error.errno in (errno.EACCES, errno.EAGAIN):
                raise BlockingIOError(errno.EAGAIN, "locked by another process", path) from error
            raise
        return _FileLock(fd)

    def boot_id(self) -> str:
        """What Linux calls this run of itself."""
        try:
            fd = self.open(_BOOT_ID, writable=False)
        except OSError:
            return ""
        try:
            return self.pread(fd, _MOST_OF_AN_ID, 0).decode().strip()
        finally:
            self.close(fd)
