"""The two clocks of the process, as a port.

Wall time stamps what leaves the process (log append time, retention); monotonic time measures
waits and may not jump. Nothing outside this package reads the operating system's clock, so tests
and simulations put a clock of their own in its place.
"""

import time
from typing import Protocol


class Clock(Protocol):
    """Where time comes from."""

    def now_ms(self) -> int:
        """Wall time in milliseconds since the epoch."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; never goes back."""


class SystemClock:
    """The operating system's clocks.

    `monotonic` is the C function itself: it is called twice a request, and a Python frame around
    it would double its price.
    """

    __slots__ = ()

    monotonic = staticmethod(time.monotonic)

    def now_ms(self) -> int:
        """Wall time in milliseconds since the epoch."""
        return time.time_ns() // 1_000_000
