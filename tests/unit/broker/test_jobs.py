"""Storage's work is planned and committed on the loop and done elsewhere."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from broker.jobs import JobRunner
from runtime.blocking import Workers
from runtime.clock import SystemClock
from runtime.scheduler import Scheduler
from storage.errors import StorageError
from storage.jobs import Job, PeriodicJob
from storage.log.partition_log import PartitionLog
from tests.support.manual_clock import ManualClock


class Piece:
    """One work: notes its steps and does as told."""

    def __init__(self, runner: "Running", name: str = "work") -> None:
        self.log_dir = "/data/one"
        self.jobs: Sequence[Job] = ()
        self.name = name
        self.error: Exception | None = None
        self.commit_error: Exception | None = None
        self.gate: threading.Event | None = None
        self._steps = runner.steps

    def work(self) -> None:
        if self.gate is not None:
            self.gate.wait(10)
        where = threading.current_thread() is threading.main_thread()
        self._steps.append(f"{self.name} {'on loop' if where else 'in worker'}")
        if self.error is not None:
            raise self.error

    def commit(self) -> Sequence[PartitionLog]:
        self._steps.append(f"{self.name} committed")
        if self.commit_error is not None:
            raise self.commit_error
        return [self]  # type: ignore[list-item]  # only handed through


class Running:
    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.steps: list[str] = []
        self.changed: list[object] = []
        self.storage_errors: list[tuple[str, StorageError]] = []
        self.clock = ManualClock()
        self.scheduler = Scheduler(loop, SystemClock())
        self.workers = Workers(loop, 2)
        self.runner = JobRunner(
            self.scheduler,
            self.workers,
            self.clock,
            lambda directory, error: self.storage_errors.append((directory, error)),
            self.changed.extend,
        )

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                await asyncio.sleep(0.0005)


@asynccontextmanager
async def running() -> AsyncIterator[Running]:
    one = Running()
    yield one
    one.runner.stop()
    one.scheduler.close()
    await one.workers.drain()
    one.workers.close(wait=True)


async def test_a_job_is_planned_worked_and_committed() -> None:
    async with running() as one:
        piece = Piece(one)
        planned: list[int] = []

        def plan(now_ms: int) -> list[Piece]:
            planned.append(now_ms)
            return [piece]

        one.runner.run([Job("flush-log", 0, plan)])
        assert one.runner.unfinished == {"flush-log": 1}
        await one.workers.drain()
        assert planned == [one.clock.now_ms()]
        assert one.steps == ["work in worker", "work committed"]
        assert one.changed == [piece]
        assert one.runner.unfinished == {}


async def test_a_delayed_job_waits_for_its_time() -> None:
    async with running() as one:
        one.runner.run([Job("delete-file", 5, lambda _now_ms: [Piece(one)])])
        assert one.steps == []
        await one.until(lambda: "work committed" in one.steps)


async def test_what_follows_from_a_commit_is_done_too() -> None:
    async with running() as one:
        first, second = Piece(one, "first"), Piece(one, "second")
        first.jobs = [Job("second", 0, lambda _now_ms: [second])]
        one.runner.run([Job("first", 0, lambda _now_ms: [first])])
        await one.until(lambda: "second committed" in one.steps)


async def test_a_periodic_job_repeats_and_does_not_overtake_itself() -> None:
    async with running() as one:
        gate = threading.Event()
        plans: list[int] = []

        def plan(_now_ms: int) -> list[Piece]:
            plans.append(1)
            piece = Piece(one)
            piece.gate = gate
            return [piece]

        one.runner.start([PeriodicJob("kafka-log-retention", lambda: 1, 0, plan)])
        await one.until(lambda: len(plans) == 1)
        await asyncio.sleep(0.02)
        assert len(plans) == 1
        gate.set()
        await one.until(lambda: len(plans) >= 3)


async def test_a_storage_error_takes_the_directory_and_skips_the_commit() -> None:
    async with running() as one:
        piece = Piece(one)
        piece.error = StorageError("/data/one", "cannot sync")
        one.runner.run([Job("flush-log", 0, lambda _now_ms: [piece])])
        await one.workers.drain()
        assert one.storage_errors == [("/data/one", piece.error)]
        assert one.steps == ["work in worker"]
        assert one.runner.failures == 0


async def test_a_storage_error_of_plan_or_commit_takes_the_directory_too() -> None:
    async with running() as one:

        def plan(_now_ms: int) -> list[Piece]:
            raise StorageError("/data/two", "cannot list")

        piece = Piece(one)
        piece.commit_error = StorageError("/data/one", "cannot swap")
        one.runner.run([Job("a", 0, plan), Job("b", 0, lambda _now_ms: [piece])])
        await one.workers.drain()
        assert [directory for directory, _ in one.storage_errors] == ["/data/two", "/data/one"]
        assert one.changed == []


@pytest.mark.parametrize("step", ["plan", "work", "commit"])
async def test_any_other_failure_is_logged_and_counted(
    step: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with running() as one:
        piece = Piece(one)
        if step == "work":
            piece.error = ValueError("broken")
        if step == "commit":
            piece.commit_error = ValueError("broken")

        def plan(_now_ms: int) -> list[Piece]:
            if step == "plan":
                raise ValueError("broken")
            return [piece]

        with caplog.at_level(logging.ERROR):
            one.runner.run([Job("fragile", 0, plan)])
            await one.workers.drain()
        assert one.runner.failures == 1
        assert f"Job fragile: {step} failed" in caplog.text
        assert "ValueError: broken" in caplog.text


async def test_after_stopping_nothing_is_planned_and_running_work_commits() -> None:
    async with running() as one:
        gate = threading.Event()
        piece = Piece(one)
        piece.gate = gate
        piece.jobs = [Job("follows", 0, lambda _now_ms: [Piece(one, "never")])]
        one.runner.run([Job("flush-log", 0, lambda _now_ms: [piece])])
        one.runner.start(
            [PeriodicJob("never", lambda: 1, 0, lambda _now_ms: [Piece(one, "never")])]
        )
        one.runner.stop()
        gate.set()
        await one.workers.drain()
        assert one.steps == ["work in worker", "work committed"]
        assert one.scheduler.jobs() == [] or all(not job.active for job in one.scheduler.jobs())
