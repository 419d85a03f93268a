"""A log moved to another log directory and back, stopped at every change, by kill and by power cut.

After each stop exactly one replica is live, it has all that was acknowledged and nothing that was
never appended; what is left of the move goes on, and a second start finds the same.
"""

import contextlib
import errno
import random
from collections.abc import Callable

import pytest

from config.topic_config import LogConfig
from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicPartition
from storage.audit import audit_log_dir
from storage.errors import StorageError
from storage.jobs import Job
from storage.log.partition_log import PartitionLog
from storage.log.results import ReadBound
from storage.log_jobs import LogJobs
from tests.support.fault_disk import Crash, FaultDisk
from tests.support.log_harness import every, read_all
from tests.support.replicas import CONTROLLER_EPOCH, ReplicaBroker, topic_id_of

TP = TopicPartition("t", 0)
DIRS = ("/d1", "/d2")
KNOWN = {TP: topic_id_of("t")}
CONFIG = LogConfig(
    segment_bytes=500,
    segment_index_bytes=1024,
    index_interval_bytes=100,
    file_delete_delay_ms=0,
    flush_messages=1,
    retention_ms=-1,
)
Values = dict[int, bytes]
Stop = Callable[[FaultDisk], None]


class Offline(Exception):
    """The log is not served any more, or its move was ended."""


class Life:
    """What happened to the partition, as its clients know it."""

    def __init__(self, disk: FaultDisk) -> None:
        self.disk = disk
        self.held: Values = {}
        self.flushed: Values = {}
        self.written: dict[int, set[bytes]] = {}
        self.start = 0

    def run(self) -> None:
        """Live until the end, or until the disk stops."""
        broker = start(self.disk)
        for mark in range(4):
            self.append(broker, mark)
        broker.run_jobs()
        self.note(broker)
        self.delete_records(broker, 2)
        checkpoint(broker)
        self.move(broker, "/d2", 10)
        self.append(broker, 20)
        broker.run_jobs()
        self.note(broker)
        checkpoint(broker)
        self.move(broker, "/d1", 30)
        broker.moves.stop()
        broker.logs.close(broker.clock.now_ms(), clean=True)
        self.flushed = dict(self.held)
        broker = start(self.disk)
        self.append(broker, 40)
        broker.run_jobs()
        self.note(broker)

    def move(self, broker: ReplicaBroker, log_dir: str, mark: int) -> None:
        """Move the log, an append and its flush between any two slices at first."""
        if broker.moves.alter(TP, log_dir) != ErrorCode.NONE:
            raise Offline
        for number in range(100):
            if number < 3:
                self.append(broker, mark + number)
            run_once(broker)
            self.note(broker)
            if not broker.jobs:
                if not broker.moves.moves:
                    if log_in(broker).log_dir != log_dir:
                        raise Offline
                    return
                broker.advance(20)
        raise AssertionError("the move does not end")

    def append(self, broker: ReplicaBroker, mark: int) -> None:
        log = log_in(broker)
        known = log.producers.get(5)
        sequence = 0 if known is None else known.last_sequence + 1
        values = [b"value-%d-%d" % (mark, index) for index in range(2)]
        for index, value in enumerate(values):
            self.written.setdefault(log.log_end_offset + index, set()).add(value)
        result = broker.append(
            values=values, producer_id=5, producer_epoch=0, base_sequence=sequence
        )
        self.held.update({result.base_offset + at: value for at, value in enumerate(values)})

    def note(self, broker: ReplicaBroker) -> None:
        """What is durable by now is acknowledged."""
        end = log_in(broker).flushed_end_offset
        self.flushed.update({at: value for at, value in self.held.items() if at < end})

    def delete_records(self, broker: ReplicaBroker, offset: int) -> None:
        self.start = offset
        broker.replicas.delete_records(TP, offset)


def start(disk: FaultDisk) -> ReplicaBroker:
    """A broker that leads the partition and goes on with its moves."""
    broker = ReplicaBroker(DIRS, disk, KNOWN)
    broker.configs["t"] = CONFIG
    is_new = not any("t-0" in name for path in DIRS for name in disk.listdir(path))
    state = broker.state(TP)._replace(is_new=is_new)
    broker.replicas.become_leader_or_follower(CONTROLLER_EPOCH, [state])
    broker.tell_metadata([state])
    broker.turn()
    log_in(broker)
    broker.moves.resume()
    return broker


def log_in(broker: ReplicaBroker) -> PartitionLog:
    """The log, while it is served."""
    partition = broker.replicas.partition(TP)
    if partition is None or partition.log is None:
        raise Offline
    return partition.log


def run_once(broker: ReplicaBroker) -> None:
    """One round: the jobs that wait now, not those that follow."""
    waiting, broker.jobs[:] = list(broker.jobs), []
    for job in waiting:
        try:
            for work in job.plan(broker.clock.now_ms()):
                work.work()
                broker.replicas.logs_changed(work.commit())
                broker.jobs.extend(work.jobs)
        except StorageError as error:
            broker.replicas.storage_failed(error)


def checkpoint(broker: ReplicaBroker) -> None:
    for job in LogJobs(broker.logs, every()).periodic_jobs():
        if job.name.endswith("checkpoint"):
            broker.jobs.append(Job(job.name, 0, job.plan))
    broker.run_jobs()


def finish(broker: ReplicaBroker) -> None:
    for _ in range(50):
        broker.run_jobs()
        if not broker.moves.moves:
            return
        broker.advance(20)
    raise AssertionError("the move does not end")


def changes_of_a_whole_life() -> int:
    disk = FaultDisk()
    Life(disk).run()
    return disk.changes


WHOLE = changes_of_a_whole_life()


def kill(disk: FaultDisk) -> None:
    disk.restart()


def cut_power(disk: FaultDisk) -> None:
    disk.power_cut()


def cut_power_at_random(disk: FaultDisk) -> None:
    disk.power_cut(random.Random(disk.changes))


def check(disk: FaultDisk, life: Life, must_keep: Values, change: int) -> list[object]:
    """Start, look, let the move end, look again; what was found."""
    broker = start(disk)
    seen = look(broker, life, must_keep, change)
    finish(broker)
    assert look(broker, life, must_keep, change) == seen, change
    lives = [path for path in DIRS if disk.exists(f"{path}/t-0")]
    assert len(lives) == 1, (change, lives)
    names = [name for path in DIRS for name in disk.listdir(path) if "future" in name]
    assert names == [], (change, names)
    broker.logs.close(broker.clock.now_ms(), clean=False)
    findings = [one for path in DIRS for one in audit_log_dir(disk, path)]
    assert findings == [], (change, findings)
    return seen


def look(broker: ReplicaBroker, life: Life, must_keep: Values, change: int) -> list[object]:
    log = broker.log()
    found = dict(read_all(log, log.log_start_offset, ReadBound.LOG_END))
    for offset, value in found.items():
        assert value in life.written[offset], (change, offset)
    for offset, value in must_keep.items():
        if offset >= max(life.start, log.log_start_offset):
            assert found.get(offset) == value, (change, offset, log)
    assert log.log_start_offset in (0, life.start), (change, log)
    known = log.producers.get(5)
    return [log.log_start_offset, sorted(found.items()), known and known.last_sequence]


def explore(stop: Stop, changes: range) -> None:
    for change in changes:
        disk = FaultDisk()
        life = Life(disk)
        disk.torn_writes = True
        disk.crash_at(change)
        with contextlib.suppress(Crash):
            life.run()
        stop(disk)
        must_keep = life.held if stop is kill else life.flushed
        first = check(disk, life, must_keep, change)
        disk.restart()
        assert check(disk, life, must_keep, change) == first, change


@pytest.mark.parametrize("stop", [kill, cut_power, cut_power_at_random])
def test_a_move_stopped_at_any_change_loses_nothing(stop: Stop) -> None:
    assert WHOLE > 200
    explore(stop, range(1, WHOLE + 1))


def fail_each(code: int, first: int, step: int) -> int:
    """Fail one call after the other, each in a life of its own; how many calls a life has."""
    number, met = first, True
    while met:
        disk = FaultDisk()
        life = Life(disk)
        disk.fail_call(number, code)
        with contextlib.suppress(KafkaError, StorageError, Offline, OSError):
            life.run()
        met = disk.failed_call is not None
        check(disk.photograph(), life, life.flushed, number)
        number += step
    return number


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_a_disk_that_fails_during_a_move_loses_nothing(code: int) -> None:
    """The directory it hits is offline; after a restart with the disk repaired all is there."""
    assert fail_each(code, first=code % 9 + 1, step=9) > WHOLE


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EROFS, errno.ENOENT])
def test_a_disk_that_fails_at_any_call_of_a_move_loses_nothing(code: int) -> None:
    """The call may be the closing of a file by a generator that nobody waits for."""
    assert fail_each(code, first=1, step=1) > WHOLE
