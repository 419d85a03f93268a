"""All logs are loaded by lanes; failures stay in their tasks, bugs do not hide."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from broker import log_loading
from broker.load_progress import LoadInterrupted, LoadProgress
from broker.log_loading import run_load_tasks
from config.topic_config import LogConfig
from protocol.records.builder import build_batch
from runtime.disk import OsDisk
from storage.log.environment import LogIdentity
from storage.log_directory import LogDirectory
from storage.log_loading import NO_EXTENT, Extent, LoadTask
from storage.log_manager import LogManager
from storage.segment.recovery import Watch, unwatched
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import (
    PARTITION,
    START_MS,
    TOPIC_ID,
    environment,
    records,
)
from tests.support.manual_clock import ManualClock

CONFIG = LogConfig(segment_bytes=1000, index_interval_bytes=100)


class Task(LoadTask):
    """Loads nothing."""

    recovers = True

    def __init__(self, run: Callable[[], None] | None = None, path: str = "/data") -> None:
        self.ran = 0
        self.directory = LogDirectory(FaultDisk(), path)
        self.identity = LogIdentity(PARTITION, TOPIC_ID, f"{path}/orders-0", path)
        self._run = run

    def measure(self) -> Extent:
        return NO_EXTENT

    def __call__(self, watch: Watch = unwatched) -> None:
        self.ran += 1
        if self._run:
            self._run()


def fail() -> None:
    raise RuntimeError("bug")


async def load(
    tasks: Sequence[LoadTask], lanes: int = 2, progress: LoadProgress | None = None
) -> tuple[int, int]:
    progress = progress or LoadProgress(ManualClock())
    await run_load_tasks(tasks, asyncio.get_running_loop(), lanes, progress)
    return progress.done, progress.total


async def test_every_task_runs_once() -> None:
    tasks = [Task() for _ in range(50)]
    assert await load(tasks) == (50, 50)
    assert [task.ran for task in tasks] == [1] * 50
    assert await load([]) == (0, 0)


async def test_a_bug_in_a_task_is_raised() -> None:
    with pytest.raises(RuntimeError, match="bug"):
        await load([Task(fail)])


async def test_each_directory_has_as_many_lanes_as_it_may() -> None:
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
        await load(tasks, lanes=1, progress=progress)
    assert [task.ran for task in tasks] == [1] + [0] * 50
    assert progress.done == 1


async def test_an_interruption_after_the_last_log_is_too_late() -> None:
    progress = LoadProgress(ManualClock())
    assert await load([Task(progress.interrupt)], progress=progress) == (1, 1)


# Real logs, on a real disk.


def killed(path: str, partitions: int) -> None:
    """A directory of logs with six records each of one producer, none flushed, never closed."""
    directory = LogDirectory(OsDisk(), path)
    directory.open()
    manager = LogManager([directory], environment())
    manager.load(START_MS, lambda _topic: CONFIG, lambda _partition: None)
    for number in range(partitions):
        partition = PARTITION._replace(partition=number)
        log = manager.get_or_create(partition, TOPIC_ID, CONFIG, START_MS)
        for sequence in range(6):
            log.append_as_leader(batch(sequence), 3, START_MS)
    directory.release()


def batch(sequence: int) -> memoryview:
    data = build_batch(
        records([b"x" * 200]), producer_id=7, producer_epoch=1, base_sequence=sequence
    )
    return memoryview(bytearray(data))


def started(path: str) -> tuple[LogManager, list[LoadTask]]:
    directory = LogDirectory(OsDisk(), path)
    directory.open()
    manager = LogManager([directory], environment())
    return manager, manager.load_tasks(START_MS, lambda _topic: CONFIG, lambda _partition: TOPIC_ID)


def facts(manager: LogManager) -> list[object]:
    return [
        (
            log.topic_partition,
            log.log_end_offset,
            log.latest_epoch,
            [(segment.base_offset, segment.size) for segment in log.segments],
            [(entry.producer_id, list(entry.batches)) for entry in log.active_producers()],
        )
        for log in sorted(manager.all_logs(), key=lambda log: log.topic_partition)
    ]


async def loaded(path: str) -> tuple[list[object], LoadProgress]:
    manager, tasks = started(path)
    progress = LoadProgress(ManualClock())
    await run_load_tasks(tasks, asyncio.get_running_loop(), 2, progress)
    report = manager.finish_load(tasks)
    assert (report.loaded, report.recovered, report.damaged) == (5, 5, [])
    found = facts(manager)
    log = manager.all_logs()[0]
    assert log.append_as_leader(batch(6), 3, START_MS).base_offset == 6
    assert log.append_as_leader(batch(2), 3, START_MS).base_offset == 2, "a retry, one of five"
    for each in manager.all_logs():
        each.close()
    manager.abandon_load(tasks)
    return found, progress


@pytest.fixture
def few_bytes_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_loading, "APART_FROM_BYTES", 1)
    monkeypatch.setattr("os.cpu_count", lambda: 2)


@pytest.mark.usefixtures("few_bytes_are_many")
async def test_other_processes_find_out_what_this_one_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    killed(f"{tmp_path}/here", 5)
    killed(f"{tmp_path}/apart", 5)
    apart, progress = await loaded(f"{tmp_path}/apart")
    assert "Recovering unflushed segment" in caplog.text, "its log lines are ours"
    assert "(5/5 completed in" in caplog.text
    assert progress.nbytes > 5 * 6 * 200
    monkeypatch.setattr(log_loading, "APART_FROM_BYTES", 1 << 60)
    here, again = await loaded(f"{tmp_path}/here")
    assert again.nbytes == progress.nbytes
    assert apart == here


def pretended_python(path: Path, script: str) -> str:
    """A program to be run in place of the interpreter."""
    program = path / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


@pytest.mark.usefixtures("few_bytes_are_many")
async def test_what_a_dying_process_left_is_done_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("sys.executable", pretended_python(tmp_path, "exit 1"))
    killed(f"{tmp_path}/d", 5)
    found, _ = await loaded(f"{tmp_path}/d")
    assert len(found) == 5
    assert "they are tried here" in caplog.text


class InterruptedAtOnce(LoadProgress):
    """The signal comes when a process has begun."""

    def __init__(self, clock: ManualClock, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(clock)
        self.loop = loop

    def on_interrupt(self, stop: Callable[[], None]) -> None:
        super().on_interrupt(stop)
        self.loop.call_soon_threadsafe(self.interrupt)


@pytest.mark.usefixtures("few_bytes_are_many")
async def test_an_interruption_ends_other_processes_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", pretended_python(tmp_path, "exec sleep 1000"))
    killed(f"{tmp_path}/d", 5)
    manager, tasks = started(f"{tmp_path}/d")
    with pytest.raises(LoadInterrupted):
        await run_load_tasks(
            tasks,
            asyncio.get_running_loop(),
            2,
            InterruptedAtOnce(ManualClock(), asyncio.get_running_loop()),
        )
    manager.abandon_load(tasks)


async def test_a_recovery_here_is_given_up_in_its_midst(tmp_path: Path) -> None:
    killed(f"{tmp_path}/d", 1)
    manager, tasks = started(f"{tmp_path}/d")
    progress = LoadProgress(ManualClock())
    (task,) = tasks
    progress.interrupted = True
    with pytest.raises(LoadInterrupted):
        await run_load_tasks(tasks, asyncio.get_running_loop(), 1, progress)
    with pytest.raises(LoadInterrupted):
        task(_raise)
    assert task.changed_files, "so that the directory does not count as closed cleanly"
    manager.abandon_load(tasks)


def _raise(_nbytes: int) -> None:
    raise LoadInterrupted
