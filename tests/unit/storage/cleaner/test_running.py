"""Whoever runs a cleaning: one a slot, and none after it was given up."""

import pytest

from storage.cleaner.order import CleaningInterrupted
from storage.cleaner.running import InLineRunner
from storage.filenames import CLEANED
from storage.jobs import Job
from tests.support.cleaning import COMPACTED, CleaningHarness
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import LOG_DIR

DIRECTORY = f"{LOG_DIR}/orders-0"


def test_a_step_without_a_cleaning_is_an_interrupted_one() -> None:
    runner = InLineRunner(FaultDisk())
    with pytest.raises(CleaningInterrupted):
        runner.advance(0, 1)
    runner.forget(0)
    runner.close()


LARGE = COMPACTED._replace(segment_bytes=200_000)


def half_done(harness: CleaningHarness) -> list[Job]:
    """The job that follows when files are being written; jobs before it are done."""
    for n in range(30):
        harness.put([(b"%d" % (n % 12), b"x" * 20_000)])
    harness.settings.io_max_bytes_per_second = 1.0
    waiting = [Job("clean", 0, harness.cleaner.plan)]
    while not any(name.endswith(CLEANED) for name in harness.disk.listdir(DIRECTORY)):
        job = waiting.pop(0)
        for work in job.plan(harness.now_ms):
            work.work()
            work.commit()
            waiting += work.jobs
    return waiting


def test_a_throttled_cleaning_waits_by_the_delay_of_its_next_step() -> None:
    harness = CleaningHarness(FaultDisk())
    for n in range(30):
        harness.put([(b"%d" % (n % 4), b"x" * 40)])
    harness.settings.io_max_bytes_per_second = 1000.0
    waiting = [Job("clean", 0, harness.cleaner.plan)]
    delays = []
    while waiting and harness.log.first_dirty_offset < 0:
        job = waiting.pop(0)
        harness.now_ms += job.delay_ms
        delays.append(job.delay_ms)
        for work in job.plan(harness.now_ms):
            work.work()
            work.commit()
            waiting += work.jobs
    assert sum(delays) > 3000
    assert harness.log.first_dirty_offset > 0


def test_a_round_that_is_void_removes_what_it_wrote() -> None:
    harness = CleaningHarness(FaultDisk(), LARGE)
    waiting = half_done(harness)
    harness.cleaner.abort_and_pause(harness.log.topic_partition)
    wanted = harness.pairs()
    harness.run(waiting)
    assert not [name for name in harness.disk.listdir(DIRECTORY) if name.endswith(CLEANED)]
    assert harness.pairs() == wanted
    assert harness.log.first_dirty_offset == -1


def test_a_round_of_a_deleted_log_ends_without_a_trace() -> None:
    disk = FaultDisk()
    harness = CleaningHarness(disk, LARGE)
    waiting = half_done(harness)
    deletion = harness.manager.delete_async(harness.log.topic_partition, harness.now_ms)
    harness.run([*waiting, deletion])
    assert not harness.directory.offline
    assert harness.manager.all_logs() == []
    assert not [name for name in disk.listdir(LOG_DIR) if name.startswith("orders")]


def test_stopping_removes_what_was_written_and_no_step_follows() -> None:
    disk = FaultDisk()
    harness = CleaningHarness(disk, LARGE)
    waiting = half_done(harness)
    wanted = harness.pairs()
    harness.cleaner.stop()
    assert not [name for name in disk.listdir(DIRECTORY) if name.endswith(CLEANED)]
    harness.run(waiting)
    assert harness.pairs() == wanted
