"""Pieces of families as text for Prometheus, by prometheus_client, without stalling the loop.

prometheus_client renders one piece at a time as a registry of its own; headers of a family's later
pieces and the end marks are cut off and the rest is put together family by family, since the
formats want all lines of a family side by side. Between pieces other callbacks get their turn.
"""

import asyncio
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from broker.metrics.families import Piece
from runtime.clock import Clock

if TYPE_CHECKING:
    from prometheus_client.core import Metric

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
CACHE_S = 1.0
"""Scrapes within a second get the same page: several scrapers cost one."""
TURN_S = 0.002
"""How long to render before other callbacks get a turn."""
END_MARK = b"# EOF\n"


def load_library() -> ModuleType:
    """Import prometheus_client; takes a tenth of a second, so a worker thread does it."""
    import prometheus_client
    import prometheus_client.openmetrics.exposition

    return prometheus_client


class _Registry:
    """What generate_latest() asks: an object that collects metrics."""

    def __init__(self, metrics: "list[Metric]") -> None:
        self._metrics = metrics

    def collect(self) -> "list[Metric]":
        """The metrics, once."""
        return self._metrics


def render(metric: "Metric", open_metrics: bool) -> bytes:
    """One metric with its header, without an end mark."""
    registry: Any = _Registry([metric])
    if open_metrics:
        from prometheus_client.openmetrics import exposition

        text: bytes = exposition.generate_latest(registry)  # type: ignore[no-untyped-call]
        return text.removesuffix(END_MARK)
    from prometheus_client import generate_latest

    return generate_latest(registry)


def metric_of(piece: Piece) -> "Metric":
    """A piece as prometheus_client's own kind of value."""
    from prometheus_client.core import Metric

    family = piece.family
    metric = Metric(family.name, family.help, family.kind)
    suffix = "_total" if family.kind == "counter" else ""
    for sample in piece.samples:
        metric.add_sample(family.name + (sample.suffix or suffix), sample.labels, sample.value)
    return metric


def without_header(text: bytes) -> bytes:
    """The sample lines alone."""
    return b"".join(line for line in text.splitlines(keepends=True) if not line.startswith(b"#"))


class Exposition:
    """Renders the page, at most once a second for each format."""

    def __init__(
        self,
        pieces: Callable[[], Iterator[Piece]],
        dialects: Callable[[], frozenset[str]],
        clock: Clock,
        process_metrics: "Callable[[], list[Metric]]",
    ) -> None:
        self._pieces = pieces
        self._dialects = dialects
        self._clock = clock
        self._process_metrics = process_metrics
        self._pages: dict[bool, tuple[float, bytes]] = {}
        self._lock = asyncio.Lock()

    async def page(self, open_metrics: bool) -> bytes:
        """The page in one of the two formats."""
        async with self._lock:
            made_at, page = self._pages.get(open_metrics, (-CACHE_S, b""))
            if self._clock.monotonic() - made_at >= CACHE_S:
                page = await self._render(open_metrics)
                self._pages[open_metrics] = (self._clock.monotonic(), page)
            return page

    async def _render(self, open_metrics: bool) -> bytes:
        shown = self._dialects()
        families: dict[str, list[bytes]] = {}
        turn_began = self._clock.monotonic()
        for piece in self._pieces():
            dialects = piece.family.dialects
            if not piece.samples or (dialects and not dialects & shown):
                continue
            text = render(metric_of(piece), open_metrics)
            lines = families.setdefault(piece.family.name, [])
            lines.append(without_header(text) if lines else text)
            if self._clock.monotonic() - turn_began > TURN_S:
                await next_turn()
                turn_began = self._clock.monotonic()
        for metric in self._process_metrics():
            families.setdefault(metric.name, [render(metric, open_metrics)])
        end = END_MARK if open_metrics else b""
        return b"".join(text for lines in families.values() for text in lines) + end


def next_turn() -> "asyncio.Future[None]":
    """Done at the loop's next turn, after everything that is ready now."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()
    loop.call_soon(future.set_result, None)
    return future
