"""Accepting goes on whatever happens to single connections or to the process's limits."""

import asyncio
import errno
import logging
import socket

import pytest

from broker.network import listener as listener_module
from broker.network.listener import Listener, SocketOptions, bind
from tests.support.network import served


def test_a_bound_socket_has_the_options_its_connections_shall_inherit() -> None:
    with bind("127.0.0.1", 0, SocketOptions(20_000, 30_000, 5)) as sock:
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) >= 20_000
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) >= 30_000
        assert sock.getblocking() is False
        with socket.create_connection(sock.getsockname()), wait_accept(sock) as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) >= 20_000


def wait_accept(sock: socket.socket) -> socket.socket:
    sock.settimeout(10)
    return sock.accept()[0]


def test_an_address_in_use_is_an_error_and_leaks_nothing() -> None:
    with bind("127.0.0.1", 0, SocketOptions()) as sock:
        with pytest.raises(OSError, match="in use") as caught:
            bind("127.0.0.1", sock.getsockname()[1], SocketOptions())
        assert caught.value.errno == errno.EADDRINUSE


def test_an_empty_host_means_every_interface() -> None:
    with (
        bind("", 0, SocketOptions()) as sock,
        socket.create_connection(("127.0.0.1", sock.getsockname()[1])),
    ):
        assert sock.getsockname()[1] > 0


async def test_a_listener_tells_where_it_is_really_bound() -> None:
    async with served() as running:
        host, port = running.listener.address
        assert host == "127.0.0.1"
        assert port > 0


async def test_a_paused_listener_leaves_clients_in_the_backlog() -> None:
    async with served() as running:
        running.listener.pause()
        running.listener.pause()
        client = await running.client()
        await asyncio.sleep(0.01)
        assert running.server.open_connections == 0
        running.listener.resume()
        assert await client.ask(b"enow") == b"now"
        assert running.listener.accepted == 1
        client.close()


class Exhausted:
    """A listening socket whose accept fails as it does without descriptors."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self.failing = True
        self.calls = 0

    def accept(self) -> tuple[socket.socket, tuple[str, int]]:
        self.calls += 1
        if self.failing:
            raise OSError(errno.EMFILE, "Too many open files")
        sock, address = self._socket.accept()
        return sock, address

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()


async def test_without_descriptors_accepting_pauses_says_so_once_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(listener_module, "RETRY_S", 0.01)
    loop = asyncio.get_running_loop()
    accepted: asyncio.Future[socket.socket] = loop.create_future()

    def take(_listener: Listener, sock: socket.socket, _address: tuple[str, int]) -> bool:
        accepted.set_result(sock)
        return True

    exhausted = Exhausted(bind("127.0.0.1", 0, SocketOptions()))
    sock: socket.socket = exhausted  # type: ignore[assignment]  # accept, fileno, close are enough
    listener = Listener("TEST", sock, loop, take)
    with caplog.at_level(logging.ERROR):
        listener.resume()
        with socket.create_connection(exhausted._socket.getsockname()):
            while exhausted.calls < 3:
                await asyncio.sleep(0.001)
            exhausted.failing = False
            (await asyncio.wait_for(accepted, 10)).close()
    assert len(caplog.messages) == 1
    assert "Too many open files" in caplog.text
    listener.close()
    listener.resume()
