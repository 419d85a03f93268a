"""A Disk in memory that can be killed, unplugged, photographed, and made to fail.

    disk = FaultDisk()
    disk.crash_at(7)                    the 7th change from now raises Crash, and all calls after
    disk.fail("pwrite", errno.ENOSPC, path_ends=".log")      the next such call raises OSError
    disk.restart()                      the process died; the kernel kept everything written
    disk.power_cut()                    the machine died: un-synced bytes and names are gone
    disk.power_cut(random.Random(seed)) … or each file keeps any prefix of what it was told
    disk.power_cut(PageByPage(…))       … or what any other PowerCut of `tests.support.inodes` says
    disk.fail_call(12, errno.EIO)       the 12th call from now, question or change, raises OSError
    disk.watch(callback)                called before every change, and in the middle of each write
    disk.photograph()                   another disk, as this one is now, its process gone

Model of durability: an open file's bytes and length are durable after fsync; a name made, moved
or removed is so after fsync_dir of its directory. Nothing else is. A rename within one directory
is one step. A write that fails has half happened; an fsync that fails drops what it was to make
durable, for good. Calls that change nothing are not counted by `crash_at`.
"""

import errno
import posixpath
import random
from collections.abc import Callable
from typing import NamedTuple

from runtime.disk import DirectoryLock
from tests.support.inodes import Directory, EachByItself, File, PowerCut


class Crash(BaseException):
    """The process stopped here. No `except Exception` on the way may swallow it."""


class _Failure(NamedTuple):
    call: str
    code: int
    path_ends: str


class _Open:
    """What a descriptor stands for."""

    def __init__(self, file: File, path: str, writable: bool) -> None:
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
        self.root = Directory()
        self.changes = 0
        self.calls: list[tuple[str, str]] = []
        self.fsyncs = 0
        self.opened = 0
        self.now_ms = 0
        self.boots = 1
        self.torn_writes = False
        self._total, self._usable = total, usable
        self._crash_at: int | None = None
        self._dead = False
        self.asked = 0
        self.failed_call: tuple[str, str] | None = None
        self._fail_call: tuple[int, int, str | None] | None = None
        self._watch: Callable[[str], None] | None = None
        self._failures: list[_Failure] = []
        self._open: dict[int, _Open] = {}
        self._next_fd = 1000
        self._locks: set[str] = set()
        self._refused: list[File] = []

    # What a test does to the disk.

    def crash_at(self, change: int) -> None:
        """Raise Crash instead of making the change-th change from now (1 is the next)."""
        self._crash_at = self.changes + change

    def fail(self, call: str, code: int, *, path_ends: str = "", times: int = 1) -> None:
        """Raise OSError(code) at the next calls of this name on paths that end so."""
        self._failures.extend([_Failure(call, code, path_ends)] * times)

    def fail_call(self, number: int, code: int, *, from_then_on: str | None = None) -> None:
        """Raise OSError(code) at the number-th call from now, whatever it is.

        With `from_then_on` all later calls below that path fail as well: the drive is dead.
        `failed_call` tells which call it was.
        """
        self._fail_call = (self.asked + number, code, from_then_on)
        self.failed_call = None

    def clear_failures(self) -> None:
        """Forget failures not met yet."""
        self._failures.clear()
        self._fail_call = None

    def watch(self, callback: Callable[[str], None] | None) -> None:
        """Call this before every change, and when half of a write is done, with what comes next."""
        self._watch = callback

    def photograph(self) -> "FaultDisk":
        """A disk of its own that holds what this one does now, as a dead process leaves it."""
        other = FaultDisk(total=self._total, usable=self._usable)
        other.root = self.root.copy({})
        other.changes = self.changes
        other.now_ms = self.now_ms
        other.boots = self.boots
        return other

    def image(self) -> dict[str, bytes]:
        """Every path and what it holds as the kernel shows it; directories end in a slash."""
        found: dict[str, bytes] = {}
        waiting: list[tuple[str, File | Directory]] = [("", self.root)]
        while waiting:
            path, node = waiting.pop()
            if isinstance(node, File):
                found[path] = bytes(node.data)
            else:
                found[path + "/"] = b""
                waiting.extend((f"{path}/{name}", child) for name, child in node.names.items())
        return found

    def restart(self) -> None:
        """A new process: no descriptors, no locks, all bytes as the kernel had them.

        Pages that the drive refused to take count as evicted meanwhile: while they are shown, no
        process can tell that they are on no platter.
        """
        for opened in self._refused:
            opened.evict()
        self._refused.clear()
        self._dead = False
        self._crash_at = None
        self._open.clear()
        self._locks.clear()

    def power_cut(self, chance: random.Random | PowerCut | None = None) -> None:
        """A new boot: only what was synced is left, or what chance adds of the rest."""
        self.restart()
        self.boots += 1
        cut = EachByItself(chance) if isinstance(chance, random.Random) else chance or PowerCut()
        seen: set[int] = set()
        waiting: list[File | Directory] = [self.root]
        while waiting:
            node = waiting.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            if isinstance(node, File):
                node.come_back(cut.bytes_of(node))
            else:
                node.come_back(cut.names_of(node))
                waiting.extend(node.names.values())

    @property
    def open_count(self) -> int:
        """Descriptors open now."""
        return len(self._open)

    def sync_all(self) -> None:
        """Make everything durable, as a test's starting point."""
        waiting: list[File | Directory] = [self.root]
        while waiting:
            node = waiting.pop()
            node.sync()
            if isinstance(node, Directory):
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
        if isinstance(node, Directory):
            raise IsADirectoryError(errno.EISDIR, "is a directory", path)
        return self._descriptor(_Open(node, path, writable))

    def close(self, fd: int) -> None:
        opened = self._file(fd)
        del self._open[fd]
        if opened.writable:
            self._read("close", opened.path)

    def dup(self, fd: int) -> int:
        opened = self._file(fd)
        self._read("dup", opened.path)
        return self._descriptor(opened)

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
                opened.file.write(self.changes, position, content[: len(content) // 2])
            raise
        except OSError:
            opened.file.write(self.changes, position, content[: len(content) // 2])
            raise
        if self._watch is not None and len(content) > 1:
            opened.file.write(self.changes, position, content[: len(content) // 2])
            self._watch(f"half of {opened.path}")
        opened.file.write(self.changes, position, content)
        opened.file.mtime_ms = self.now_ms
        return len(content)

    def size(self, fd: int) -> int:
        opened = self._file(fd)
        self._read("size", opened.path)
        return len(opened.file.data)

    def truncate(self, fd: int, size: int) -> None:
        opened = self._file(fd)
        self._change("truncate", opened.path)
        opened.file.truncate(self.changes, size)
        opened.file.mtime_ms = self.now_ms

    def fsync(self, fd: int) -> None:
        opened = self._file(fd)
        try:
            self._change("fsync", opened.path)
        except OSError:
            opened.file.fail_to_sync()
            self._refused.append(opened.file)
            raise
        self.fsyncs += 1
        opened.file.sync()

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
        self._read("exists", path)
        try:
            self._find(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def isdir(self, path: str) -> bool:
        return self.exists(path) and isinstance(self._find(path), Directory)

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
        directory.names[name] = Directory()
        directory.changed(self.changes)

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
        directory.changed(self.changes)

    def rmtree(self, path: str) -> None:
        directory = self._find_directory(path)
        for name, node in list(directory.names.items()):
            child = posixpath.join(path, name)
            if isinstance(node, Directory):
                self.rmtree(child)
            else:
                self.unlink(child)
        self._change("rmdir", path)
        parent, name = self._parent(path)
        del parent.names[name]
        parent.changed(self.changes)

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

    def boot_id(self) -> str:
        """Counted."""
        return f"boot {self.boots}"

    def _alive(self) -> None:
        if self._dead:
            raise Crash

    def _read(self, call: str, path: str) -> None:
        self._alive()
        self._maybe_fail(call, path)

    def _change(self, call: str, path: str) -> None:
        self._alive()
        self._maybe_fail(call, path)
        if self._watch is not None:
            self._watch(f"{call} {path}")
        self.changes += 1
        self.calls.append((call, path))
        if self.changes == self._crash_at:
            self._dead = True
            raise Crash

    def _maybe_fail(self, call: str, path: str) -> None:
        self.asked += 1
        if self._fail_call is not None and self.asked >= self._fail_call[0]:
            number, code, below = self._fail_call
            if self.asked == number or (below is not None and path.startswith(below)):
                self.failed_call = self.failed_call or (call, path)
                raise OSError(code, "injected failure", path)
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

    def _new_file(self, directory: Directory, name: str) -> File:
        file = File()
        file.mtime_ms = self.now_ms
        directory.names[name] = file
        directory.changed(self.changes)
        return file

    def _move(self, call: str, source: str, target: str) -> None:
        node = self._find(source)
        old, old_name = self._parent(source)
        new, new_name = self._parent(target)
        self._change(call, target)
        del old.names[old_name]
        new.names[new_name] = node
        new.changed(self.changes)
        if old is not new:
            old.changed(self.changes)

    def _find(self, path: str) -> File | Directory:
        node: File | Directory = self.root
        for name in posixpath.normpath(path).strip("/").split("/"):
            if not isinstance(node, Directory):
                raise NotADirectoryError(errno.ENOTDIR, "not a directory", path)
            if name in ("", "."):
                continue
            if name not in node.names:
                raise FileNotFoundError(errno.ENOENT, "no such file or directory", path)
            node = node.names[name]
        return node

    def _find_file(self, path: str) -> File:
        node = self._find(path)
        if isinstance(node, Directory):
            raise IsADirectoryError(errno.EISDIR, "is a directory", path)
        return node

    def _find_directory(self, path: str) -> Directory:
        node = self._find(path)
        if isinstance(node, File):
            raise NotADirectoryError(errno.ENOTDIR, "not a directory", path)
        return node

    def _parent(self, path: str) -> tuple[Directory, str]:
        whole = posixpath.normpath(path)
        return self._find_directory(posixpath.dirname(whole) or "."), posixpath.basename(whole)
