"""Every task is kept, logged when it fails, and ended when the process stops."""

import asyncio
import logging

import pytest

from runtime.supervisor import Supervisor


async def test_a_spawned_task_runs_and_is_forgotten_at_its_end() -> None:
    supervisor = Supervisor(asyncio.get_running_loop())

    async def answer() -> int:
        return 42

    task = supervisor.spawn("answer", answer())
    assert len(supervisor) == 1
    assert await task == 42
    await asyncio.sleep(0)
    assert len(supervisor) == 0


async def test_a_failure_is_logged_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    supervisor = Supervisor(asyncio.get_running_loop())

    async def fail() -> None:
        raise ValueError("broken")

    with caplog.at_level(logging.ERROR):
        task = supervisor.spawn("fragile", fail())
        await asyncio.wait([task])
        await asyncio.sleep(0)
    assert supervisor.failures == 1
    assert "Task fragile failed" in caplog.text


async def test_stop_cancels_and_waits() -> None:
    supervisor = Supervisor(asyncio.get_running_loop())
    ended: list[str] = []

    async def wait_for_ever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("ended")

    supervisor.spawn("waits", wait_for_ever())
    await asyncio.sleep(0)
    assert await supervisor.stop(5) == []
    assert ended == ["ended"]
    assert supervisor.failures == 0


async def test_stop_names_those_that_do_not_end() -> None:
    supervisor = Supervisor(asyncio.get_running_loop())
    release = asyncio.Event()

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    task = supervisor.spawn("stubborn", stubborn())
    await asyncio.sleep(0)
    assert await supervisor.stop(0.01) == ["stubborn"]
    release.set()
    await asyncio.wait([task])


async def test_nothing_starts_after_stop() -> None:
    supervisor = Supervisor(asyncio.get_running_loop())
    assert await supervisor.stop(1) == []

    async def late() -> None:
        return

    with pytest.raises(RuntimeError, match="late"):
        supervisor.spawn("late", late())
