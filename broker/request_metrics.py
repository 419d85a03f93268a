"""What happened to the requests of each API: counts, errors, and where the time went.

Kafka's `RequestMetrics` keeps a histogram per phase; here one row a request goes into a ring and
the phases are told apart when somebody looks, because most rows are never looked at.

    received ─ queue ─ started ─ local ─ handled ─ remote ─ completed ─ send ─ sent
       └──────────────────────────────── total ───────────────────────────────┘

All times are monotonic seconds. Queue is the wait behind frames that arrived together; remote is
the wait of a parked answer; send ends when the socket has taken the last byte.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from runtime.metrics import RESERVOIR_SIZE, quantiles

PHASES = ("queue", "local", "remote", "send", "total")

_Row = tuple[float, float, float, float, float]


class RequestMetrics:
    """Counts and timings of one API."""

    __slots__ = (
        "_rows",
        "count",
        "errors",
        "local_s",
        "name",
        "queue_s",
        "remote_s",
        "request_bytes",
        "response_bytes",
        "send_s",
        "versions",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.versions: dict[int, int] = defaultdict(int)
        self.errors: dict[int, int] = defaultdict(int)
        self.count = 0
        self.request_bytes = 0
        self.response_bytes = 0
        self.queue_s = 0.0
        self.local_s = 0.0
        self.remote_s = 0.0
        self.send_s = 0.0
        self._rows: list[_Row] = []

    def observe(
        self,
        received: float,
        started: float,
        handled: float,
        completed: float,
        sent: float,
        nbytes: int,
    ) -> None:
        """One request was answered with `nbytes`."""
        rows = self._rows
        count = self.count
        row = (received, started, handled, completed, sent)
        if count < RESERVOIR_SIZE:
            rows.append(row)
        else:
            rows[count & (RESERVOIR_SIZE - 1)] = row
        self.count = count + 1
        self.response_bytes += nbytes
        self.queue_s += started - received
        self.local_s += handled - started
        self.remote_s += completed - handled
        self.send_s += sent - completed

    @property
    def total_s(self) -> float:
        """Seconds from the first byte looked at to the last byte sent, of all requests."""
        return self.queue_s + self.local_s + self.remote_s + self.send_s

    def phase_total_s(self, phase: str) -> float:
        """Seconds all requests spent in a phase of `PHASES`."""
        value: float = getattr(self, f"{phase}_s")
        return value

    def phase_quantiles_s(self, phase: str, fractions: Sequence[float]) -> list[float]:
        """Quantiles of one phase over the newest requests, in seconds."""
        index = PHASES.index(phase)
        rows = self._rows
        if phase == "total":
            return quantiles((row[4] - row[0] for row in rows), fractions)
        return quantiles((row[index + 1] - row[index] for row in rows), fractions)


class RequestMetricsRegistry:
    """The metrics of every API that was asked for, made at first use."""

    __slots__ = ("_by_name", "bad_frames", "failures")

    def __init__(self) -> None:
        self._by_name: dict[str, RequestMetrics] = {}
        self.bad_frames = 0
        """Frames that were not Kafka's, or of an API or version not served."""
        self.failures = 0
        """Requests whose handler failed with something else than a Kafka error."""

    def of(self, name: str) -> RequestMetrics:
        """The metrics of one API by its Kafka name; the same object every time."""
        metrics = self._by_name.get(name)
        if metrics is None:
            metrics = self._by_name[name] = RequestMetrics(name)
        return metrics

    def __iter__(self) -> Iterator[RequestMetrics]:
        return iter(list(self._by_name.values()))
