"""Functions run in a child that lives no longer than its parent and answers one call at a time."""

import logging
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime import helper_process
from runtime.helper_process import HelperDied, HelperProcess, report

_kept: list[int] = []


class Unpicklable(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def keep(value: int) -> list[int]:
    _kept.append(value)
    return _kept


def facts_of_the_process() -> tuple[int, int, str, list[str]]:
    links = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
    open_files = [os.readlink(link) for link in links if os.path.lexists(link)]
    return os.getpid(), os.nice(0), os.readlink("/proc/self/fd/1"), open_files


def fail_with_two() -> None:
    raise Unpicklable(1, 2)


def fail_and_say() -> None:
    raise ValueError("told")


def log_and_report() -> None:
    logging.getLogger("of.the.child").warning("%d of %d", 1, 2)
    logging.getLogger("of.the.child").debug("too small for the parent's level")
    report({"done": 1})
    try:
        fail_and_say()
    except ValueError:
        logging.getLogger("of.the.child").exception("failed")
    report({"done": 2})


def never_answer() -> None:
    report("running")
    while True:
        pass


def return_a_lock() -> object:
    return threading.Lock()


def resident_kib(pid: int | None) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


@pytest.fixture
def helper() -> Iterator[HelperProcess]:
    process = HelperProcess("test-helper")
    yield process
    process.close()


def test_a_call_returns_what_the_function_returned_and_modules_keep_state(
    helper: HelperProcess,
) -> None:
    assert helper.pid is None
    assert helper.call(keep, 1) == [1]
    assert helper.call(keep, 2) == [1, 2]
    assert _kept == []


def test_big_arguments_and_results_go_through(helper: HelperProcess) -> None:
    assert helper.call(bytes.upper, b"a" * 3_000_000) == b"A" * 3_000_000


def test_the_child_is_another_process_without_the_parents_descriptors() -> None:
    ours, other = socket.socketpair()
    os.set_inheritable(ours.fileno(), True)
    with ours, other:
        helper = HelperProcess("test-helper", nice=3)
        pid, nice, stdout, open_files = helper.call(facts_of_the_process)
        helper.close()
    assert pid != os.getpid()
    assert nice == os.nice(0) + 3
    assert stdout == os.devnull
    assert len([name for name in open_files if name.startswith("socket:")]) == 1


def test_an_error_is_raised_here_with_the_childs_traceback(helper: HelperProcess) -> None:
    with pytest.raises(ValueError, match="told") as caught:
        helper.call(fail_and_say)
    assert "in fail_and_say" in caught.value.__notes__[0]
    assert helper.call(keep, 1) == [1], "it serves on"


def test_an_error_that_cannot_travel_is_told_as_text(helper: HelperProcess) -> None:
    with pytest.raises(RuntimeError, match="Unpicklable: 1 and 2"):
        helper.call(fail_with_two)


def test_what_cannot_be_pickled_is_an_error_of_the_call_alone(helper: HelperProcess) -> None:
    with pytest.raises((TypeError, pickle.PicklingError)):
        helper.call(keep, threading.Lock())
    with pytest.raises((TypeError, pickle.PicklingError)):
        helper.call(return_a_lock)
    assert helper.call(keep, 5) == [5]


def test_logs_and_reports_arrive_while_the_function_runs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reports: list[object] = []
    helper = HelperProcess("test-helper", on_report=reports.append)
    with caplog.at_level(logging.WARNING):
        helper.call(log_and_report)
    helper.close()
    assert reports == [{"done": 1}, {"done": 2}]
    assert [record.message for record in caplog.records] == ["1 of 2", "failed"]
    assert "ValueError: told" in (caplog.records[1].exc_text or "")


def test_reports_outside_a_helper_go_nowhere() -> None:
    log_and_report()


def test_a_dead_child_fails_the_call_and_the_next_starts_another(helper: HelperProcess) -> None:
    with pytest.raises(HelperDied, match="test-helper"):
        helper.call(os._exit, 3)
    assert helper.call(keep, 7) == [7]
    first = helper.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
    assert helper.call(keep, 8) == [8]
    assert helper.pid != first


def test_closing_ends_a_running_call_and_refuses_later_ones() -> None:
    running = threading.Event()
    helper = HelperProcess("test-helper", on_report=lambda _: running.set())
    outcome: list[BaseException] = []

    def call() -> None:
        try:
            helper.call(never_answer)
        except HelperDied as error:
            outcome.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    assert running.wait(30)
    pid = helper.pid
    helper.close()
    helper.close()
    thread.join(30)
    assert len(outcome) == 1
    assert not Path(f"/proc/{pid}").exists(), "ended and reaped"
    with pytest.raises(HelperDied, match="closed"):
        helper.call(keep, 1)


def test_one_that_cannot_start_says_so_leaves_nothing_open_and_may_start_later(
    helper: HelperProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as without:
        without.setattr(sys, "executable", "/nowhere/python")
        with pytest.raises(FileNotFoundError):
            helper.call(len, "abc")
    assert helper.call(len, "abc") == 3


def test_closing_one_that_never_started_starts_nothing() -> None:
    helper = HelperProcess("test-helper")
    helper.close()
    assert helper.pid is None


def test_signals_to_the_group_do_not_end_it(helper: HelperProcess) -> None:
    helper.call(keep, 1)
    assert helper.pid is not None
    os.kill(helper.pid, signal.SIGINT)
    os.kill(helper.pid, signal.SIGTERM)
    assert helper.call(keep, 2) == [1, 2]


def test_the_child_ends_with_its_parent_even_in_the_middle_of_a_call() -> None:
    program = (
        "import sys\n"
        f"sys.path[:] = {sys.path!r}\n"
        "from runtime.helper_process import HelperProcess\n"
        "from tests.unit.runtime.test_helper_process import never_answer\n"
        "helper = HelperProcess('h', on_report=lambda _: print(helper.pid, flush=True))\n"
        "helper.call(never_answer)\n"
    )
    with subprocess.Popen([sys.executable, "-P", "-c", program], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}/cmdline").exists() and time.monotonic() < deadline:
        if Path(f"/proc/{pid}/stat").read_text().rsplit(")")[1].split()[0] == "Z":
            break  # ended; whoever adopted it has not looked yet
    else:
        assert not Path(f"/proc/{pid}").exists()


def test_it_is_small(helper: HelperProcess) -> None:
    helper.call(keep, 1)
    with subprocess.Popen(
        [sys.executable, "-S", "-c", "print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as bare:
        assert bare.stdout is not None
        bare.stdout.readline()
        beyond = resident_kib(helper.pid) - resident_kib(bare.pid)
        bare.kill()
    # This test's own module is loaded there too, and pytest with it.
    assert beyond < 45_000


def test_answers_are_made_of_frames_that_a_socket_carries() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        mine, other = helper_process._Channel(ours), helper_process._Channel(theirs)
        mine.send(0, (divmod, (7, 2)))
        helper_process.answer(other, other.receive_frame())
        assert mine.receive()[1] == (3, 1)
        mine.send(0, (divmod, (7, 0)))
        helper_process.answer(other, other.receive_frame())
        assert isinstance(mine.receive()[1], ZeroDivisionError)
        theirs.close()
        with pytest.raises(EOFError):
            mine.receive()
        assert mine.broken
