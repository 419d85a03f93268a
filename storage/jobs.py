"""Background work of the logs, as data: plan → work → commit.

Storage keeps no timers and no threads. What it wants done later comes back from its calls as a
`Job` (`flush-log` after a roll, `delete-file` after `file.delete.delay.ms`), what it wants done
again and again is listed by `LogManager.periodic_jobs()`. Whoever owns the loop and the worker
threads runs them:

    works = job.plan(now_ms)        on the loop: choose, cheap, no file is touched
    each: work.work()               in a worker thread: own files and sealed bytes, no shared state
          logs = work.commit()      on the loop: put it in force; the logs whose offsets moved
          jobs = work.jobs          on the loop, after commit: what follows from it

`work()` raising StorageError takes `work.log_dir` offline and `commit()` is not called. The works
of one plan are independent and may run at the same time. A commit that finds the generation of its
log changed (truncated, deleted, renamed, offline) throws its outcome away.

Job names are Kafka's (kafka.log.LogManager, UnifiedLog of 3.9), so that logs and metrics read
alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from storage.log.partition_log import PartitionLog

NO_DELAY_MS = 0


class Work(Protocol):
    """One piece of background work on the files of one log directory."""

    @property
    def log_dir(self) -> str:
        """The directory that goes offline when `work()` raises StorageError."""

    @property
    def jobs(self) -> Sequence[Job]:
        """What follows, known after `commit()`."""

    def work(self) -> None:
        """Do it; runs in any thread."""

    def commit(self) -> Sequence[PartitionLog]:
        """Put it in force on the loop; returns the logs whose offsets moved."""


Plan = Callable[[int], Sequence[Work]]


class Job:
    """Something to do once, `delay_ms` from now: `plan(now_ms)` is called when it is due."""

    __slots__ = ("delay_ms", "name", "plan")

    def __init__(self, name: str, delay_ms: int, plan: Plan) -> None:
        self.name = name
        self.delay_ms = delay_ms
        self.plan = plan

    def __repr__(self) -> str:
        return f"Job({self.name}, delay_ms={self.delay_ms})"


class PeriodicJob:
    """Something to do every `period_ms()`, first after `delay_ms`."""

    __slots__ = ("delay_ms", "name", "period_ms", "plan")

    def __init__(self, name: str, period_ms: Callable[[], int], delay_ms: int, plan: Plan) -> None:
        self.name = name
        self.period_ms = period_ms
        self.delay_ms = delay_ms
        self.plan = plan

    def __repr__(self) -> str:
        return f"PeriodicJob({self.name}, delay_ms={self.delay_ms})"


NO_JOBS: tuple[Job, ...] = ()


class OffLoopWork:
    """Work that only touches files and changes no state of a log: nothing is left to commit."""

    __slots__ = ("_function", "jobs", "log_dir")

    def __init__(
        self, log_dir: str, function: Callable[[], None], jobs: Sequence[Job] = ()
    ) -> None:
        self.log_dir = log_dir
        self.jobs = jobs
        self._function = function

    def work(self) -> None:
        """Call the function."""
        self._function()

    def commit(self) -> Sequence[PartitionLog]:
        """Nothing changed that a reader could see."""
        return ()


class OnLoopWork:
    """A slice of work that has to run on the loop: `commit()` does it, `work()` only gives other
    callbacks their turn.

    `function` returns the logs that changed and the jobs that follow.
    """

    __slots__ = ("_function", "jobs", "log_dir")

    def __init__(
        self,
        log_dir: str,
        function: Callable[[], tuple[Sequence[PartitionLog], Sequence[Job]]],
    ) -> None:
        self.log_dir = log_dir
        self._function = function
        self.jobs: Sequence[Job] = ()

    def work(self) -> None:
        """Nothing to do away from the loop."""

    def commit(self) -> Sequence[PartitionLog]:
        """Run the slice."""
        changed, self.jobs = self._function()
        return changed
