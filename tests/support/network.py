"""A socket server on loopback with a handler that does as each frame says, and a raw client."""

import asyncio
import os
import socket
import struct
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from broker.context import Peer
from broker.network.answers import ANSWERED, CLOSE, Answers, Outcome
from broker.network.connection_limits import ConnectionLimits
from broker.network.listener import SocketOptions, bind
from broker.network.socket_server import ServerLimits, SocketServer
from broker.network.transmission import Part
from broker.request_metrics import RequestMetrics
from runtime.blocking import Workers
from runtime.clock import SystemClock
from runtime.scheduler import Scheduler
from tests.support.manual_clock import ManualClock

UNLIMITED = 2**31 - 1
PATIENCE_S = 10


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def joined(parts: Sequence[Part]) -> bytes:
    """What goes to the socket, where no part is still in a file."""
    data = []
    for part in parts:
        assert isinstance(part, bytes | bytearray | memoryview)
        data.append(bytes(part))
    return b"".join(data)


class Slice:
    """A file slice that knows whether it was released."""

    def __init__(self, data: bytes, promised: int | None = None, position: int = 0) -> None:
        with tempfile.TemporaryFile() as file:
            file.write(bytes(position) + data)
            file.flush()
            self.fd = os.dup(file.fileno())
        self.position = position
        self.nbytes = len(data) if promised is None else promised
        self.intact = True
        self.released = 0

    def read(self) -> bytes:
        return os.pread(self.fd, self.nbytes, self.position)

    def release(self) -> None:
        self.released += 1
        os.close(self.fd)


class Pending:
    """An answer the test gives when it likes."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.deliver: Callable[[Answers | None], None] | None = None
        self.abandoned = False

    def attach(self, deliver: Callable[[Answers | None], None]) -> None:
        self.deliver = deliver

    def abandon(self) -> None:
        self.abandoned = True

    def answer(self, *parts: bytes | Slice) -> None:
        answers = Answers()
        answers.add(parts or (self.body,))
        assert self.deliver is not None
        self.deliver(answers)

    def close(self) -> None:
        assert self.deliver is not None
        self.deliver(None)


class ObedientHandler:
    """Does what the first byte of a frame says; the rest is the answer.

    e echo · n no answer · c close · p pending · s the next of `slices` · x fail
    """

    def __init__(self) -> None:
        self.handled: list[bytes] = []
        self.pending: list[Pending] = []
        self.slices: list[list[bytes | Slice]] = []
        self.metrics = RequestMetrics("Test")

    def dispatch(
        self, frame: memoryview, peer: Peer, received_at: float, answers: Answers
    ) -> Outcome | Pending:
        body = bytes(frame)
        self.handled.append(body[:16])
        order = body[:1]
        if order == b"p":
            self.pending.append(Pending(body[1:]))
            return self.pending[-1]
        if order == b"c":
            return CLOSE
        if order == b"x":
            raise ValueError("told to fail")
        nbytes = 0
        if order == b"e":
            nbytes = answers.add([body[1:]])
        elif order == b"s":
            nbytes = answers.add(self.slices.pop(0))
        answers.ledger.append(
            (self.metrics, (received_at, received_at, received_at, received_at, nbytes))
        )
        return ANSWERED


class Served:
    """A running server and its parts."""

    def __init__(
        self,
        max_request_bytes: int = 1 << 20,
        request_memory_bytes: int = 1 << 30,
        max_connections: int = UNLIMITED,
        max_per_host: int = UNLIMITED,
        max_idle_ms: int = -1,
        send_buffer_bytes: int = -1,
    ) -> None:
        loop = asyncio.get_running_loop()
        self.clock = ManualClock()
        self.handler = ObedientHandler()
        self.scheduler = Scheduler(loop, SystemClock())
        self.workers = Workers(loop, 2)
        self.limits = ConnectionLimits(
            lambda: max_connections, lambda: max_per_host, lambda: {"127.0.0.2": 0}
        )
        self.server = SocketServer(
            loop,
            self.handler,
            self.clock.monotonic,
            self.scheduler,
            self.workers,
            ServerLimits(max_request_bytes, request_memory_bytes, self.limits, lambda: max_idle_ms),
        )
        options = SocketOptions(send_buffer_bytes=send_buffer_bytes)
        self.listener = self.server.add_listener("TEST", bind("127.0.0.1", 0, options))
        self.server.open()

    async def client(self, receive_buffer_bytes: int | None = None) -> "Client":
        sock = socket.socket()
        if receive_buffer_bytes is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, self.listener.address)
        return Client(sock)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Let the loop run until something is so."""
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                await asyncio.sleep(0.0005)

    async def close(self) -> None:
        await self.server.stop(0)
        self.scheduler.close()
        await self.workers.drain()
        self.workers.close(wait=True)


@asynccontextmanager
async def served(**options: int) -> AsyncIterator[Served]:
    running = Served(**options)
    try:
        yield running
    finally:
        await running.close()


class Client:
    """The other end of a connection, in bytes."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._received = b""

    async def send(self, data: bytes) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.get_running_loop().sock_sendall(self.sock, data)

    async def receive(self, nbytes: int) -> bytes:
        """Exactly so many bytes; fewer when the server closes before."""
        pieces = [self._received]
        missing = nbytes - len(self._received)
        async with asyncio.timeout(PATIENCE_S):
            while missing > 0:
                try:
                    piece = await asyncio.get_running_loop().sock_recv(self.sock, 1 << 18)
                except ConnectionResetError:
                    piece = b""
                if not piece:
                    break
                pieces.append(piece)
                missing -= len(piece)
        received = b"".join(pieces)
        self._received = received[nbytes:]
        return received[:nbytes]

    async def receive_frame(self) -> bytes:
        (size,) = struct.unpack(">i", await self.receive(4))
        return await self.receive(size)

    async def ask(self, body: bytes) -> bytes:
        await self.send(frame(body))
        return await self.receive_frame()

    async def at_end(self) -> bool:
        """Nothing comes any more: the server has closed."""
        return await self.receive(1) == b""

    def close(self) -> None:
        self.sock.close()
