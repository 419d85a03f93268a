"""How fast moves between log directories may copy: all of them together, by bytes a second.

A bucket that fills at the rate and is drawn from after the fact: who took more than there was makes
everybody wait until it is paid back. The rate is asked for each time, so a changed setting counts
at once. Pure: told the time, answers a delay. Source: `alter.log.dirs.replication.quota`, KIP-113.
"""

from typing import Final

from config.definition import Live

BURST_MS: Final = 250
"""As much as the rate gives in this time may be copied at once after a pause."""
MOST_BYTES: Final = 1 << 20
FEWEST_BYTES: Final = 1 << 14


class MoveThrottle:
    """The bucket."""

    __slots__ = ("_balance", "_bytes_per_second", "_filled_ms")

    def __init__(self, bytes_per_second: Live[int], now_ms: int) -> None:
        self._bytes_per_second = bytes_per_second
        self._balance = 0.0
        self._filled_ms = now_ms

    def slice_bytes(self) -> int:
        """How much to copy in one go: small enough for the rate to be kept smoothly."""
        return min(MOST_BYTES, max(FEWEST_BYTES, self._bytes_per_second() // 8))

    def record(self, nbytes: int, now_ms: int) -> None:
        """So much was copied."""
        self._fill(now_ms)
        self._balance -= nbytes

    def delay_ms(self, now_ms: int) -> int:
        """How long to wait before more is copied."""
        self._fill(now_ms)
        if self._balance >= 0:
            return 0
        return max(1, round(-self._balance * 1000 / self._bytes_per_second()))

    def _fill(self, now_ms: int) -> None:
        rate = self._bytes_per_second()
        passed_ms = max(0, now_ms - self._filled_ms)
        self._filled_ms = now_ms
        self._balance = min(self._balance + rate * passed_ms / 1000, rate * BURST_MS / 1000)
