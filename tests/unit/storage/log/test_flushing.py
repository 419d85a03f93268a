"""Group commit of one log."""

import errno

import pytest

from storage.errors import StorageError
from storage.log.flushing import FLUSH_LOG
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import LOG_DIR, START_MS, TOPIC_ID, LogHarness


def test_a_first_flush_makes_everything_durable_names_included() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"x"], epoch=2)
    harness.flush()
    disk.power_cut()
    again = LogHarness(disk)
    assert again.report.unserved == []
    assert again.content() == [(0, b"x")]
    assert again.log.topic_id == TOPIC_ID
    assert disk.exists(f"{LOG_DIR}/orders-0/leader-epoch-checkpoint")


def test_a_failed_sync_vouches_for_nothing() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"x"])
    disk.fail("fsync", errno.EIO)
    work = harness.log.plan_flush(START_MS)
    assert work is not None
    with pytest.raises(StorageError):
        work.work()
    assert harness.log.flushed_end_offset == 0


def test_wants_that_come_while_one_runs_become_one_more() -> None:
    harness = LogHarness(FaultDisk())
    log = harness.log
    harness.append([b"x"])
    work = log.plan_flush(START_MS)
    assert work is not None
    harness.append([b"y"])
    assert log.flusher.want(2) == ()
    assert log.flusher.want(2) == ()
    work.work()
    work.commit()
    assert [job.name for job in work.jobs] == [FLUSH_LOG]
    harness.run(work.jobs)
    assert log.flushed_end_offset == 2
