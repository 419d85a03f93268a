"""Names in doubt: from the end of a log to the checkpoints that know of it."""

from protocol.model import TopicPartition
from storage.reused_names import ReusedNames, is_newer_than_checkpoints, remove_mark
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
