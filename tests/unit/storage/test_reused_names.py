"""Names in doubt: from the end of a log to the checkpoints that know of it."""

import pytest

from protocol.model import TopicPartition
from storage.reused_names import (
    NOTHING_KNOWN,
    KnownOffsets,
    ReusedNames,
    forget_known,
    is_newer_than_checkpoints,
    known_instead,
    mark_newer,
    remove_mark,
)
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import LOG_DIR, PARTITION, LogHarness

OTHER = TopicPartition("other", 0)


def disk_with(*directories: str) -> FaultDisk:
    disk = FaultDisk()
    for directory in directories:
        disk.mkdir(directory)
    return disk


def test_only_a_name_in_doubt_is_marked() -> None:
    disk, names = disk_with("/a", "/a/x", "/a/y"), ReusedNames()
    names.doubt("/a", (PARTITION,))
    names.claim(disk, "/a", "/a/x", PARTITION)
    names.claim(disk, "/a", "/a/y", OTHER)
    names.claim(disk, "/b", "/a/y", PARTITION)
    assert is_newer_than_checkpoints(disk, "/a/x")
    assert not is_newer_than_checkpoints(disk, "/a/y")


def test_a_mark_is_removed_once() -> None:
    disk, names = disk_with("/a", "/a/x"), ReusedNames()
    names.doubt("/a", (PARTITION,))
    names.claim(disk, "/a", "/a/x", PARTITION)
    for _ in range(2):
        remove_mark(disk, "/a/x")
        assert not is_newer_than_checkpoints(disk, "/a/x")


def test_checkpoints_planned_before_an_end_settle_nothing() -> None:
    names = ReusedNames()
    names.doubt("/a", (PARTITION,))
    planned = names.ended
    names.doubt("/a", (OTHER,))
    names.doubt("/b", (PARTITION,))
    assert names.settled("/a", planned) == [PARTITION]
    assert names.settled("/a", planned) == []
    assert names.settled("/a", names.ended) == [OTHER]
    assert names.settled("/b", names.ended) == [PARTITION]


def test_the_mark_of_a_recreated_log_goes_with_the_third_checkpoint() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.run([harness.manager.delete_async(PARTITION, harness.now_ms)])
    harness.log = harness.manager.get_or_create(
        PARTITION, bytes([9] * 16), harness.config, harness.now_ms
    )
    kinds = [job for job in harness.jobs.periodic_jobs() if job.name.endswith("checkpoint")]
    for job in kinds:
        assert is_newer_than_checkpoints(disk, f"{LOG_DIR}/{PARTITION}")
        for work in job.plan(harness.now_ms):
            work.work()
            work.commit()
            harness.run(work.jobs)
    assert len(kinds) == 3
    assert not is_newer_than_checkpoints(disk, f"{LOG_DIR}/{PARTITION}")


def test_a_clean_start_believes_the_checkpoints_again() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"old"])
    harness.run([harness.manager.delete_async(PARTITION, harness.now_ms)])
    harness.log = harness.manager.get_or_create(
        PARTITION, bytes(range(1, 17)), harness.config, harness.now_ms
    )
    harness.append([b"a"])
    harness.append([b"b"])
    harness.log.update_high_watermark(2)
    harness.log.maybe_increment_log_start_offset(1, "client delete records request")
    harness.close()
    again = LogHarness(disk)
    assert not is_newer_than_checkpoints(disk, f"{LOG_DIR}/{PARTITION}")
    assert again.log.log_start_offset == 1


def test_what_is_known_instead_holds_until_the_log_is_cut() -> None:
    disk = disk_with("/a", "/a/x")
    assert known_instead(disk, "/a/x") is None
    forget_known(disk, "/a/x")
    assert known_instead(disk, "/a/x") is None
    known = KnownOffsets(1500, 1200, 1498)
    mark_newer(disk, "/a/x", known)
    assert disk.read_file("/a/x/newer-than-checkpoints") == b"0\n1\n1500 1200 1498\n"
    assert known_instead(disk, "/a/x") == known
    forget_known(disk, "/a/x")
    assert known_instead(disk, "/a/x") == NOTHING_KNOWN


@pytest.mark.parametrize(
    "damage", [b"0\n1\n1500 1200\n", b"0\n1\nx y z\n", b"7\n", b"0\n2\n1 2 3\n"]
)
def test_a_damaged_mark_vouches_for_nothing(damage: bytes) -> None:
    disk = disk_with("/a", "/a/x")
    disk.write_file("/a/x/newer-than-checkpoints", damage)
    assert known_instead(disk, "/a/x") == NOTHING_KNOWN


def test_a_log_is_loaded_by_what_its_mark_knows() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    for value in (b"a", b"b", b"c"):
        harness.append([value])
    harness.flush()
    mark_newer(disk, harness.log.directory, KnownOffsets(3, 1, 2))
    disk.restart()
    log = LogHarness(disk).log
    assert (log.log_start_offset, log.high_watermark) == (1, 2)
    log.truncate_to(2, harness.now_ms)
    assert known_instead(disk, log.directory) == NOTHING_KNOWN
