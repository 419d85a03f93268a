"""How far a start is, as metrics, a bar and the log are told."""

import pytest

from broker.load_progress import PROGRESS_S, LoadProgress
from storage.log_directory import LogDirectory
from storage.log_loading import Extent, LoadTask
from tests.support.fault_disk import FaultDisk
from tests.support.manual_clock import ManualClock


class Task(LoadTask):
    def __init__(self, path: str) -> None:
        self.directory = LogDirectory(FaultDisk(), path)


A, B, CLEAN = Task("/a"), Task("/b"), Task("/b")


def begun() -> tuple[LoadProgress, ManualClock]:
    clock = ManualClock()
    progress = LoadProgress(clock)
    progress.begin([A, B, CLEAN])
    progress.measured({A: Extent(3, 300 << 20)})
    progress.measured({B: Extent(1, 100 << 20)})
    return progress, clock


def test_what_recovery_has_left_is_told_by_directory() -> None:
    progress, _ = begun()
    assert progress.remaining() == {"/a": (1, 3), "/b": (1, 1)}
    progress.advance([A, CLEAN], 0)
    assert progress.remaining() == {"/a": (0, 0), "/b": (1, 1)}
    progress.advance([B], 0)
    progress.ended()
    assert progress.remaining() == {"/a": (0, 0), "/b": (0, 0)}
    assert (progress.done, progress.total) == (3, 3)


def test_progress_is_told_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    progress, clock = begun()
    assert "Recovering 1 logs with 314572800 bytes" in caplog.text
    progress.advance([A], 0)
    assert "Loaded" not in caplog.text
    clock.advance(int(PROGRESS_S * 1000))
    progress.advance([], 50 << 20)
    assert "Loaded 1 of 3 logs, read 50 of 400 MB" in caplog.text


def test_a_watcher_sees_every_step_and_the_interruption() -> None:
    progress, _ = begun()
    seen: list[tuple[int, bool]] = []
    stopped: list[str] = []
    progress.watcher = lambda now: seen.append((now.read_bytes, now.interrupted))
    progress.on_interrupt(lambda: stopped.append("stopped"))
    progress.advance((), 5)
    progress.interrupt()
    assert seen == [(5, False), (5, True)]
    assert stopped == ["stopped"]
