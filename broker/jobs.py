"""Runs the background work of the logs: plan on the loop, work in a thread, commit on the loop.

    due → plan(now_ms) → [Work, …] → work() in workers → commit() on the loop → jobs that follow

A periodic job whose works are not finished when it comes due again skips that time. A work that
fails with StorageError takes its log directory offline and is not committed; any other failure is
a bug, logged, and the job stays on its schedule. After `stop` nothing new starts, and what runs
is waited for by draining the workers.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from runtime.blocking import Workers
from runtime.clock import Clock
from runtime.scheduler import ScheduledJob, Scheduler
from storage.errors import StorageError

if TYPE_CHECKING:
    from storage.jobs import Job, PeriodicJob, Plan, Work
    from storage.log.partition_log import PartitionLog

_logger = logging.getLogger(__name__)


class JobRunner:
    """Gives storage's jobs their time and their threads."""

    __slots__ = (
        "_clock",
        "_on_changed",
        "_on_storage_error",
        "_periodic",
        "_scheduler",
        "_stopped",
        "_unfinished",
        "_workers",
        "failures",
    )

    def __init__(
        self,
        scheduler: Scheduler,
        workers: Workers,
        clock: Clock,
        on_storage_error: "Callable[[str, StorageError], None]",
        on_changed: "Callable[[Sequence[PartitionLog]], None]",
    ) -> None:
        self._scheduler = scheduler
        self._workers = workers
        self._clock = clock
        self._on_storage_error = on_storage_error
        self._on_changed = on_changed
        self._periodic: list[ScheduledJob] = []
        self._unfinished: dict[str, int] = {}
        self._stopped = False
        self.failures = 0
        """Plans, works and commits that failed with something else than StorageError."""

    def run(self, jobs: "Iterable[Job]") -> None:
        """Do each job once when it is due; those without delay are planned at once."""
        for job in jobs:
            if job.delay_ms <= 0:
                self._plan(job.name, job.plan)
            else:
                self._scheduler.once(job.name, job.delay_ms, self._planner(job.name, job.plan))

    def start(self, jobs: "Iterable[PeriodicJob]") -> None:
        """Do these again and again until `stop`."""
        for job in jobs:
            run = self._periodic_planner(job.name, job.plan)
            self._periodic.append(self._scheduler.every(job.name, job.period_ms, job.delay_ms, run))

    def stop(self) -> None:
        """Plan nothing any more; works already handed to the workers still end and commit."""
        self._stopped = True
        for job in self._periodic:
            job.cancel()
        self._periodic.clear()

    @property
    def unfinished(self) -> dict[str, int]:
        """Works of each job name that are waiting or running."""
        return {name: count for name, count in self._unfinished.items() if count}

    def _planner(self, name: str, plan: "Plan") -> Callable[[], None]:
        return lambda: self._plan(name, plan)

    def _periodic_planner(self, name: str, plan: "Plan") -> Callable[[], None]:
        def run() -> None:
            if not self._unfinished.get(name):
                self._plan(name, plan)

        return run

    def _plan(self, name: str, plan: "Plan") -> None:
        if self._stopped:
            return
        try:
            works = plan(self._clock.now_ms())
        except StorageError as error:
            self._on_storage_error(error.directory, error)
            return
        except Exception:
            self._failed(name, "plan")
            return
        for work in works:
            self._unfinished[name] = self._unfinished.get(name, 0) + 1
            self._workers.submit(work.work, done=self._finisher(name, work))

    def _finisher(self, name: str, work: "Work") -> Callable[[None, BaseException | None], None]:
        def finish(_: None, error: BaseException | None) -> None:
            self._unfinished[name] -= 1
            if error is None:
                self._commit(name, work)
            elif isinstance(error, StorageError):
                self._on_storage_error(work.log_dir, error)
            else:
                self._failed(name, "work", error)

        return finish

    def _commit(self, name: str, work: "Work") -> None:
        try:
            changed = work.commit()
            jobs = work.jobs
        except StorageError as error:
            self._on_storage_error(work.log_dir, error)
            return
        except Exception:
            self._failed(name, "commit")
            return
        if changed:
            self._on_changed(changed)
        if jobs:
            self.run(jobs)

    def _failed(self, name: str, step: str, error: BaseException | None = None) -> None:
        self.failures += 1
        _logger.error("Job %s: %s failed", name, step, exc_info=error or True)
