"""Named jobs and one-shot timers on the event loop.

Jobs are plain functions called on the loop thread, one at a time; one that raises is logged and
counted and stays on its schedule. All deadlines sit in one timing wheel and the loop holds one
timer of its own, for the earliest of them: ten thousand waiting requests cost the loop nothing.
"""

import asyncio
import logging
from collections.abc import Callable

from runtime.clock import Clock
from runtime.timer import Callback, TimerEntry, TimingWheel

_logger = logging.getLogger(__name__)

TICK_MS = 1
WHEEL_SIZE = 64


class ScheduledJob:
    """One named job: what it did so far, and the way to stop it."""

    __slots__ = ("_entry", "failures", "name", "period_ms", "runs")

    def __init__(self, name: str, period_ms: Callable[[], int] | None) -> None:
        self.name = name
        self.period_ms = period_ms
        self.runs = 0
        self.failures = 0
        self._entry: TimerEntry | None = None

    def cancel(self) -> None:
        """The job does not run again; a run under way is not stopped."""
        self.period_ms = None
        if self._entry is not None:
            self._entry.cancel()
            self._entry = None

    @property
    def active(self) -> bool:
        """Waiting for its next run."""
        return self._entry is not None


class Scheduler:
    """Runs functions later on the loop it was made with."""

    __slots__ = (
        "_armed_ms",
        "_clock",
        "_closed",
        "_handle",
        "_jobs",
        "_loop",
        "_wheel",
        "failures",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock) -> None:
        self._loop = loop
        self._clock = clock
        self._wheel = TimingWheel(TICK_MS, WHEEL_SIZE, self._now_ms())
        self._handle: asyncio.TimerHandle | None = None
        self._armed_ms = 0
        self._jobs: dict[ScheduledJob, None] = {}
        self._closed = False
        self.failures = 0

    def after(self, delay_ms: int, callback: Callback) -> TimerEntry:
        """Call once, `delay_ms` from now, unless cancelled: the timer of a waiting request."""
        entry = self._wheel.add(self._now_ms() + max(delay_ms, 0), callback)
        if self._handle is None or entry.deadline_ms < self._armed_ms:
            self._arm()
        return entry

    def once(self, name: str, delay_ms: int, function: Callback) -> ScheduledJob:
        """Run a named job once."""
        job = ScheduledJob(name, None)
        self._start(job, delay_ms, function)
        return job

    def every(
        self, name: str, period_ms: Callable[[], int] | int, delay_ms: int, function: Callback
    ) -> ScheduledJob:
        """Run a named job again and again, `period_ms` after the end of the run before.

        A callable period is asked after each run, so a changed setting counts from then on.
        """
        period = period_ms if callable(period_ms) else _constant(period_ms)
        job = ScheduledJob(name, period)
        self._start(job, delay_ms, function)
        return job

    def jobs(self) -> list[ScheduledJob]:
        """The named jobs that will run again, oldest first."""
        return list(self._jobs)

    def close(self) -> None:
        """Nothing runs any more; what is armed later stays unarmed."""
        self._closed = True
        for job in self._jobs:
            job.cancel()
        self._jobs.clear()
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _start(self, job: ScheduledJob, delay_ms: int, function: Callback) -> None:
        self._jobs[job] = None
        job._entry = self.after(delay_ms, lambda: self._run(job, function))

    def _run(self, job: ScheduledJob, function: Callback) -> None:
        job._entry = None
        job.runs += 1
        try:
            function()
        except Exception:
            job.failures += 1
            self.failures += 1
            _logger.exception("Scheduled job %s failed", job.name)
        if job.period_ms is None or self._closed:
            self._jobs.pop(job, None)
        else:
            period_ms = max(job.period_ms(), TICK_MS)
            job._entry = self.after(period_ms, lambda: self._run(job, function))

    def _now_ms(self) -> int:
        return int(self._clock.monotonic() * 1000)

    def _arm(self) -> None:
        if self._closed:
            return
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        deadline_ms = self._wheel.next_deadline_ms
        if deadline_ms is not None:
            self._armed_ms = deadline_ms
            delay_s = max(deadline_ms / 1000 - self._clock.monotonic(), 0.0)
            self._handle = self._loop.call_later(delay_s, self._fire)

    def _fire(self) -> None:
        self._handle = None
        for entry in self._wheel.advance(self._now_ms()):
            try:
                entry.fire()
            except Exception:
                self.failures += 1
                _logger.exception("A timer's callback failed")
        if self._handle is None:
            self._arm()


def _constant(value: int) -> Callable[[], int]:
    return lambda: value
