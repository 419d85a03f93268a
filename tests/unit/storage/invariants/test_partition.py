"""A partition directory: every file has its place, and the disk may fail at any."""

import pytest

from protocol.model import topic_id_from_text
from storage.audit import Question, audit_log_dirs, audit_partition, live_partitions, log_bytes
from storage.invariants.finding import Severity
from tests.support.kept_logs import PARTITION_DIR, found, kept_log, names, problems
from tests.support.log_harness import LOG_DIR, TOPIC_ID


def test_leftovers_and_strangers_are_named_and_no_fault() -> None:
    disk = kept_log()
    for name in ("00000000000000000000.log.deleted", "00000000000000000000.log.cleaned"):
        disk.write_file(f"{PARTITION_DIR}/{name}", b"x")
    disk.write_file(f"{PARTITION_DIR}/notes.txt", b"x")
    disk.write_file(f"{PARTITION_DIR}/leader-epoch-checkpoint.tmp", b"x")
    disk.write_file(f"{LOG_DIR}/lost.txt", b"x")
    disk.write_file(f"{LOG_DIR}/meta.properties.tmp", b"x")
    for state in ("delete", "future", "stray"):
        disk.makedirs(f"{LOG_DIR}/gone-1.{'0' * 32}-{state}")
    assert found(disk) == []
    every = audit_log_dirs(disk, [LOG_DIR], Question())
    assert {finding.severity for finding in every} == {Severity.INFO}
    assert len(every) == 9


def test_a_name_that_no_broker_makes_is_told() -> None:
    disk = kept_log()
    disk.write_file(f"{PARTITION_DIR}/7.log", b"")
    assert "a name no broker makes" in problems(disk)


def test_the_topic_id_is_that_of_metadata() -> None:
    disk = kept_log()
    assert found(disk, Question(topic_ids={"orders": TOPIC_ID})) == []
    other = topic_id_from_text("V47rwh2hRDiSOaUWtUgM2Q")
    assert "metadata has" in problems(disk, Question(topic_ids={"orders": other}))


@pytest.mark.parametrize("call", ["open", "pread"])
def test_a_file_that_cannot_be_read_is_told_and_the_others_are_looked_at(call: str) -> None:
    disk = kept_log()
    first, second, *_ = names(disk, ".log")
    disk.fail(call, 5, path_ends=first)
    data = bytearray(disk.read_file(second))
    data[70] ^= 1
    disk.write_file(second, bytes(data))
    told = problems(disk)
    assert f"{first}: cannot be read" in told
    assert f"{second}: " in told
    assert disk.open_count == 0


def test_a_directory_that_cannot_be_listed_is_told() -> None:
    disk = kept_log()
    disk.fail("listdir", 13, path_ends="orders-0")
    assert "cannot be read" in problems(disk)


def test_one_partition_is_held_against_the_checkpoints_above_it() -> None:
    disk = kept_log()
    assert audit_partition(disk, PARTITION_DIR) == []
    path = names(disk, ".log")[0]
    disk.write_file(path, disk.read_file(path)[:-3])
    assert next(f.severity for f in audit_partition(disk, PARTITION_DIR)) == Severity.ERROR
    disk.unlink(f"{LOG_DIR}/.kafka_cleanshutdown")
    disk.unlink(f"{LOG_DIR}/recovery-point-offset-checkpoint")
    assert {f.severity for f in audit_partition(disk, PARTITION_DIR)} == {Severity.INFO}


def test_an_empty_directory_has_nothing_wrong() -> None:
    disk = kept_log()
    disk.makedirs(f"{LOG_DIR}/empty-0")
    disk.unlink(f"{LOG_DIR}/.kafka_cleanshutdown")
    assert found(disk) == []


def test_progress_counts_the_bytes_of_the_logs() -> None:
    disk = kept_log()
    seen: list[int] = []
    audit_log_dirs(disk, [LOG_DIR], Question(), seen.append)
    assert live_partitions(disk, LOG_DIR) == [PARTITION_DIR]
    assert sum(seen) == log_bytes(disk, PARTITION_DIR)
