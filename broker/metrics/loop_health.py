"""How late the event loop wakes, and how much of the time its thread is idle.

A timer asks to be called at a fixed pace; by how much it comes late is what every request may have
had to wait. Idle is what the thread's processor time leaves of the wall clock between two looks.
"""

import time

from runtime.clock import Clock
from runtime.metrics import Summary

PROBE_MS = 20
"""Pace of the probe: 50 wake-ups a second cost about 0.1 % of a core."""
IDLE_WINDOW_S = 1.0


class LoopHealth:
    """Lag and idleness of the loop whose scheduler calls `probe` every PROBE_MS."""

    __slots__ = ("_clock", "_due", "_idle", "_looked", "_thread_s", "lag_s")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.lag_s = Summary()
        self._due = 0.0
        self._looked = clock.monotonic()
        self._thread_s = time.thread_time()
        self._idle = 1.0

    def probe(self) -> None:
        """Called by the scheduler, PROBE_MS after the last call or later."""
        now = self._clock.monotonic()
        if self._due:
            self.lag_s.observe(max(now - self._due, 0.0))
        self._due = now + PROBE_MS / 1000

    def idle_fraction(self) -> float:
        """Share of the time since the last look that the calling thread was idle, 0 to 1."""
        now, used = self._clock.monotonic(), time.thread_time()
        if now - self._looked >= IDLE_WINDOW_S:
            busy = (used - self._thread_s) / (now - self._looked)
            self._idle = min(max(1.0 - busy, 0.0), 1.0)
            self._looked, self._thread_s = now, used
        return self._idle
