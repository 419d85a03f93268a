"""All logs are loaded by workers; failures stay in their tasks, bugs do not hide."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from broker.log_loading import PROGRESS_S, LoadInterrupted, LoadProgress, run_load_tasks
from storage.log_directory import LogDirectory
from storage.log_loading import LoadTask
from tests.support.fault_disk import FaultDisk
from tests.support.manual_clock import ManualClock


class Task(LoadTask):
    """Loads nothing."""

    recovers = True

    def __init__(self, run: Callable[[], None] | None = None, path: str = "/data") -> None:
        self.ran = 0
        self.directory = LogDirectory(FaultDisk(), path)
        self._run = run

    def __call__(self) -> None:
        self.ran += 1
        if self._run:
            self._run()


def fail() -> None:
    raise RuntimeError("bug")


async def load(
    tasks: Sequence[LoadTask], threads: int = 2, progress: LoadProgress | None = None
) -> tuple[int, int]:
    progress = progress or LoadProgress(ManualClock())
    await run_load_tasks(tasks, asyncio.get_running_loop(), threads, progress)
    return progress.done, progress.total


async def test_every_task_runs_once() -> None:
    tasks = [Task() for _ in range(50)]
    assert await load(tasks) == (50, 50)
    assert [task.ran for task in tasks] == [1] * 50
    assert await load([]) == (0, 0)


async def test_a_bug_in_a_task_is_raised() -> None:
    with pytest.raises(RuntimeError, match="bug"):
        await load([Task(fail)])


async def test_each_directory_has_as_many_threads_as_it_may() -> None:
    """Two of each directory meet at a barrier of four; a third of one never overlaps them."""
    barrier = threading.Barrier(4)
    lock = threading.Lock()
    running = dict.fromkeys(("/a", "/b"), 0)
    most = dict(running)

    def meet(path: str) -> None:
        with lock:
            running[path] += 1
            most[path] = max(most[path], running[path])
        barrier.wait(10)
        with lock:
            running[path] -= 1

    tasks = [Task(partial(meet, path), path) for path in ("/a", "/b") for _ in range(4)]
    assert await load(tasks) == (8, 8)
    assert most == {"/a": 2, "/b": 2}


async def test_an_interrupted_loading_ends_before_the_next_log() -> None:
    progress = LoadProgress(ManualClock())
    tasks = [Task(progress.interrupt), *(Task() for _ in range(50))]
    with pytest.raises(LoadInterrupted):
        await load(tasks, threads=1, progress=progress)
    assert [task.ran for task in tasks] == [1] + [0] * 50
    assert progress.done == 1


async def test_an_interruption_after_the_last_log_is_too_late() -> None:
    progress = LoadProgress(ManualClock())
    assert await load([Task(progress.interrupt)], progress=progress) == (1, 1)


def test_progress_is_told_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    clock = ManualClock()
    progress = LoadProgress(clock)
    progress.total = 10
    progress.advance(1)
    assert caplog.text == ""
    clock.advance(int(PROGRESS_S * 1000))
    progress.advance(1)
    assert "Loaded 2 of 10 logs" in caplog.text
