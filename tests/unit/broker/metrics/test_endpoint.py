"""The HTTP side, over real sockets."""

import asyncio
import gzip

import pytest

from broker.metrics import declarations as names
from broker.metrics.endpoint import MAX_HEAD_BYTES, MetricsEndpoint
from broker.metrics.exposition import Exposition
from broker.metrics.families import Piece, Sample
from broker.network.listener import SocketOptions, bind
from tests.support.manual_clock import ManualClock


class Server:
    """An endpoint on a free port over a page with many partitions."""

    def __init__(self, partitions: int = 1) -> None:
        labels = [{"topic": "t", "partition": str(index)} for index in range(partitions)]
        piece = Piece(names.LOG_SIZE, [Sample("", label, 1) for label in labels])
        exposition = Exposition(
            lambda: iter([piece]), lambda: frozenset("abc"), ManualClock(), list
        )
        self.ready = True
        self.endpoint = MetricsEndpoint(exposition, lambda: self.ready, asyncio.to_thread)
        self.port = 0

    async def __aenter__(self) -> "Server":
        sock = bind("127.0.0.1", 0, SocketOptions())
        self.port = sock.getsockname()[1]
        await self.endpoint.start(sock)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.endpoint.stop()

    async def ask(self, request: bytes) -> tuple[bytes, bytes]:
        """(head, body) of the answer."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(request)
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        head, _, body = answer.partition(b"\r\n\r\n")
        return head, body


async def test_the_page_comes_as_text_or_openmetrics_as_asked() -> None:
    async with Server() as server:
        head, body = await server.ask(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"200 OK" in head
        assert b"kafka_log_log_size" in body
        head, body = await server.ask(
            b"GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text\r\n\r\n"
        )
        assert b"openmetrics" in head
        assert body.endswith(b"# EOF\n")


async def test_a_large_page_is_compressed_for_whoever_takes_it() -> None:
    async with Server(partitions=2000) as server:
        head, body = await server.ask(b"GET /metrics HTTP/1.1\r\nAccept-Encoding: gzip\r\n\r\n")
        assert b"Content-Encoding: gzip" in head
        assert gzip.decompress(body).count(b"kafka_log_log_size{") == 2000


async def test_readiness_follows_the_broker_and_health_does_not() -> None:
    async with Server() as server:
        server.ready = False
        assert b"503" in (await server.ask(b"GET /readyz HTTP/1.1\r\n\r\n"))[0]
        assert b"200" in (await server.ask(b"GET /healthz HTTP/1.1\r\n\r\n"))[0]
        server.ready = True
        assert b"200" in (await server.ask(b"GET /readyz HTTP/1.1\r\n\r\n"))[0]


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /other HTTP/1.1\r\n\r\n", b"404"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", b"405"),
        (b"\x00\x00\x00\r\n\r\n", b"400"),
        (b"GET /" + b"x" * MAX_HEAD_BYTES * 2, b"431"),
    ],
)
async def test_what_is_no_scrape_is_told_so(request_: bytes, status: bytes) -> None:
    async with Server() as server:
        head, _ = await server.ask(request_)
        assert status in head
