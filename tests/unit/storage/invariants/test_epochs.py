"""Leader epochs: the checkpoint and the batches say the same."""

import pytest

from storage.invariants.finding import Severity
from tests.support.kept_logs import PARTITION_DIR, edit, found, kept_log, names, problems
from tests.support.log_harness import LOG_DIR

PATH = f"{PARTITION_DIR}/leader-epoch-checkpoint"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"0\n2\n0 0\n3 11\n", "epoch 0 covers offset 10, whose batch has 3"),
        (b"0\n2\n0 0\n4 10\n", "epoch 4 covers offset 10, whose batch has 3"),
        (b"0\n2\n3 10\n0 0\n", "does not ascend"),
        (b"0\n3\n0 0\n3 10\n7 99\n", "epoch 7 starts at 99, beyond the log end"),
        (b"0\n1\n0 x\n", "malformed line"),
        (b"0\n1\n0 -4\n", "impossible line"),
        (b"7\n", "unrecognized version"),
    ],
)
def test_what_contradicts_the_batches_or_itself_is_found(text: bytes, problem: str) -> None:
    disk = kept_log()
    disk.write_file(PATH, text)
    assert problem in problems(disk)


def test_an_epoch_may_have_written_nothing() -> None:
    disk = kept_log()
    disk.write_file(PATH, b"0\n3\n0 0\n3 10\n5 22\n")
    assert found(disk) == []


def test_a_missing_file_is_a_fault_and_entries_cut_off_at_the_start_are_none() -> None:
    disk = kept_log()
    disk.write_file(PATH, b"0\n1\n3 10\n")
    assert found(disk) == []
    disk.unlink(PATH)
    assert "no epoch covers offset 0, whose batch has 0" in problems(disk)


def test_the_epoch_in_a_batch_lies_outside_its_checksum_and_is_found_all_the_same() -> None:
    disk = kept_log()
    edit(disk, names(disk, ".log")[0], 15, b"\2")
    told = problems(disk)
    assert "epoch 0 covers offset 0, whose batch has 2" in told
    assert "leader epoch 0 at offset 1 goes back: it was 2 before" in told


def test_a_file_behind_the_log_is_in_order_after_an_unclean_stop() -> None:
    disk = kept_log()
    disk.write_file(PATH, b"0\n1\n0 0\n")
    assert [finding.severity for finding in found(disk)] == [Severity.ERROR]
    disk.unlink(f"{LOG_DIR}/.kafka_cleanshutdown")
    disk.unlink(f"{LOG_DIR}/recovery-point-offset-checkpoint")
    assert found(disk) == []
