"""Loading all logs at start: in threads, and what takes long in processes of its own.

Each directory has lanes of its own, `num.recovery.threads.per.data.dir` of them, so that a slow
disk keeps no other waiting. A lane is a thread; what is to be read through after an unclean stop is
CPU-bound, so where there is much of it, and more than one log and lane, each lane hands its share
to a process (`broker.recovery_process`): two cores are twice as fast as one, and a small start pays
for no process.

The loop stays free meanwhile: signals and scrapes are answered, and the first signal ends the start
at once: a recovery that is given up leaves its directory closed uncleanly, as it was.
Source: LogManager.loadLogs (4.3).
"""

import asyncio
import logging
import os
from collections import deque
from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, Final

from broker.load_progress import LoadInterrupted, LoadProgress
from runtime.blocking import Workers
from storage.log_loading import LoadTask

if TYPE_CHECKING:
    from broker.recovery_process import RecoveryProcess

_log = logging.getLogger(__name__)

BATCHES_PER_LANE: Final = 8
"""Tasks are handed out in batches: a lane that got the long recoveries is not alone for long."""
APART_FROM_BYTES: Final = 64 << 20
"""What is worth processes: 20 to 800 ms of work against 80 ms until a process has begun."""
BATCH_BYTES: Final = 32 << 20
BATCH_LOGS: Final = 200


async def run_load_tasks(
    tasks: Sequence[LoadTask],
    loop: asyncio.AbstractEventLoop,
    lanes: int,
    progress: LoadProgress,
) -> None:
    """Every task has run once this returns, in so many lanes of each directory at a time.

    Failures are kept in the tasks; raises LoadInterrupted if some were left out.
    """
    progress.begin(tasks)
    of_directories: dict[str, list[LoadTask]] = {}
    for task in tasks:
        of_directories.setdefault(task.directory.path, []).append(task)
    loadings = [_Loading(some, loop, lanes, progress) for some in of_directories.values()]
    await asyncio.gather(*(loading.measure() for loading in loadings))
    recovering = [task for task in tasks if progress.extents[task].nbytes]
    apart = (
        len(recovering) > 1
        and len(loadings) * lanes > 1
        and (os.cpu_count() or 1) > 1
        and progress.nbytes >= APART_FROM_BYTES
    )
    await asyncio.gather(*(loading.run(apart=apart) for loading in loadings))
    for loading in loadings:
        if loading.failures:
            raise loading.failures[0]
    if progress.done < progress.total:
        raise LoadInterrupted
    progress.ended()


class _Loading:
    """The loading of one directory: batches of tasks, taken by lanes."""

    def __init__(
        self,
        tasks: Sequence[LoadTask],
        loop: asyncio.AbstractEventLoop,
        lanes: int,
        progress: LoadProgress,
    ) -> None:
        self._tasks = tasks
        self._lanes = lanes
        self._progress = progress
        self._loop = loop
        self._workers = Workers(loop, lanes, name="recovery")
        self._batches: deque[tuple[bool, Sequence[LoadTask]]] = deque()
        self._completed = count(1)
        self.failures: list[BaseException] = []

    async def measure(self) -> None:
        """Learn how much each recovery has to read."""
        unclean = [task for task in self._tasks if task.recovers]
        if unclean:
            extents = await self._workers.run(lambda: [task.measure() for task in unclean])
            self._progress.measured(dict(zip(unclean, extents, strict=True)))

    async def run(self, *, apart: bool) -> None:
        """Load everything, the recoveries in other processes if `apart`."""
        extents = self._progress.extents
        here = [task for task in self._tasks if not (apart and extents[task].nbytes)]
        there = [task for task in self._tasks if apart and extents[task].nbytes]
        there.sort(key=lambda task: extents[task].nbytes, reverse=True)
        self._batches.extend((True, batch) for batch in self._by_size(there))
        size = max(1, len(here) // (self._lanes * BATCHES_PER_LANE))
        self._batches.extend(
            (False, here[start : start + size]) for start in range(0, len(here), size)
        )
        for _ in range(min(self._lanes, len(self._batches))):
            self._workers.submit(self._lane, done=self._lane_ended)
        await self._workers.drain()
        self._workers.close(wait=False)

    def _by_size(self, tasks: Sequence[LoadTask]) -> list[list[LoadTask]]:
        batches: list[list[LoadTask]] = []
        room = 0
        for task in tasks:
            nbytes = self._progress.extents[task].nbytes
            if not batches or room < nbytes or len(batches[-1]) >= BATCH_LOGS:
                batches.append([])
                room = BATCH_BYTES
            batches[-1].append(task)
            room -= nbytes
        return batches

    def _lane_ended(self, _: None, error: BaseException | None) -> None:
        if error is not None and not isinstance(error, LoadInterrupted):
            self.failures.append(error)

    # In a worker thread.

    def _lane(self) -> None:
        """Take batches until there are none, or the start is to stop."""
        process: RecoveryProcess | None = None
        try:
            while self._batches and not self._progress.interrupted:
                try:
                    apart, batch = self._batches.popleft()
                except IndexError:
                    return  # another lane was quicker
                if not apart:
                    self._load_here(batch)
                    continue
                process = process or self._start_process()
                self._load_apart(process, batch)
        finally:
            if process is not None:
                process.close()

    def _start_process(self) -> "RecoveryProcess":
        from broker.recovery_process import RecoveryProcess

        process = RecoveryProcess(self._read)
        self._progress.on_interrupt(process.close)
        return process

    def _load_here(self, batch: Sequence[LoadTask]) -> None:
        done = []
        try:
            for task in batch:
                if self._progress.interrupted:
                    return
                begun = self._progress.monotonic()
                task(self._read)
                self._completed_one(task, begun)
                done.append(task)
        finally:
            self._tell(done, 0)

    def _load_apart(self, process: "RecoveryProcess", batch: Sequence[LoadTask]) -> None:
        begun = self._progress.monotonic()
        if not process.load(batch):
            if self._progress.interrupted:
                raise LoadInterrupted
            _log.warning("No process lived to recover %d logs; they are tried here", len(batch))
            self._load_here(batch)
            return
        for task in batch:
            self._completed_one(task, begun)
        self._tell(list(batch), 0)

    def _tell(self, tasks: Sequence[LoadTask], nbytes: int) -> None:
        self._loop.call_soon_threadsafe(self._progress.advance, tasks, nbytes)

    def _read(self, nbytes: int) -> None:
        if self._progress.interrupted:
            raise LoadInterrupted
        self._tell((), nbytes)

    def _completed_one(self, task: LoadTask, begun: float) -> None:
        _log.log(
            logging.INFO if self._progress.extents[task].nbytes else logging.DEBUG,
            "Completed load of %s in %d ms (%d/%d completed in %s)",
            task.identity.topic_partition,
            (self._progress.monotonic() - begun) * 1000,
            next(self._completed),
            len(self._tasks),
            task.directory.path,
        )
