"""What the broker asks of its process."""

import asyncio
import gc
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from broker.process import YOUNG_OBJECTS, age_ms, raise_file_limit, settle_memory, stop_on_signals


@pytest.fixture
def file_limit() -> Iterator[tuple[int, int]]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_soft_limit_of_files_becomes_the_hard_one(file_limit: tuple[int, int]) -> None:
    _, hard = file_limit
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 256), hard))
    assert raise_file_limit() == hard
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)


def test_few_descriptors_are_warned_about(
    file_limit: tuple[int, int],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (100, 100))
    assert raise_file_limit() == 100
    assert "ulimit -n" in caplog.text


def test_a_limit_that_cannot_be_raised_is_lived_with(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(which: int, limits: tuple[int, int]) -> None:
        raise ValueError("not allowed")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (5000, 6000))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert raise_file_limit() == 5000
    assert "cannot be raised" in caplog.text


def test_what_start_made_is_out_of_the_collectors_sight() -> None:
    thresholds = gc.get_threshold()
    try:
        gc.disable()
        settle_memory()
        assert gc.isenabled()
        assert gc.get_freeze_count() > 0
        assert gc.get_threshold()[0] == YOUNG_OBJECTS
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
        gc.enable()


def test_the_age_is_counted_from_the_start_of_the_process() -> None:
    script = "from broker.process import age_ms; print(age_ms())"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert 0 <= int(out.stdout) < 60_000
    assert age_ms() >= 0


async def test_the_first_signal_asks_to_stop_and_the_second_exits_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    exited: list[int] = []
    monkeypatch.setattr(os, "_exit", exited.append)
    loop = asyncio.get_running_loop()
    done = loop.create_future()

    def stop(name: str) -> None:
        asked.append(name)
        done.set_result(None)

    stop_on_signals(loop, stop)
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        await done
        assert (asked, exited) == (["SIGTERM"], [])
        again = loop.create_future()

        def leave(code: int) -> None:
            exited.append(code)
            again.set_result(None)

        monkeypatch.setattr(os, "_exit", leave)
        done = loop.create_future()
        os.kill(os.getpid(), signal.SIGINT)
        await again
        assert exited == [130]
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
        loop.remove_signal_handler(signal.SIGINT)
