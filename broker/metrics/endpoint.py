"""The HTTP side: /metrics for Prometheus, /healthz and /readyz for whoever keeps the process.

Small on purpose: GET only, one request a connection, bounded in size and time. /healthz answers
when the loop turns; /readyz says 200 once the listeners serve and 503 before and while stopping.
"""

import asyncio
import gzip
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import TypeVar

from broker.metrics.exposition import OPEN_METRICS, TEXT, Exposition

_log = logging.getLogger(__name__)

MAX_HEAD_BYTES = 16 * 1024
"""Prometheus sends a few hundred bytes; a browser with cookies a few thousand."""
TIMEOUT_S = 10
MAX_CONNECTIONS = 32
"""A scraper needs one; a leak of connections must not eat the broker's descriptors."""
GZIP_LEVEL = 1
GZIP_FROM_BYTES = 8 * 1024

R = TypeVar("R")
Answer = tuple[str, str, bytes, bool]
"""Status line's tail, content type, body, compressed."""


class MetricsEndpoint:
    """Serves the page; `in_worker(function, *args)` runs compression off the loop."""

    def __init__(
        self,
        exposition: Exposition,
        ready: Callable[[], bool],
        in_worker: Callable[..., Awaitable[bytes]],
    ) -> None:
        self._exposition = exposition
        self._ready = ready
        self._in_worker = in_worker
        self._server: asyncio.Server | None = None
        self._open = 0

    async def start(self, sock: socket.socket) -> None:
        """Answer who connects to this listening socket, which `stop` closes."""
        self._server = await asyncio.start_server(self._serve, sock=sock, limit=MAX_HEAD_BYTES)

    async def stop(self) -> None:
        """Stop listening; answers under way are dropped."""
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            async with asyncio.timeout(TIMEOUT_S):
                if self._open <= MAX_CONNECTIONS:
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(_response(*await self._answer(head)))
                    await writer.drain()
        except (TimeoutError, ConnectionError, asyncio.IncompleteReadError):
            pass  # A scraper that went away is its own trouble.
        except asyncio.LimitOverrunError:
            writer.write(_response("431 Request Header Fields Too Large", TEXT, b"", False))
        except Exception:
            _log.exception("A scrape failed")
            writer.write(_response("500 Internal Server Error", TEXT, b"", False))
        finally:
            self._open -= 1
            writer.close()

    async def _answer(self, head: bytes) -> Answer:
        request_line, _, rest = head.partition(b"\r\n")
        words = request_line.split(b" ")
        if len(words) != 3:
            return "400 Bad Request", TEXT, b"this is an HTTP endpoint\n", False
        if words[0] != b"GET":
            return "405 Method Not Allowed", TEXT, b"only GET is served\n", False
        path = words[1].partition(b"?")[0]
        if path == b"/metrics":
            return await self._metrics(rest.lower())
        if path == b"/healthz":
            return "200 OK", TEXT, b"ok\n", False
        if path == b"/readyz":
            if self._ready():
                return "200 OK", TEXT, b"ready\n", False
            return "503 Service Unavailable", TEXT, b"not ready\n", False
        return "404 Not Found", TEXT, b"see /metrics, /healthz and /readyz\n", False

    async def _metrics(self, headers: bytes) -> Answer:
        open_metrics = b"application/openmetrics-text" in headers
        body = await self._exposition.page(open_metrics)
        compressed = b"gzip" in headers and len(body) >= GZIP_FROM_BYTES
        if compressed:
            body = await self._in_worker(gzip.compress, body, GZIP_LEVEL)
        return "200 OK", OPEN_METRICS if open_metrics else TEXT, body, compressed


def _response(status: str, content_type: str, body: bytes, compressed: bool) -> bytes:
    encoding = "Content-Encoding: gzip\r\n" if compressed else ""
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n{encoding}"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
