"""A Disk in memory that can be killed, unplugged, and made to fail.

    disk = FaultDisk()
    disk.crash_at(7)                    the 7th change from now raises Crash, and all calls after
    disk.fail("pwrite", errno.ENOSPC, path_ends=".log")      the next such call raises OSError
    disk.restart()                      the process died; the kernel kept everything written
    disk.power_cut()                    the machine died: un-synced bytes and names are gone
    disk.power_cut(random.Random(seed)) … or each file keeps any prefix of what it was told

Model of durability: an open file's bytes and length are durable after fsync; a name made, moved
or removed is so after fsync_dir of its directory. Nothing else is. A rename within one directory
is one step. Calls that change nothing are not counted.
"""

import errno
import posixpath
import random
from typing import NamedTuple

from runtime.disk import DirectoryLock


class Crash(BaseException):
    """The process stopped here. No `except Exception` on the way may swallow it."""


class _Failure(NamedTuple):
    call: str
    code: int
    path_ends: str


class _File:
    """An inode: bytes as the kernel shows them, bytes on the platter, changes between the two."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.durable = b""
        self.pending: list[tuple[int, bytes | None]] = []
        self.mtime_ms = 0

    def write(self, position: int, data: bytes) -> None:
        """Apply a write, growing with zeros."""
        self.pending.append((position, data))
        _apply(self.data, position, data)

    def truncate(self, size: int) -> None:
        """Apply a change of length."""
        self.pending.append((size, None))
        _apply(self.data, size, None)

    def sync(self) -> None:
        """Make everything durable."""
        self.durable = bytes(self.data)
        self.pending.clear()

    def forget(self, chance: random.Random | None) -> None:
        """Go back to what the platter has, plus a prefix of the changes if chance is given."""
        data = bytearray(self.durable)
        if chance is not None and self.pending:
            for position, change in self.pending[: chance.randint(0, len(self.pending))]:
                _apply(data, position, change)
        self.data = data
        self.sync()


def _apply(data: bytearray, position: int, change: bytes | None) -> None:
    if change is None:
        del data[position:]
        data.extend(bytes(position - len(data)))
        return
    if len(data) < position:
        data.extend(bytes(position - len(data)))
    data[position : position + len(change)] = change


class _Directory:
    """A directory: names as the kernel shows them and names on the platter."""

    def __init__(self) -> None:
        self.names: dict[str, _File | _Directory] = {}
        self.durable: dict[str, _File | _Directory] = {}
        self.history: list[dict[str, _File | _Directory]] = []
        self.mtime_ms = 0

    def changed(self) -> None:
        """Remember this state: a power cut may come back to any since the last sync."""
        self.history.append(dict(self.names))

    def sync(self) -> None:
        """Make the names durable."""
        self.durable = dict(self.names)
        self.history.clear()

    def forget(self, chance: random.Random | None) -> None:
        """Go back to the durable names, or to a later state that chance picks."""
        states = [self.durable, *self.history]
        self.names = dict(states[0] if chance is None else chance.choice(states))
        self.sync()


class _Open:
    """What a descriptor stands for."""

    def __init__(self, file: _File, path: str, writable: bool) -> None:
        self.file = file
        self.path = path
        self.writable = writable


class _Lock:
    def __init__(self, locks: set[str], path: str) -> None:
        self._locks = locks
        self._path = path

    def release(self) -> None:
        self._locks.discard(self._path)


class FaultDisk:
    """A whole file system; the root directory always exists."""

    def __init__(self, *, total: int = 1 << 40, usable: int = 1 << 39) -> None:
        self.root = _Directory()
        self.changes = 0
        self.calls: list[tuple[str, str]] = []
        self.fsyncs = 0
        self.opened = 0
        self.now_ms = 0
        self.torn_writes = False
        self._total, self._usable = total, usable
        self._crash_at: int | None = None
        self._dead = False
        self._failures: list[_Failure] = []
        self._open: dict[int, _Open] = {}
        self._next_fd = 1000
        self._locks: set[str] = set()

    # What a test does to the disk.

    def crash_at(self, change: int) -> None:
        """Raise Crash instead of making the change-th change from now (1 is the next)."""
        self._crash_at = self.changes + change

    def fail(self, call: str, code: int, *, path_ends: str = "", times: int = 1) -> None:
        """Raise OSError(code) at the next calls of this name on paths that end so."""
        self._failures.extend([_Failure(call, code, path_ends)] * times)

    def clear_failures(self) -> None:
        """Forget failures not met yet."""
        self._failures.clear()

    def restart(self) -> None:
        """A new process: no descriptors, no locks, all bytes as the kernel had them."""
        self._dead = False
        self._crash_at = None
        self._open.clear()
        self._locks.clear()

    def power_cut(self, chance: random.Random | None = None) -> None:
        """A new boot: only what was synced is left, or what chance adds of the rest."""
        self.restart()
        seen: set[int] = set()
        waiting: list[_File | _Directory] = [self.root]
        while waiting:
            node = waiting.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            node.forget(chance)
            if isinstance(node, _Directory):
                waiting.extend(node.names.values())

    @property
    def open_count(self) -> int:
        """Descriptors open now."""
        return len(self._open)

    def sync_all(self) -> None:
        """Make everything durable, as a test's starting point."""
        waiting: list[_File | _Directory] = [self.root]
        while waiting:
            node = waiting.pop()
            node.sync()
            if isinstance(node, _Directory):
                waiting.extend(node.names.values())

    # The Disk port.

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> int:
        self._read("open", path)
        directory, name = self._parent(path)
        node = directory.names.get(name)
        if node is None:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "no such file", path)
            self._change("create", path)
            node = self._new_file(directory, name)
        if isinstance(node, _Directory):
            raise IsADirectoryError(errno.EISDIR, "is a directory", path)
        return self._descriptor(_Open(node, path, writable))

    def close(self, fd: int) -> None:
        self._alive()
        self._file(fd)
        del self._open[fd]

    def dup(self, fd: int) -> int:
        self._alive()
        return self._descriptor(self._file(fd))

    def pread(self, fd: int, size: int, position: int) -> bytes:
        opened = self._file(fd)
        self._read("pread", opened.path)
        return bytes(opened.file.data[position : position + size])

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        opened = self._file(fd)
        if not opened.writable:
            raise OSError(errno.EBADF, "not open for writing", opened.path)
        content = bytes(data)
        try:
            self._change("pwrite", opened.path)
        except Crash:
            if self.torn_writes:
                opened.file.write(position, content[: len(content) // 2])
            raise
        opened.file.write(position, content)
        opened.file.mtime_ms = self.now_ms
        return len(content)

    def size(self, fd: int) -> int:
        return len(self._file(fd).file.data)

    def truncate(self, fd: int, size: int) -> None:
        opened = self._file(fd)
        self._change("truncate", opened.path)
        opened.file.truncate(size)
        opened.file.mtime_ms = self.now_ms

    def fsync(self, fd: int) -> None:
        opened = self._file(fd)
        self._change("fsync", opened.path)
        self.fsyncs += 1
        opened.file.sync()

    def allocate(self, fd: int, size: int) -> None:
        opened = self._file(fd)
        self._change("allocate", opened.path)
        if len(opened.file.data) < size:
            opened.file.truncate(size)

    def read_file(self, path: str) -> bytes:
        self._read("read_file", path)
        return bytes(self._find_file(path).data)

    def write_file(self, path: str, data: bytes, *, sync: bool = False) -> None:
        fd = self.open(path, create=True)
        try:
            if self.size(fd):
                self.truncate(fd, 0)
            if data:
                self.pwrite(fd, data, 0)
            if sync:
                self.fsync(fd)
        finally:
            if not self._dead:
                self.close(fd)

    def exists(self, path: str) -> bool:
        self._alive()
        try:
            self._find(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def isdir(self, path: str) -> bool:
        return self.exists(path) and isinstance(self._find(path), _Directory)

    def listdir(self, path: str) -> list[str]:
        self._read("listdir", path)
        return list(self._find_directory(path).names)

    def file_size(self, path: str) -> int:
        self._read("file_size", path)
        return len(self._find_file(path).data)

    def mkdir(self, path: str) -> None:
        directory, name = self._parent(path)
        if name in directory.names:
            raise FileExistsError(errno.EEXIST, "exists", path)
        self._change("mkdir", path)
        directory.names[name] = _Directory()
        directory.changed()

    def makedirs(self, path: str) -> None:
        parent = posixpath.dirname(posixpath.normpath(path))
        if parent not in ("", "/") and not self.exists(parent):
            self.makedirs(parent)
        if not self.exists(path):
            self.mkdir(path)

    def rename(self, source: str, target: str) -> None:
        if self.exists(target):
            raise FileExistsError(errno.EEXIST, "name is in use", target)
        self._move("rename", source, target)

    def replace(self, source: str, target: str) -> None:
        self._move("replace", source, target)

    def unlink(self, path: str) -> None:
        directory, name = self._parent(path)
        self._find_file(path)
        self._change("unlink", path)
        del directory.names[name]
        directory.changed()

    def rmtree(self, path: str) -> None:
        directory = self._find_directory(path)
        for name, node in list(directory.names.items()):
            child = posixpath.join(path, name)
            if isinstance(node, _Directory):
                self.rmtree(child)
            else:
                self.unlink(child)
        self._change("rmdir", path)
        parent, name = self._parent(path)
        del parent.names[name]
        parent.changed()

    def fsync_dir(self, path: str) -> None:
        directory = self._find_directory(path)
        self._change("fsync_dir", path)
        self.fsyncs += 1
        directory.sync()

    def mtime_ms(self, path: str) -> int:
        self._read("mtime_ms", path)
        return self._find(path).mtime_ms

    def set_mtime(self, path: str, mtime_ms: int) -> None:
        self._change("set_mtime", path)
        self._find(path).mtime_ms = mtime_ms

    def usage(self, path: str) -> tuple[int, int]:
        self._read("usage", path)
        return self._total, self._usable

    def lock(self, path: str) -> DirectoryLock:
        self.close(self.open(path, create=True))
        if path in self._locks:
            raise BlockingIOError(errno.EAGAIN, "locked by another process", path)
        self._locks.add(path)
        return _Lock(self._locks, path)

    # Below the port.

    def _alive(self) -> None:
        if self._dead:
            raise Crash

    def _read(self, call: str, path: str) -> None:
        self._alive()
        self._maybe_fail(call, path)

    def _change(self, call: str, path: str) -> None:
        self._alive()
        self._maybe_fail(call, path)
        self.changes += 1
        self.calls.append((call, path))
        if self.changes == self._crash_at:
            self._dead = True
            raise Crash

    def _maybe_fail(self, call: str, path: str) -> None:
        for failure in self._failures:
            if failure.call == call and path.endswith(failure.path_ends):
                self._failures.remove(failure)
                raise OSError(failure.code, "injected failure", path)

    def _descriptor(self, opened: _Open) -> int:
        self._next_fd += 1
        self.opened += 1
        self._open[self._next_fd] = opened
        return self._next_fd

    def _file(self, fd: int) -> _Open:
        self._alive()
        opened = self._open.get(fd)
        if opened is None:
            raise OSError(errno.EBADF, f"descriptor {fd} is not open")
        return opened

    def _new_file(self, directory: _Directory, name: str) -> _File:
        file = _File()
        file.mtime_ms = self.now_ms
        directory.names[name] = file
        directory.changed()
        return file

    def _move(self, call: str, source: str, target: str) -> None:
        node = self._find(source)
        old, old_name = self._parent(source)
        new, new_name = self._parent(target)
        self._change(call, target)
        del old.names[old_name]
        new.names[new_name] = node
        new.changed()
        if old is not new:
            old.changed()

    def _find(self, path: str) -> _File | _Directory:
        node: _File | _Directory = self.root
        for name in posixpath.normpath(path).strip("/").split("/"):
            if not isinstance(node, _Directory):
                raise NotADirectoryError(errno.ENOTDIR, "not a directory", path)
            if name in ("", "."):
                continue
            if name not in node.names:
                raise FileNotFoundError(errno.ENOENT, "no such file or directory", path)
            node = node.names[name]
        return node

    def _find_file(self, path: str) -> _File:
        node = self._find(path)
        if isinstance(node, _Directory):
            raise IsADirectoryError(errno.EISDIR, "is a directory", path)
        return node

    def _find_directory(self, path: str) -> _Directory:
        node = self._find(path)
        if isinstance(node, _File):
            raise NotADirectoryError(errno.ENOTDIR, "not a directory", path)
        return node

    def _parent(self, path: str) -> tuple[_Directory, str]:
        whole = posixpath.normpath(path)
        return self._find_directory(posixpath.dirname(whole) or "."), posixpath.basename(whole)
