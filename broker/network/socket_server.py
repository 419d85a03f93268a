"""The listeners and connections of the process, from the first accept to the last close.

    bind → open → (accept → Connection)* → stop: no accepts, in-flight requests end, close

Idle connections are found by a scan of all, a few times in the idle time: a timer a connection
would cost a timer operation a request.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import NamedTuple

from broker.context import Peer
from broker.network.answers import FrameHandler
from broker.network.connection import Connection
from broker.network.connection_limits import ConnectionLimits, plain_host
from broker.network.listener import Listener
from broker.network.request_memory import RequestMemory
from broker.network.surroundings import Surroundings
from runtime.blocking import Workers
from runtime.logs import Occasional
from runtime.scheduler import ScheduledJob, Scheduler

_logger = logging.getLogger(__name__)

SCANS_PER_IDLE_TIME = 4
LONGEST_SCAN_PERIOD_MS = 10_000
SHORTEST_SCAN_PERIOD_MS = 100

STALLED_S = 10.0
"""How long the one frame beyond the memory cap may bring no byte while others wait."""


class ServerLimits(NamedTuple):
    """What clients may take; times in milliseconds, a negative idle time means for ever."""

    max_request_bytes: int
    request_memory_bytes: int
    connections: ConnectionLimits
    max_idle_ms: Callable[[], int]


class SocketServer:
    """Serves one handler on any number of listeners."""

    __slots__ = (
        "_connections",
        "_idle_scan",
        "_limits",
        "_listeners",
        "_log",
        "_loop",
        "_next_id",
        "_scheduler",
        "_shared",
        "_stopped",
        "closed_connections",
        "idle_closed",
        "open_by_listener",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        handler: FrameHandler,
        monotonic: Callable[[], float],
        scheduler: Scheduler,
        workers: Workers,
        limits: ServerLimits,
    ) -> None:
        self._loop = loop
        self._scheduler = scheduler
        self._limits = limits
        memory = RequestMemory(limits.request_memory_bytes)
        self._shared = Surroundings(loop, handler, monotonic, workers, memory, self._forget)
        self._log = Occasional(_logger, monotonic)
        self._listeners: list[Listener] = []
        self._connections: dict[Connection, None] = {}
        self._next_id = 0
        self._idle_scan: ScheduledJob | None = None
        self._stopped: asyncio.Future[None] | None = None
        self.closed_connections = 0
        self.idle_closed = 0
        self.open_by_listener: dict[str, int] = {}
        """Connections open now, by the name of the listener they came through."""

    def add_listener(self, name: str, sock: socket.socket) -> Listener:
        """Take a listening socket (see `listener.bind`); nothing is accepted before `open`."""
        listener = Listener(name, sock, self._loop, self._accepted)
        self._listeners.append(listener)
        self.open_by_listener[name] = 0
        return listener

    def open(self) -> None:
        """Accept connections on every listener."""
        for listener in self._listeners:
            listener.resume()
        if self._idle_scan is None:
            period = self._scan_period_ms
            self._idle_scan = self._scheduler.every("idle-connections", period, period(), self.scan)

    async def stop(self, timeout_s: float) -> None:
        """Accept no more, let requests in flight end for at most `timeout_s`, close everything."""
        for listener in self._listeners:
            listener.close()
        if self._idle_scan is not None:
            self._idle_scan.cancel()
        for connection in list(self._connections):
            connection.finish()
        if self._connections:
            self._stopped = self._loop.create_future()
            await asyncio.wait([self._stopped], timeout=timeout_s)
        for connection in list(self._connections):
            connection.close()

    def scan(self) -> None:
        """Close what was idle too long, or blocks others and brings nothing.

        Idle is a peer that takes nothing of its answer, too: it would hold the files of the answer
        for ever.
        Also the moment when a raised limit on connections takes effect.
        """
        now = self._shared.monotonic()
        max_idle_ms = self._limits.max_idle_ms()
        idle_since = now - max_idle_ms / 1000 if max_idle_ms >= 0 else -1.0
        memory = self._shared.memory
        for connection in list(self._connections):
            if connection.closed or not connection.waits_for_peer:
                continue
            if connection.last_active < idle_since:
                self.idle_closed += 1
                connection.close()
            elif (
                memory.waiting
                and memory.is_passing(connection)
                and connection.last_active < now - STALLED_S
            ):
                self._log.warning(
                    "Closing connection %s: its request stopped arriving while others wait for"
                    " its memory",
                    connection.peer.connection_id,
                )
                connection.close()
        self._accept_again()

    @property
    def listeners(self) -> list[Listener]:
        """In the order they were added."""
        return list(self._listeners)

    @property
    def open_connections(self) -> int:
        """Connections open now."""
        return len(self._connections)

    @property
    def held_bytes(self) -> int:
        """Memory that requests hold between turns."""
        return self._shared.memory.used

    @property
    def waiting_for_memory(self) -> int:
        """Connections whose large request waits for memory."""
        return self._shared.memory.waiting

    @property
    def bad_frames(self) -> int:
        """Connections closed for a size that no frame may have."""
        return self._shared.bad_frames

    @property
    def broken_answers(self) -> int:
        """Connections closed in the middle of an answer."""
        return self._shared.broken_answers

    def _scan_period_ms(self) -> int:
        idle_ms = self._limits.max_idle_ms()
        period_ms = idle_ms // SCANS_PER_IDLE_TIME if idle_ms >= 0 else LONGEST_SCAN_PERIOD_MS
        return min(max(period_ms, SHORTEST_SCAN_PERIOD_MS), LONGEST_SCAN_PERIOD_MS)

    def _accepted(self, listener: Listener, sock: socket.socket, address: tuple[str, int]) -> bool:
        """Take a new connection in; false when the listener should accept no more for now."""
        host = plain_host(address[0])
        limits = self._limits.connections
        if not limits.admit(host):
            self._log.warning("Refusing a connection from %s: it has too many", host)
            sock.close()
            return True
        self._next_id += 1
        peer = Peer(listener.name, host, f"{listener.name}-{self._next_id}", address[1])
        connection = Connection(sock, peer, self._limits.max_request_bytes, self._shared)
        self._connections[connection] = None
        self.open_by_listener[listener.name] += 1
        connection.start()
        if limits.full:
            for other in self._listeners:
                other.pause()
            return False
        return True

    def _forget(self, connection: Connection) -> None:
        del self._connections[connection]
        self.open_by_listener[connection.peer.listener_name] -= 1
        self.closed_connections += 1
        self._limits.connections.release(connection.peer.client_host)
        connection.peer.gone()
        if self._stopped is not None:
            if not self._connections and not self._stopped.done():
                self._stopped.set_result(None)
        else:
            self._accept_again()

    def _accept_again(self) -> None:
        if not self._limits.connections.full:
            for listener in self._listeners:
                listener.resume()
