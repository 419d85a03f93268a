"""A topic is deleted and made anew; whenever that stops, the new log keeps what it was given.

The old log has its start and its recovery point far above the new log's end, and checkpoints that
say so: read for the new one, they would hide its records or vouch for what was never flushed.
"""

import contextlib
import random
from collections.abc import Callable

import pytest

from config.topic_config import LogConfig
from protocol.records.builder import build_batch
from storage.audit import audit_log_dir
from storage.jobs import Job
from storage.log.partition_log import PartitionLog
from storage.log.results import ReadBound
from storage.log_directory import LogDirectory
from storage.log_jobs import LogJobs
from storage.log_manager import LogManager
from tests.support.fault_disk import Crash, FaultDisk
from tests.support.log_harness import (
    LOG_DIR,
    PARTITION,
    START_MS,
    environment,
    every,
    read_all,
    records,
)

CONFIG = LogConfig(segment_bytes=400, index_interval_bytes=100, file_delete_delay_ms=0)


class Machine:
    """A disk, and the topic id that metadata has for the name; None while there is no topic."""

    def __init__(self) -> None:
        self.disk = FaultDisk()
        self.disk.torn_writes = True
        self.topic_id: bytes | None = None
        self.written: dict[int, bytes] = {}
        self.held: dict[int, bytes] = {}
        self.flushed: dict[int, bytes] = {}

    def boot(self) -> None:
        directory = LogDirectory(self.disk, LOG_DIR)
        directory.open()
        self.manager = LogManager([directory], environment())
        self.manager.load(START_MS, lambda _topic: CONFIG, lambda _partition: self.topic_id)
        self.jobs = LogJobs(self.manager, every())

    def log(self) -> PartitionLog:
        assert self.topic_id is not None
        return self.manager.get_or_create(PARTITION, self.topic_id, CONFIG, START_MS)

    def run(self, job: Job) -> None:
        for work in job.plan(START_MS):
            work.work()
            work.commit()
            for following in work.jobs:
                self.run(following)

    def checkpoint(self) -> None:
        for job in self.jobs.periodic_jobs():
            if job.name.endswith("checkpoint"):
                self.run(Job(job.name, 0, job.plan))

    def create(self, number: int) -> None:
        self.topic_id = bytes([number] * 16)
        self.log()

    def append(self, count: int) -> None:
        log = self.log()
        for _ in range(count):
            offset = log.log_end_offset
            value = b"%d of %d" % (offset, (self.topic_id or b"\0")[0])
            self.written[offset] = value
            data = build_batch(records([value]))
            log.append_as_leader(memoryview(data), 0, START_MS)
            self.held[offset] = value
        log.update_high_watermark(log.log_end_offset)

    def flush(self) -> None:
        work = self.log().plan_flush(START_MS)
        assert work is not None
        work.work()
        work.commit()
        self.flushed = dict(self.held)

    def delete(self) -> None:
        self.topic_id = None
        self.written, self.held, self.flushed = {}, {}, {}
        self.run(self.manager.delete_async(PARTITION, START_MS))

    def live(self) -> None:
        """An old log far ahead; its successors, with checkpoints at different moments."""
        self.boot()
        self.create(1)
        self.append(30)
        self.flush()
        self.log().maybe_increment_log_start_offset(25, "client delete records request")
        self.checkpoint()
        self.delete()
        self.create(2)
        self.append(8)
        self.flush()
        self.delete()
        self.create(3)
        self.append(6)
        self.checkpoint()
        self.append(3)
        self.flush()
        self.append(2)


def kill(disk: FaultDisk) -> None:
    disk.restart()


def cut_power(disk: FaultDisk) -> None:
    disk.power_cut()


def cut_power_at_random(disk: FaultDisk) -> None:
    disk.power_cut(random.Random(disk.changes))


def whole_life() -> int:
    machine = Machine()
    machine.live()
    return machine.disk.changes


WHOLE = whole_life()


@pytest.mark.parametrize("stop", [kill, cut_power, cut_power_at_random])
@pytest.mark.parametrize("starts", [1, 2])
def test_a_log_is_never_taken_for_its_predecessor(
    stop: Callable[[FaultDisk], None], starts: int
) -> None:
    for change in range(1, WHOLE + 1):
        machine = Machine()
        machine.disk.crash_at(change)
        with contextlib.suppress(Crash):
            machine.live()
        stop(machine.disk)
        must_keep = machine.held if stop is kill else machine.flushed
        for _ in range(starts):
            machine.boot()
            if machine.topic_id is None:
                machine.written, must_keep = {}, {}
                machine.create(4)
            check(machine, must_keep, change)
            machine.disk.restart()


def check(machine: Machine, must_keep: dict[int, bytes], change: int) -> None:
    log = machine.log()
    old = machine.topic_id == bytes([1] * 16)
    found = dict(read_all(log, log.log_start_offset, ReadBound.LOG_END))
    for offset, value in must_keep.items():
        if not old or offset >= 25:
            assert found.get(offset) == value, (change, offset)
    for offset, held in found.items():
        assert machine.written[offset] == held, (change, offset)
    if not old:
        assert log.log_start_offset == 0, change
        assert log.recovery_point <= len(must_keep), change
    assert audit_log_dir(machine.disk, LOG_DIR) == [], change
