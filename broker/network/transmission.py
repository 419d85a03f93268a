"""Answers on their way out: byte strings and slices of files, in order, as the socket takes them.

    [size+header+fields][FileSlice][fields][FileSlice] …
     send, MSG_MORE      sendfile   send    sendfile

A slice goes from the page cache to the socket by sendfile without passing through this process;
one too small to be worth the extra system call is read and joined with its neighbours. At most
`TURN_BYTES` leave in one turn, so one big answer does not hold up other connections.

A piece that is not in the page cache would make sendfile sleep: the transmission turns `COLD` and
`ColdPiece` sends it from a worker thread instead.

A slice is released as soon as it is sent, and whatever happens: a lost connection releases the
rest. A file that turns out shorter than promised, or was truncated under a slice, leaves the peer
in the middle of an answer that cannot be finished: `BrokenAnswer`, the connection is closed.
"""

import enum
import errno
import os
import socket
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeAlias

from broker.network.page_cache import resident

SENDFILE_MINIMUM = 16 * 1024
"""Slices below are read and joined: pread and one send are cheaper than send and sendfile."""

TURN_BYTES = 1024 * 1024
_MSG_MORE: int = getattr(socket, "MSG_MORE", 0)


class BrokenAnswer(Exception):
    """A slice does not hold the bytes it promised."""


class FileSlice(Protocol):
    """`nbytes` of an open file from `position`, held until released."""

    @property
    def fd(self) -> int:
        """Descriptor, open until `release`."""

    @property
    def position(self) -> int:
        """First byte in the file."""

    @property
    def nbytes(self) -> int:
        """How many bytes are promised."""

    @property
    def intact(self) -> bool:
        """The log was not truncated below the end of these bytes."""

    def read(self) -> bytes:
        """All of it; fewer bytes when the file is shorter."""

    def release(self) -> None:
        """The descriptor is not needed any more."""


Data: TypeAlias = bytes | bytearray | memoryview
Part: TypeAlias = Data | FileSlice


class Progress(enum.Enum):
    """How far a transmission got."""

    DONE = "done"
    BLOCKED = "blocked"
    YIELDED = "yielded"
    COLD = "cold"


DONE = Progress.DONE
BLOCKED = Progress.BLOCKED
YIELDED = Progress.YIELDED
COLD = Progress.COLD


def release_slices(parts: Iterable[Part]) -> None:
    """Let go of every slice among parts that will not be sent."""
    for part in parts:
        if not isinstance(part, (bytes, bytearray, memoryview)):
            part.release()


def joined(parts: Iterable[Part]) -> Iterator[Part]:
    """The same bytes with neighbouring byte strings made one."""
    run: list[Data] = []
    for part in parts:
        if isinstance(part, (bytes, bytearray, memoryview)):
            run.append(part)
            continue
        if run:
            yield b"".join(run)
            run.clear()
        yield part
    if run:
        yield run[0] if len(run) == 1 else b"".join(run)


def worth_reading(part: FileSlice) -> bool:
    """Reading and joining it costs less than sendfile, and does not wait for the disk."""
    return part.nbytes < SENDFILE_MINIMUM and resident(part.fd, part.position, part.nbytes)


def read_whole(part: FileSlice) -> bytes:
    """The slice as bytes, released. Raises BrokenAnswer when they are not all there."""
    try:
        _refuse_truncated(part)
        data = part.read()
    except BrokenAnswer:
        raise
    except Exception as error:
        # Parts of the answer are on their way: no other answer may follow them.
        raise BrokenAnswer(f"a file cannot be read: {error}") from error
    finally:
        part.release()
    if len(data) != part.nbytes:
        raise BrokenAnswer(f"{len(data)} bytes where a file promised {part.nbytes}")
    return data


class ColdPiece:
    """A piece of a file to be sent by a thread that may sleep; holds descriptors of its own."""

    __slots__ = ("_file", "_nbytes", "_position", "_socket")

    def __init__(self, sock: socket.socket, part: FileSlice, position: int, nbytes: int) -> None:
        self._socket = os.dup(sock.fileno())
        self._file = os.dup(part.fd)
        self._position = position
        self._nbytes = nbytes

    def send(self) -> int:
        """Bytes sent, 0 when the socket was full. Raises OSError, BrokenAnswer."""
        try:
            sent = _sendfile(self._socket, self._file, self._position, self._nbytes)
        except BlockingIOError:
            return 0
        finally:
            os.close(self._socket)
            os.close(self._file)
        if sent == 0:
            raise BrokenAnswer("a file ended before what it promised")
        return sent


class Transmission:
    """Parts being sent over one socket."""

    __slots__ = ("_parts", "_sent", "_warm_end")

    def __init__(self, parts: Iterable[Part]) -> None:
        self._parts = deque(joined(parts))
        self._sent = 0  # of the first part
        self._warm_end = 0  # bytes of the first part known to be in memory

    def advance(self, sock: socket.socket) -> Progress:
        """Send until done, until the socket is full, or for one turn.

        COLD means: have `cold_piece` sent elsewhere, then tell `piece_sent`. Raises OSError when
        the peer is gone, BrokenAnswer when a file is; call `release` then.
        """
        parts = self._parts
        allowance = TURN_BYTES
        try:
            while parts:
                if allowance <= 0:
                    return YIELDED
                first = parts[0]
                if isinstance(first, (bytes, bytearray, memoryview)):
                    allowance -= self._send_data(sock, first, allowance)
                    continue
                size = min(first.nbytes - self._sent, allowance)
                if not self._warm(first, size):
                    return COLD
                allowance -= self._send_slice(sock, first, size)
        except BlockingIOError:
            return BLOCKED
        return DONE

    def cold_piece(self, sock: socket.socket) -> ColdPiece:
        """What to send from a thread after COLD."""
        part = self._parts[0]
        assert not isinstance(part, (bytes, bytearray, memoryview))
        _refuse_truncated(part)
        size = min(part.nbytes - self._sent, TURN_BYTES)
        return ColdPiece(sock, part, part.position + self._sent, size)

    def piece_sent(self, nbytes: int) -> None:
        """So much of the cold piece has left."""
        part = self._parts[0]
        assert not isinstance(part, (bytes, bytearray, memoryview))
        self._sent += nbytes
        self._warm_end = self._sent
        if self._sent == part.nbytes:
            self._next()
            part.release()

    def append(self, parts: Iterable[Part]) -> None:
        """Send these behind what is left."""
        self._parts.extend(joined(parts))

    @property
    def done(self) -> bool:
        """Nothing is left to send."""
        return not self._parts

    def release(self) -> None:
        """Give up on what was not sent."""
        parts, self._parts = self._parts, deque()
        release_slices(parts)

    def _next(self) -> None:
        self._parts.popleft()
        self._sent = 0
        self._warm_end = 0

    def _send_data(self, sock: socket.socket, data: Data, allowance: int) -> int:
        whole = len(data)
        piece: Data = data
        if self._sent or whole > allowance:
            piece = memoryview(data)[self._sent : self._sent + allowance]
        last = len(self._parts) == 1 or self._sent + len(piece) < whole
        sent = sock.send(piece, 0 if last else _MSG_MORE)
        self._sent += sent
        if self._sent == whole:
            self._next()
        return sent

    def _warm(self, part: FileSlice, size: int) -> bool:
        end = self._sent + size
        if end > self._warm_end:
            known = max(self._warm_end, self._sent)
            if not resident(part.fd, part.position + known, end - known):
                return False
            self._warm_end = end
        return True

    def _send_slice(self, sock: socket.socket, part: FileSlice, size: int) -> int:
        _refuse_truncated(part)
        sent = _sendfile(sock.fileno(), part.fd, part.position + self._sent, size)
        if sent == 0:
            raise BrokenAnswer(f"a file ended at {self._sent} of {part.nbytes} promised bytes")
        self._sent += sent
        if self._sent == part.nbytes:
            self._next()
            part.release()
        return sent


def _sendfile(sock: int, file: int, position: int, nbytes: int) -> int:
    """os.sendfile, but a disk that fails is no peer that went away: BrokenAnswer."""
    try:
        return os.sendfile(sock, file, position, nbytes)
    except OSError as error:
        if error.errno == errno.EIO:
            raise BrokenAnswer(f"a file cannot be read: {error}") from error
        raise


def _refuse_truncated(part: FileSlice) -> None:
    if not part.intact:
        raise BrokenAnswer("the log was truncated while it was being sent")
