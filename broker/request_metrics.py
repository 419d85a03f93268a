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

Times = tuple[float, float, float, float, int]
"""received, started, handled, completed, and the bytes of the answer."""


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
        self._rows: list[tuple[Times, float]] = []

    def observe(self, answered: Sequence[Times], sent: float) -> None:
        """These requests were answered and their answers taken by the socket at `sent`.

        Answers leave many at a time, so the sums are made here once for all of them.
        """
        rows = self._rows
        count = self.count
        nbytes = 0
        queue_s = local_s = remote_s = 0.0
        send_s = sent * len(answered)
        for times in answered:
            if count < RESERVOIR_SIZE:
                rows.append((times, sent))
            else:
                rows[count & (RESERVOIR_SIZE - 1)] = (times, sent)
            count += 1
            received, started, handled, completed, size = times
            nbytes += size
            queue_s += started - received
            local_s += handled - started
            remote_s += completed - handled
            send_s -= completed
        self.count = count
        self.response_bytes += nbytes
        self.queue_s += queue_s
        self.local_s += local_s
        self.remote_s += remote_s
        self.send_s += send_s

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
            return quantiles((sent - times[0] for times, sent in rows), fractions)
        if phase == "send":
            return quantiles((sent - times[3] for times, sent in rows), fractions)
        return quantiles((times[index + 1] - times[index] for times, _ in rows), fractions)


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
