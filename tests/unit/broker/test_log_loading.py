"""All logs are loaded by workers; failures stay in their tasks, bugs do not hide."""

import asyncio

import pytest

from broker.log_loading import PROGRESS_S, LoadProgress, run_load_tasks
from runtime.blocking import Workers
from tests.support.manual_clock import ManualClock


class Task:
    recovers = True

    def __init__(self, error=None):
        self.ran = 0
        self.error = error

    def __call__(self):
        self.ran += 1
        if self.error:
            raise self.error


@pytest.fixture
async def workers():
    made = Workers(asyncio.get_running_loop(), 2)
    yield made
    made.close(wait=True)


async def test_every_task_runs_once(workers):
    tasks = [Task() for _ in range(50)]
    progress = LoadProgress(ManualClock())
    await run_load_tasks(tasks, workers, 2, progress)
    assert [task.ran for task in tasks] == [1] * 50
    assert (progress.done, progress.total) == (50, 50)
    await run_load_tasks([], workers, 2, progress)


async def test_a_bug_in_a_task_is_raised(workers):
    progress = LoadProgress(ManualClock())
    with pytest.raises(RuntimeError, match="bug"):
        await run_load_tasks([Task(RuntimeError("bug"))], workers, 2, progress)


def test_progress_is_told_now_and_then(caplog):
    caplog.set_level("INFO")
    clock = ManualClock()
    progress = LoadProgress(clock)
    progress.total = 10
    progress.advance(1)
    assert caplog.text == ""
    clock.advance(int(PROGRESS_S * 1000))
    progress.advance(1)
    assert "Loaded 2 of 10 logs" in caplog.text
