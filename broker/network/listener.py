"""A listening socket: accepts connections and survives what makes accepting fail.

Out of descriptors or memory, accepting pauses for a moment instead of spinning on a socket that
stays readable; one line says so until it works again.
"""

import asyncio
import errno
import logging
import socket
from collections.abc import Callable
from typing import NamedTuple

_logger = logging.getLogger(__name__)

ACCEPT_BATCH = 64
"""Connections accepted before others get their turn."""

RETRY_S = 0.1

_EXHAUSTED = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))


class SocketOptions(NamedTuple):
    """Sizes of socket buffers in bytes (-1: the system's) and of the backlog in connections."""

    send_buffer_bytes: int = -1
    receive_buffer_bytes: int = -1
    backlog: int = 50


class Listener:
    """One bound address with a name."""

    __slots__ = ("_exhausted", "_loop", "_on_accepted", "_paused", "_socket", "accepted", "name")

    def __init__(
        self,
        name: str,
        sock: socket.socket,
        loop: asyncio.AbstractEventLoop,
        on_accepted: "Callable[[Listener, socket.socket, tuple[str, int]], bool]",
    ) -> None:
        self.name = name
        self.accepted = 0
        self._socket = sock
        self._loop = loop
        self._on_accepted = on_accepted
        self._paused = True
        self._exhausted = False

    @property
    def address(self) -> tuple[str, int]:
        """Host and port really bound."""
        host, port = self._socket.getsockname()[:2]
        return host, port

    def resume(self) -> None:
        """Accept from now on."""
        if self._paused and self._socket.fileno() >= 0:
            self._paused = False
            self._loop.add_reader(self._socket.fileno(), self._on_connectable)

    def pause(self) -> None:
        """Leave clients in the backlog until `resume`."""
        if not self._paused:
            self._paused = True
            self._loop.remove_reader(self._socket.fileno())

    def close(self) -> None:
        """Accept no more; the address is free."""
        self.pause()
        self._socket.close()

    def _on_connectable(self) -> None:
        for _ in range(ACCEPT_BATCH):
            try:
                sock, address = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._failed(error)
                return
            self._exhausted = False
            self.accepted += 1
            sock.setblocking(False)
            if not self._on_accepted(self, sock, address[:2]):
                return

    def _failed(self, error: OSError) -> None:
        if not self._exhausted:
            self._exhausted = error.errno in _EXHAUSTED
            _logger.error("Listener %s cannot accept connections for now: %s", self.name, error)
        self.pause()
        self._loop.call_later(RETRY_S, self.resume)


def bind(host: str, port: int, options: SocketOptions) -> socket.socket:
    """A socket listening on the address; an empty host means every interface.

    Accepted sockets inherit its options: answers leave at once (TCP_NODELAY), dead peers are found
    (SO_KEEPALIVE). Raises OSError when the address cannot be had.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if options.send_buffer_bytes >= 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, options.send_buffer_bytes)
        if options.receive_buffer_bytes >= 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options.receive_buffer_bytes)
        sock.setblocking(False)
        sock.bind(address)
        sock.listen(options.backlog)
    except BaseException:
        sock.close()
        raise
    return sock
