"""Jobs run on the loop, when they are due, whatever other jobs do."""

import asyncio
import logging

import pytest

from runtime.clock import SystemClock
from runtime.scheduler import Scheduler
from tests.support.manual_clock import ManualClock


class Calls:
    """Counts calls and lets a test wait for the n-th."""

    def __init__(self) -> None:
        self.count = 0
        self._changed = asyncio.Event()

    def __call__(self) -> None:
        self.count += 1
        self._changed.set()

    async def reach(self, count: int) -> None:
        async with asyncio.timeout(10):
            while self.count < count:
                self._changed.clear()
                await self._changed.wait()


async def test_a_timer_runs_on_the_loop_after_its_delay() -> None:
    loop = asyncio.get_running_loop()
    scheduler = Scheduler(loop, SystemClock())
    started = loop.time()
    calls = Calls()
    scheduler.after(20, calls)
    await calls.reach(1)
    assert loop.time() - started >= 0.018  # the loop's clock and the system's differ by a tick
    scheduler.close()


async def test_an_earlier_timer_overtakes_a_later_one() -> None:
    scheduler = Scheduler(asyncio.get_running_loop(), SystemClock())
    order: list[str] = []
    done = Calls()

    def late() -> None:
        order.append("late")
        done()

    scheduler.after(30, late)
    scheduler.after(1, lambda: order.append("early"))
    await done.reach(1)
    assert order == ["early", "late"]
    scheduler.close()


async def test_a_cancelled_timer_does_not_run() -> None:
    scheduler = Scheduler(asyncio.get_running_loop(), SystemClock())
    cancelled, other = Calls(), Calls()
    scheduler.after(5, cancelled).cancel()
    scheduler.after(10, other)
    await other.reach(1)
    assert cancelled.count == 0
    scheduler.close()


async def test_a_periodic_job_repeats_until_cancelled() -> None:
    scheduler = Scheduler(asyncio.get_running_loop(), SystemClock())
    calls, other = Calls(), Calls()
    job = scheduler.every("tick", 1, 0, calls)
    await calls.reach(3)
    job.cancel()
    assert not job.active
    seen = calls.count
    scheduler.after(10, other)
    await other.reach(1)
    assert calls.count == seen
    scheduler.close()


async def test_a_live_period_is_asked_after_each_run() -> None:
    scheduler = Scheduler(asyncio.get_running_loop(), SystemClock())
    asked: list[int] = []

    def period() -> int:
        asked.append(1)
        return 1

    calls = Calls()
    scheduler.every("live", period, 0, calls)
    await calls.reach(3)
    scheduler.close()
    assert len(asked) >= 2


async def test_a_failing_job_is_logged_counted_and_runs_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scheduler = Scheduler(asyncio.get_running_loop(), SystemClock())
    calls = Calls()

    def fail() -> None:
        calls()
        raise ValueError("broken")

    with caplog.at_level(logging.ERROR):
        job = scheduler.every("fragile", 1, 0, fail)
        await calls.reach(2)
    scheduler.close()
    assert job.failures >= 1
    assert scheduler.failures == job.failures
    assert "Scheduled job fragile failed" in caplog.text


async def test_a_failing_timer_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    scheduler = Scheduler(asyncio.get_running_loop(), SystemClock())
    calls = Calls()

    def fail() -> None:
        raise ValueError("broken")

    with caplog.at_level(logging.ERROR):
        scheduler.after(0, fail)
        scheduler.after(0, calls)
        await calls.reach(1)
    assert scheduler.failures == 1
    scheduler.close()


async def test_jobs_lists_what_will_run_again() -> None:
    scheduler = Scheduler(asyncio.get_running_loop(), SystemClock())
    calls = Calls()
    scheduler.once("once", 0, calls)
    scheduler.every("again", 1000, 1000, calls)
    assert [job.name for job in scheduler.jobs()] == ["once", "again"]
    await calls.reach(1)
    assert [job.name for job in scheduler.jobs()] == ["again"]
    scheduler.close()
    assert scheduler.jobs() == []


async def test_after_closing_nothing_runs() -> None:
    loop = asyncio.get_running_loop()
    scheduler = Scheduler(loop, SystemClock())
    calls, other = Calls(), Calls()
    scheduler.after(1, calls)
    scheduler.once("once", 1, calls)
    scheduler.close()
    scheduler.after(0, calls)
    loop.call_later(0.01, other)
    await other.reach(1)
    assert calls.count == 0


async def test_a_clock_that_stands_still_fires_nothing() -> None:
    loop = asyncio.get_running_loop()
    clock = ManualClock()
    scheduler = Scheduler(loop, clock)
    calls, other = Calls(), Calls()
    scheduler.after(1, calls)
    loop.call_later(0.01, other)
    await other.reach(1)
    assert calls.count == 0
    clock.advance(2)
    await calls.reach(1)
    scheduler.close()


async def test_a_job_that_cancels_itself_does_not_run_again() -> None:
    scheduler = Scheduler(asyncio.get_running_loop(), SystemClock())
    calls, other = Calls(), Calls()

    def once() -> None:
        calls()
        job.cancel()

    job = scheduler.every("self", 1, 0, once)
    await calls.reach(1)
    scheduler.after(10, other)
    await other.reach(1)
    assert calls.count == 1
    assert scheduler.jobs() == []
    scheduler.close()
