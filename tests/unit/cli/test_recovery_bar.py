"""Who waits at a terminal sees how far a recovery is, below the log lines."""

import io
import logging
import sys

import pytest

from broker.load_progress import LoadProgress
from cli.recovery_bar import WORTH_SHOWING_BYTES, RecoveryBar
from tests.support.manual_clock import ManualClock


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def at_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """In the test itself: pytest gives each phase of it a stderr of its own."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    return terminal


def progress(nbytes: int) -> LoadProgress:
    made = LoadProgress(ManualClock())
    made.total, made.nbytes = 8, nbytes
    made.watcher = RecoveryBar()
    return made


def test_a_long_recovery_is_shown_until_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = at_terminal(monkeypatch)
    handler = logging.StreamHandler(terminal)
    logging.getLogger().addHandler(handler)
    recovery = progress(4 * WORTH_SHOWING_BYTES)
    recovery.advance((), WORTH_SHOWING_BYTES)
    assert handler.stream is not terminal, "so that lines go above the bar"
    logging.getLogger(__name__).warning("a line")
    recovery.done = 7
    recovery.advance((), WORTH_SHOWING_BYTES)
    recovery.done = 8
    recovery.advance((), 0)
    logging.getLogger().removeHandler(handler)
    assert handler.stream is sys.stderr is terminal
    drawn = terminal.getvalue()
    assert "Recovering" in drawn
    assert "7/8 logs" in drawn
    assert "a line" in drawn
    recovery.advance((), 0)
    assert terminal.getvalue() == drawn


def test_a_short_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = at_terminal(monkeypatch)
    recovery = progress(WORTH_SHOWING_BYTES - 1)
    recovery.advance((), 1000)
    recovery.interrupt()
    assert terminal.getvalue() == ""


def test_an_interrupted_one_leaves_the_terminal_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = at_terminal(monkeypatch)
    recovery = progress(4 * WORTH_SHOWING_BYTES)
    recovery.advance((), 1000)
    recovery.interrupt()
    assert sys.stderr is terminal


def test_without_rich_there_is_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = at_terminal(monkeypatch)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    recovery = progress(4 * WORTH_SHOWING_BYTES)
    recovery.advance((), 1000)
    recovery.advance((), 1000)
    assert terminal.getvalue() == ""
