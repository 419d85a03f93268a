"""Bytes in, whole frames out, without a socket.

    frame     int32 size (big-endian) | size bytes

All connections receive into one shared buffer, so what a decoder has not handed out when its turn
ends must move. Where it moves decides what a peer can cost:

    a frame's start, small       copied aside, put back in front of the next receive
    a frame's start, large       moved once into a buffer of its own, which then receives directly
    whole frames                 copied aside (the connection is busy); parsed from there later

A buffer of its own is made at most `GROWTH` times as large as what has arrived of it, so a claimed
size alone costs nothing. Frames are views of the buffer they arrived in: valid until the turn ends,
except those above the size of the shared buffer, which always own theirs.

The owner keeps this order: `targets` → receive → `received` → `next_frame` until None or busy →
`suspend`. Source of the limits: Kafka's `NetworkReceive` (`socket.request.max.bytes`).
"""

from struct import Struct

_SIZE = Struct(">i")
SIZE_BYTES = 4
_HTTP = frozenset((b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"OPTI", b"PATC", b"CONN", b"PRI "))
_TLS_HANDSHAKE = b"\x16\x03"
"""A record of type 22 in version 3: how a ClientHello begins."""

SMALL_FRAME = 16 * 1024
"""Up to here an incomplete frame is copied aside, larger ones get a buffer of their own."""

GROWTH = 16
"""How many times what has arrived a frame's own buffer may be."""

LEAST_ARRIVED = 256
"""How much of a large frame must have arrived before it gets a buffer of its own."""


class FrameSizeError(Exception):
    """A size that no frame may have; nothing behind it on the stream can be trusted."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"frame of {size} bytes, allowed are 0 to {limit}{_stranger(size)}")
        self.size = size


def _stranger(size: int) -> str:
    """What else than Kafka begins with the four bytes that were taken for a size."""
    first = _SIZE.pack(size)
    if first in _HTTP:
        return ": this looks like HTTP, which is not spoken on this port"
    if first.startswith(_TLS_HANDSHAKE):
        return ": this looks like TLS, which this listener does not use"
    return ""


class FrameDecoder:
    """The receiving half of one connection."""

    __slots__ = ("_aside", "_filled", "_frame", "_position", "_size", "_window", "max_size")

    def __init__(self, max_size: int) -> None:
        self.max_size = max_size
        self._window: memoryview | None = None
        self._position = 0
        self._aside: bytes | bytearray = b""
        self._frame: bytearray | None = None
        self._filled = 0
        self._size = 0

    @property
    def held(self) -> int:
        """Bytes of memory that are this connection's own between turns."""
        frame = self._frame
        return len(self._aside) + (0 if frame is None else len(frame))

    @property
    def has_window(self) -> bool:
        """Bytes are there that `next_frame` has not looked at."""
        return self._window is not None or (self._frame is not None and self._filled == self._size)

    @property
    def needs_room(self) -> bool:
        """The frame's own buffer is full before the frame is: `grow` it before receiving."""
        frame = self._frame
        return frame is not None and self._filled == len(frame) < self._size

    def grow(self, room: int) -> None:
        """Enlarge the frame's own buffer by at most `room` (> 0) bytes."""
        frame = self._frame
        assert frame is not None
        self._frame = self._moved(memoryview(frame), room)

    def targets(self, shared: memoryview) -> tuple[memoryview, ...]:
        """Where the next bytes belong, in this order: a frame's own buffer, then `shared`.

        What follows a frame on the stream is received together with its end, for a system call
        more a frame is what large frames cost most.
        """
        frame = self._frame
        if frame is not None:
            rest = memoryview(frame)[self._filled :]
            return (rest, shared) if len(frame) == self._size else (rest,)
        aside = self._aside
        if aside:
            shared[: len(aside)] = aside
            return (shared[len(aside) :],)
        return (shared,)

    def received(self, shared: memoryview, nbytes: int) -> None:
        """`nbytes` have been written where `targets(shared)` said."""
        frame = self._frame
        if frame is not None:
            rest = len(frame) - self._filled
            if nbytes <= rest:
                self._filled += nbytes
                return
            self._filled += rest
            nbytes -= rest
        self._window = shared[: len(self._aside) + nbytes]
        self._position = 0
        self._aside = b""

    def next_frame(self) -> memoryview | None:
        """The next whole frame without its size, or None. Raises FrameSizeError."""
        if self._frame is not None:
            return self._own_frame()
        window = self._window
        if window is None:
            return None
        position = self._position
        start = position + SIZE_BYTES
        if start > len(window):
            return None
        (size,) = _SIZE.unpack_from(window, position)
        if not 0 <= size <= self.max_size:
            raise FrameSizeError(size, self.max_size)
        end = start + size
        if end > len(window):
            return None
        self._position = end
        return window[start:end]

    def suspend(self, room: int) -> bool:
        """Move what is left out of the shared buffer; true if whole frames are among it.

        `room` bounds what a frame's own buffer may have beyond the bytes that have arrived.
        """
        window = self._window
        if self._frame is not None:
            if window is not None:
                self._keep_frames(window[self._position :])
            return self._filled == self._size
        if window is None:
            return False
        rest = window[self._position :]
        size = _SIZE.unpack_from(rest)[0] if len(rest) >= SIZE_BYTES else 0
        arrived = len(rest) - SIZE_BYTES
        if arrived >= size or size > self.max_size:
            self._keep_frames(rest)
            return True
        self._window = None
        if size > SMALL_FRAME and arrived >= LEAST_ARRIVED:
            self._size = size
            self._filled = arrived
            self._aside = b""
            self._frame = self._moved(rest[SIZE_BYTES:], room)
        else:
            self._aside = bytes(rest)
        return False

    def _own_frame(self) -> memoryview | None:
        frame = self._frame
        if frame is None or self._filled < self._size:
            return None
        self._frame = None
        self._filled = 0
        return memoryview(frame)

    def _keep_frames(self, rest: memoryview) -> None:
        if not self._aside:
            self._aside = bytearray(rest)
            self._window = memoryview(self._aside)
            self._position = 0

    def _moved(self, arrived: memoryview, room: int) -> bytearray:
        filled = len(arrived)
        capacity = min(self._size, filled * GROWTH, filled + room)
        frame = bytearray(max(capacity, filled))
        frame[:filled] = arrived
        return frame
