"""Ports are taken first, and clients are told those really bound."""

import socket
from collections.abc import Iterator

import pytest

from broker.addresses import advertised_endpoints, bind_listeners, bound_text
from broker.data_directories import StartFailed
from broker.network.listener import SocketOptions
from config.listeners import Endpoint


@pytest.fixture
def bound() -> Iterator[dict[str, socket.socket]]:
    sockets = bind_listeners(
        [Endpoint("IN", "127.0.0.1", 0), Endpoint("OUT", "127.0.0.1", 0)], SocketOptions()
    )
    yield sockets
    for sock in sockets.values():
        sock.close()


def test_port_zero_takes_a_free_port_that_is_told(bound: dict[str, socket.socket]) -> None:
    port = bound["IN"].getsockname()[1]
    assert bound_text(bound["IN"]) == f"127.0.0.1:{port}"
    told = advertised_endpoints(
        [Endpoint("IN", "127.0.0.1", 0), Endpoint("OUT", "public.example", 9999)],
        bound,
        {"IN": "PLAINTEXT", "OUT": "PLAINTEXT"},
    )
    assert (told["IN"].host, told["IN"].port) == ("127.0.0.1", port)
    assert told["OUT"] == ("public.example", 9999, "PLAINTEXT")


def test_an_empty_advertised_host_is_this_machine(bound: dict[str, socket.socket]) -> None:
    told = advertised_endpoints([Endpoint("IN", "", 1)], bound, {})
    assert told["IN"].host == socket.gethostname()


def test_a_taken_port_refuses_the_start_and_frees_the_others(
    bound: dict[str, socket.socket],
) -> None:
    taken = bound["IN"].getsockname()[1]
    free = socket.create_server(("127.0.0.1", 0))
    port = free.getsockname()[1]
    free.close()
    with pytest.raises(StartFailed, match="choose another port"):
        bind_listeners(
            [Endpoint("A", "127.0.0.1", port), Endpoint("B", "127.0.0.1", taken)], SocketOptions()
        )
    socket.create_server(("127.0.0.1", port)).close()


def test_an_address_of_another_machine_is_named() -> None:
    with pytest.raises(StartFailed, match=r"192\.0\.2\.1:9"):
        bind_listeners([Endpoint("A", "192.0.2.1", 9)], SocketOptions())
