"""The process that recovers: told in pieces, ended at any time."""

import sys

import pytest

from broker.recovery_process import REPORT_BYTES, RecoveryProcess, in_larger_pieces, load_all
from storage.segment.recovery import unwatched


def test_progress_is_told_in_larger_pieces() -> None:
    told: list[int] = []
    watch = in_larger_pieces(told.append)
    for _ in range(5):
        watch(REPORT_BYTES // 2)
    assert told == [REPORT_BYTES] * 2


def test_a_process_loads_what_it_is_given_until_it_is_closed() -> None:
    process = RecoveryProcess(unwatched)
    assert process.load([])
    process.close()
    assert not process.load([])


def test_where_no_process_can_start_nothing_is_loaded_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert not RecoveryProcess(unwatched).load([])


def test_nothing_to_load_is_loaded() -> None:
    assert load_all([]) == []
