"""Loading all logs at start, in worker threads, with a line of progress now and then.

Each directory has threads of its own, so that a slow disk keeps no other waiting; as many logs of
it are loaded at a time as `num.recovery.threads.per.data.dir` says. The loop stays free meanwhile:
signals and scrapes are answered during a long recovery, and the first signal interrupts it before
the next log.
"""

import asyncio
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


class LoadInterrupted(Exception):
    """The start was to stop while logs were being loaded; some tasks have not run."""


class LoadProgress:
    """How many logs are loaded, of how many; read by whoever tells about the start."""

    __slots__ = ("_clock", "_told_at", "done", "interrupted", "total")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._told_at = clock.monotonic()
        self.total = 0
        self.done = 0
        self.interrupted = False

    def advance(self, count: int) -> None:
        """So many more are loaded."""
        self.done += count
        now = self._clock.monotonic()
        if now - self._told_at >= PROGRESS_S and self.done < self.total:
            self._told_at = now
            _log.info("Loaded %d of %d logs", self.done, self.total)

    def interrupt(self) -> None:
        """Have no further task begin."""
        self.interrupted = True


async def run_load_tasks(
    tasks: Sequence[LoadTask],
    loop: asyncio.AbstractEventLoop,
    threads: int,
    progress: LoadProgress,
) -> None:
    """Every task has run once this returns, `threads` of a directory at a time.

    Failures are kept in the tasks; raises LoadInterrupted if some were left out.
    """
    progress.total = len(tasks)
    recovering = sum(task.recovers for task in tasks)
    if recovering:
        _log.info("Recovering %d logs after an unclean shutdown", recovering)
    loading = _Loading(progress)
    of_directories: dict[str, list[LoadTask]] = {}
    for task in tasks:
        of_directories.setdefault(task.directory.path, []).append(task)
    everyone: list[Workers] = []
    for some in of_directories.values():
        workers = Workers(loop, threads, name=f"recovery-{len(everyone)}")
        everyone.append(workers)
        size = max(1, len(some) // (threads * BATCHES_PER_THREAD))
        for start in range(0, len(some), size):
            workers.submit(loading.run, some[start : start + size], done=loading.finished)
    for workers in everyone:
        await workers.drain()
        workers.close(wait=False)
    if loading.failures:
        raise loading.failures[0]
    if progress.done < progress.total:
        raise LoadInterrupted


class _Loading:
    """The two ends of a batch: run in a worker, finished on the loop."""

    __slots__ = ("_progress", "failures")

    def __init__(self, progress: LoadProgress) -> None:
        self._progress = progress
        self.failures: list[BaseException] = []

    def run(self, batch: Sequence[LoadTask]) -> int:
        """How many ran before an interruption."""
        for count, task in enumerate(batch):
            if self._progress.interrupted:
                return count
            task()
        return len(batch)

    def finished(self, count: int | None, error: BaseException | None) -> None:
        """Keep what went wrong."""
        if error is not None:
            self.failures.append(error)
        self._progress.advance(count or 0)
