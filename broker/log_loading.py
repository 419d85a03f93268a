"""Loading all logs at start, in worker threads, with a line of progress now and then.

The loop stays free meanwhile, so signals are answered during a long recovery.
"""

import logging
from collections.abc import Sequence
from typing import Final

from runtime.blocking import Workers
from runtime.clock import Clock
from storage.log_loading import LoadTask

_log = logging.getLogger(__name__)

PROGRESS_S: Final = 2.0
BATCHES_PER_THREAD: Final = 8
"""Tasks are handed out in batches: a thread that got the long recoveries is not alone for long."""


class LoadProgress:
    """How many logs are loaded, of how many; read by whoever tells about the start."""

    __slots__ = ("_clock", "_told_at", "done", "total")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._told_at = clock.monotonic()
        self.total = 0
        self.done = 0

    def advance(self, count: int) -> None:
        """So many more are loaded."""
        self.done += count
        now = self._clock.monotonic()
        if now - self._told_at >= PROGRESS_S and self.done < self.total:
            self._told_at = now
            _log.info("Loaded %d of %d logs", self.done, self.total)


async def run_load_tasks(
    tasks: Sequence[LoadTask], workers: Workers, threads: int, progress: LoadProgress
) -> None:
    """Every task has run once this returns; failures are kept in the tasks."""
    progress.total = len(tasks)
    recovering = sum(task.recovers for task in tasks)
    if recovering:
        _log.info("Recovering %d logs after an unclean shutdown", recovering)
    size = max(1, len(tasks) // (threads * BATCHES_PER_THREAD))
    batches = [tasks[start : start + size] for start in range(0, len(tasks), size)]

    def finished(count: int | None, error: BaseException | None) -> None:
        if error is not None:
            failures.append(error)
        progress.advance(count or 0)

    failures: list[BaseException] = []
    for batch in batches:
        workers.submit(_run_batch, batch, done=finished)
    await workers.drain()
    if failures:
        raise failures[0]


def _run_batch(batch: Sequence[LoadTask]) -> int:
    for task in batch:
        task()
    return len(batch)
