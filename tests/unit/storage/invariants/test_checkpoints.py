"""Checkpoints: readable, and true of the logs."""

import pytest

from storage.audit import Question, audit_log_dirs
from storage.invariants.finding import Severity
from tests.support.kept_logs import found, kept_log, problems
from tests.support.log_harness import LOG_DIR

POINTS = "recovery-point-offset-checkpoint"
STARTS = "log-start-offset-checkpoint"
MARKS = "replication-offset-checkpoint"
DIRTY = "cleaner-offset-checkpoint"


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        (POINTS, b"0\n1\norders 0 23\n", "orders-0: 23 is beyond the log end, 22"),
        (POINTS, b"0\n1\norders 0 21\n", "21, but the log was closed cleanly at 22"),
        (POINTS, b"0\n1\nother 0 3\n", "says nothing of orders-0"),
        (MARKS, b"0\n1\norders 0 23\n", "beyond the log end"),
        (STARTS, b"0\n1\norders 0 23\n", "beyond the log end"),
        (STARTS, b"0\n1\nother 0 3\n", "speaks of other-0, which is not here"),
        (DIRTY, b"0\n1\norders 0 23\n", "beyond the log end"),
        (POINTS, b"0\n2\norders 0 22\norders 0 22\n", "has two lines"),
        (POINTS, b"0\n1\norders 0\n", "malformed line"),
        (POINTS, b"0\n1\norders -1 22\n", "impossible line"),
        (POINTS, b"0\n3\norders 0 22\n", "expected 3 entries, found 1"),
    ],
)
def test_what_is_not_true_of_the_logs_is_found(name: str, text: bytes, problem: str) -> None:
    disk = kept_log()
    disk.write_file(f"{LOG_DIR}/{name}", text)
    assert problem in problems(disk)


def test_a_high_watermark_below_the_log_start_is_found() -> None:
    disk = kept_log()
    disk.write_file(f"{LOG_DIR}/{STARTS}", b"0\n1\norders 0 4\n")
    disk.write_file(f"{LOG_DIR}/{MARKS}", b"0\n1\norders 0 3\n")
    disk.write_file(f"{LOG_DIR}/{DIRTY}", b"0\n1\norders 0 3\n")
    assert problems(disk).count("3 is below the log start, 4") == 2


def test_after_an_unclean_stop_they_may_be_of_another_moment() -> None:
    disk = kept_log()
    disk.unlink(f"{LOG_DIR}/.kafka_cleanshutdown")
    disk.write_file(f"{LOG_DIR}/{MARKS}", b"0\n1\norders 0 99\n")
    assert found(disk) == []
    disk.write_file(f"{LOG_DIR}/{STARTS}", b"0\n1\norders 0 99\n")
    (finding,) = found(disk)
    assert finding.severity == Severity.WARNING
    assert "take its line out before the next start" in finding.remedy


def test_beside_a_running_broker_they_are_only_read() -> None:
    disk = kept_log()
    disk.write_file(f"{LOG_DIR}/{POINTS}", b"0\n1\norders 0 99\n")
    assert found(disk, Question(running=True)) == []


def test_one_that_cannot_be_read_from_the_disk_is_a_fault() -> None:
    disk = kept_log()
    disk.fail("read_file", 5, path_ends=MARKS)
    every = audit_log_dirs(disk, [LOG_DIR], Question())
    assert any("cannot be read" in finding.problem for finding in every)


def test_what_is_newer_than_the_checkpoints_is_not_held_against_them() -> None:
    disk = kept_log()
    disk.unlink(f"{LOG_DIR}/.kafka_cleanshutdown")
    disk.write_file(f"{LOG_DIR}/{STARTS}", b"0\n1\norders 0 99\n")
    disk.write_file(f"{LOG_DIR}/orders-0/newer-than-checkpoints", b"")
    assert [finding for finding in found(disk) if "beyond" in finding.problem] == []
