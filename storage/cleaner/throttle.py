"""How long to wait so that bytes moved stay below a rate (log.cleaner.io.max.bytes.per.second).

What was moved takes its time at the rate; the next may begin when that time is over. Idle time is
not saved up. All cleanings share one, as Kafka's share a Throttler.
"""


class Throttle:
    """When the bytes moved so far will have taken their time."""

    __slots__ = ("_free_at_ms",)

    def __init__(self) -> None:
        self._free_at_ms = 0.0

    def delay_ms(self, moved_bytes: int, bytes_per_second: float, now_ms: int) -> int:
        """How long whoever moved so many bytes, just now, has to wait before moving more."""
        if bytes_per_second <= 0:
            return 0
        begin = max(self._free_at_ms, float(now_ms))
        self._free_at_ms = begin + moved_bytes / bytes_per_second * 1000
        return int(self._free_at_ms - now_ms)


def step_bytes(bytes_per_second: float, most_bytes: int, least_bytes: int, period_ms: int) -> int:
    """How much to move at a time so that waits are of about `period_ms` each."""
    if bytes_per_second * period_ms >= most_bytes * 1000:
        return most_bytes
    return max(least_bytes, int(bytes_per_second * period_ms / 1000))
