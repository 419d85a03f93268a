"""Periodic work over many logs."""

import errno

from config.topic_config import LogConfig
from protocol.model import TopicPartition
from storage.jobs import PeriodicJob
from storage.log.deletion import MOST_SEGMENTS
from storage.log_jobs import (
    HIGH_WATERMARKS,
    LOG_STARTS,
    PRODUCERS_AT_ONCE,
    RECOVERY_POINTS,
    SLICE,
)
from storage.producer.append_check import ProducerUpdate
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import LOG_DIR, PARTITION, START_MS, TOPIC_ID, LogHarness
from tests.support.record_batches import batch_at

KAFKAS_NAMES = {
    "kafka-log-retention",
    "kafka-log-flusher",
    "kafka-recovery-point-checkpoint",
    "kafka-log-start-offset-checkpoint",
    "highwatermark-checkpoint",
    "kafka-delete-logs",
    "PeriodicProducerExpirationCheck",
}


def job(harness: LogHarness, name: str) -> PeriodicJob:
    return next(job for job in harness.jobs.periodic_jobs() if job.name == name)


def test_jobs_are_named_as_kafka_names_them() -> None:
    harness = LogHarness(FaultDisk())
    assert {job.name for job in harness.jobs.periodic_jobs()} == KAFKAS_NAMES
    for each in harness.jobs.periodic_jobs():
        assert (each.period_ms(), each.delay_ms) == (1000, 0)
        for work in each.plan(START_MS):
            work.work()
            work.commit()


def test_checkpoints_say_where_each_log_stands() -> None:
    harness = LogHarness(FaultDisk())
    for _ in range(3):
        harness.append([b"x"])
    harness.log.update_high_watermark(2)
    harness.log.maybe_increment_log_start_offset(1, "test")
    harness.checkpoint()
    directory = harness.directory
    assert directory.recovery_points.read() == {PARTITION: 0}
    assert directory.high_watermarks.read() == {PARTITION: 2}
    assert directory.log_starts.read() == {PARTITION: 1}
    harness.flush()
    harness.checkpoint()
    assert directory.recovery_points.read() == {PARTITION: 3}


def test_a_file_is_written_by_one_at_a_time_and_once_more_if_asked_meanwhile() -> None:
    harness = LogHarness(FaultDisk())
    for name in (RECOVERY_POINTS, LOG_STARTS, HIGH_WATERMARKS):
        (work,) = harness.jobs.plan_checkpoint(name, START_MS)
        assert harness.jobs.plan_checkpoint(name, START_MS) == []
        work.work()
        assert work.commit() == ()
        (again,) = work.jobs
        (second,) = again.plan(START_MS)
        second.work()
        second.commit()
        assert list(second.jobs) == []


def test_an_offline_directory_is_not_written_to() -> None:
    harness = LogHarness(FaultDisk())
    harness.manager.fail_dir(LOG_DIR)
    assert harness.jobs.plan_checkpoint(RECOVERY_POINTS, START_MS) == []


def test_only_logs_older_than_their_flush_ms_are_flushed() -> None:
    harness = LogHarness(FaultDisk(), LogConfig(flush_ms=100))
    assert harness.jobs.plan_flushes(START_MS + 1000) == []
    harness.append([b"x"])
    assert harness.jobs.plan_flushes(START_MS + 99) == []
    (work,) = harness.jobs.plan_flushes(START_MS + 100)
    work.work()
    work.commit()
    assert harness.log.flushed_end_offset == 1


def test_flushes_that_were_planned_are_not_lost_with_the_log_that_finds_no_descriptor() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk, LogConfig(flush_ms=100, segment_bytes=150))
    other = harness.manager.get_or_create(
        TopicPartition("other", 0), TOPIC_ID, LogConfig(flush_ms=100), START_MS
    )
    for value in (b"x" * 60, b"y" * 60):
        harness.append([value])
    other.append_as_leader(memoryview(batch_at(0).view), 0, START_MS)
    disk.fail("open", errno.EMFILE, path_ends="other-0/00000000000000000000.index", times=9)
    (work,) = harness.jobs.plan_flushes(START_MS + 100)
    disk.clear_failures()
    work.work()
    work.commit()
    assert harness.log.flushed_end_offset == 2
    (work,) = harness.jobs.plan_flushes(START_MS + 200)
    work.work()
    work.commit()
    assert other.flushed_end_offset == 1


def test_retention_works_through_all_logs_in_slices_and_drops_much_in_turns() -> None:
    config = LogConfig(segment_bytes=100, retention_bytes=0, file_delete_delay_ms=0)
    harness = LogHarness(FaultDisk(), config)
    for number in range(SLICE):
        harness.manager.get_or_create(TopicPartition("t", number), TOPIC_ID, config, START_MS)
    for _ in range(MOST_SEGMENTS + 10):
        harness.append([b"x"])
    log = harness.log
    log.update_high_watermark(log.log_end_offset)
    retention = job(harness, "kafka-log-retention")
    works = retention.plan(START_MS)
    assert len(works) == 2
    before = log.segment_count
    works[0].work()
    assert list(works[0].commit()) == [log]
    assert log.segment_count == before - MOST_SEGMENTS
    harness.run(works[0].jobs)
    assert (log.segment_count, log.size) == (1, 0)
    assert log.log_start_offset == log.log_end_offset
    assert [
        name for name in harness.disk.listdir(f"{LOG_DIR}/orders-0") if name.endswith(".log")
    ] == [f"{log.log_end_offset:020d}.log"]


def test_deleted_files_wait_for_their_delay() -> None:
    config = LogConfig(segment_bytes=100, retention_bytes=0, file_delete_delay_ms=60_000)
    harness = LogHarness(FaultDisk(), config)
    for _ in range(3):
        harness.append([b"x"])
    harness.log.update_high_watermark(3)
    deleted, jobs = harness.log.delete_old_segments(START_MS)
    assert deleted == [0, 1, 2]
    delays = {each.name: each.delay_ms for each in jobs}
    assert delays == {"flush-log": 0, "delete-file": 60_000}
    names = harness.disk.listdir(f"{LOG_DIR}/orders-0")
    assert sum(name.endswith(".log.deleted") for name in names) == 3
    harness.run(jobs)
    assert not any(
        name.endswith(".deleted") for name in harness.disk.listdir(f"{LOG_DIR}/orders-0")
    )


def test_many_producers_of_one_log_are_forgotten_in_slices() -> None:
    harness = LogHarness(FaultDisk())
    log = harness.log
    log.environment = log.environment._replace(producer_id_expiration_ms=lambda: 1000)
    count = 2 * PRODUCERS_AT_ONCE + 10
    for number in range(count):
        kept = START_MS if number % 3 else START_MS + 1
        log.producers.apply(ProducerUpdate(number, 0, kept, None, -1, 0, None))
    works = list(job(harness, "PeriodicProducerExpirationCheck").plan(START_MS + 1000))
    assert len(works) == 3
    before = log.producer_count
    for work in works:
        work.work()
        work.commit()
        assert before - log.producer_count <= PRODUCERS_AT_ONCE
        before = log.producer_count
    assert {entry.producer_id for entry in log.active_producers()} == set(range(0, count, 3))


def test_a_clock_that_was_set_back_delays_no_flush() -> None:
    harness = LogHarness(FaultDisk(), LogConfig(flush_ms=1000))
    harness.append([b"x"])
    flusher = job(harness, "kafka-log-flusher")
    assert list(flusher.plan(START_MS + 999)) == []
    (work,) = flusher.plan(START_MS - 1)
    work.work()
    work.commit()
    assert harness.log.flushed_end_offset == 1
