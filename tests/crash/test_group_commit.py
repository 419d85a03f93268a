"""Group commit under a power cut: producers interleaved, flushes taken apart into their steps.

The broker's turn is played by hand: appends go on while a flush is planned, works, or waits for
its commit. Whenever an append is acknowledged, or a reader could see it, the power is cut in a
photograph of the disk, in several ways: what comes back must hold it.
"""

import errno
import random
from collections import deque
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.replication.meters import BrokerTopicMeters
from broker.replication.partition import Partition
from config.topic_config import LogConfig
from protocol.errors import ErrorCode
from protocol.records.builder import build_batch
from storage.errors import StorageError
from storage.filenames import CLEAN_SHUTDOWN_FILE
from storage.jobs import Job, Work
from storage.log.results import Origin, ReadBound
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import LOG_DIR, PARTITION, TOPIC_ID, LogHarness, read_all, records
from tests.support.replicas import NODE, ReplicaBroker
from tests.support.transactional_log import TransactionalProducer

CONFIG = LogConfig(
    segment_bytes=500,
    index_interval_bytes=100,
    segment_index_bytes=1024,
    file_delete_delay_ms=0,
    flush_messages=1,
)
APPEND, TRANSACT, ABORT, ROLL = "append", "transact", "abort", "roll"
PLAN, WORK, COMMIT, CHECKPOINT = "plan", "work", "commit", "checkpoint"
STEPS = st.lists(
    st.sampled_from(
        [APPEND, APPEND, APPEND, TRANSACT, ABORT, ROLL, PLAN, WORK, COMMIT, CHECKPOINT]
    ),
    min_size=10,
    max_size=60,
)


class Turns:
    """One partition led under flush-before-ack, whose background work waits to be told."""

    def __init__(self, disk: FaultDisk, config: LogConfig = CONFIG) -> None:
        self.disk = disk
        self.harness = LogHarness(disk, config)
        self.partition = Partition(PARTITION, NODE, BrokerTopicMeters().topic("orders"))
        state = ReplicaBroker.state(PARTITION, topic_id=TOPIC_ID)
        self.partition.make_leader(state, self.harness.log, self.harness.now_ms)
        self.jobs: deque[Job] = deque()
        self.planned: deque[Work] = deque()
        self.worked: deque[Work] = deque()
        self.appended: dict[int, bytes] = {}
        self.waiting: list[int] = []
        self.producer = TransactionalProducer(7)
        self.count = 0

    def take(self, step: str) -> bool:
        """Make a step; whether anything was acknowledged, or became visible, by it."""
        visible = self.harness.log.high_watermark
        if step == APPEND:
            self.append(plain=True)
        elif step == TRANSACT:
            self.append(plain=False)
        elif step == ABORT:
            log, now_ms = self.harness.log, self.harness.now_ms
            marker = memoryview(self.producer.marker(log, now_ms, commit=False))
            result = log.append_as_leader(marker, 0, now_ms, origin=Origin.COORDINATOR)
            self.jobs.extend(result.jobs)
        elif step == ROLL:
            self.jobs.extend(self.harness.log.roll(self.harness.now_ms))
        elif step == PLAN and self.jobs:
            self.planned.extend(self.jobs.popleft().plan(self.harness.now_ms))
        elif step == WORK and self.planned:
            work = self.planned.popleft()
            work.work()
            self.worked.append(work)
        elif step == COMMIT and self.worked:
            self.commit(self.worked.popleft())
        elif step == CHECKPOINT:
            checkpoint = self.harness.directory.recovery_points
            checkpoint.write(self.harness.manager.recovery_points(LOG_DIR))
        answered = [end for end in self.waiting if self.is_acknowledged(end)]
        self.waiting = [end for end in self.waiting if end not in answered]
        return bool(answered) or self.harness.log.high_watermark > visible

    def append(self, *, plain: bool) -> None:
        self.count += 1
        value = b"value-%d" % self.count
        log = self.harness.log
        if plain:
            data = build_batch(records([value], self.harness.now_ms))
        else:
            data = self.producer.batch(log, [value], self.harness.now_ms)
        result, _ = self.partition.append_as_leader(memoryview(data), 1, self.harness.now_ms)
        self.jobs.extend(result.jobs)
        self.appended[result.base_offset] = value
        self.waiting.append(result.last_offset + 1)

    def commit(self, work: Work) -> None:
        if work.commit():
            self.partition.after_job()
        self.jobs.extend(work.jobs)

    def is_acknowledged(self, end_offset: int) -> bool:
        return self.partition.acknowledgement(end_offset, 1) == ErrorCode.NONE

    def safe(self) -> dict[int, bytes]:
        """What no power cut may take: acknowledged, or within the sight of readers."""
        mark = self.harness.log.high_watermark
        return {
            offset: value
            for offset, value in self.appended.items()
            if offset < mark or self.is_acknowledged(offset + 1)
        }


def check_after_power_cut(turns: Turns) -> None:
    safe, visible = turns.safe(), turns.harness.log.high_watermark
    aborted = {
        (entry.producer_id, entry.first_offset)
        for segment in turns.harness.log.segments
        for entry in segment.transaction_index.entries()
        if entry.last_offset < visible
    }
    for chance in (None, random.Random(1), random.Random(2)):
        disk = turns.disk.photograph()
        disk.power_cut(chance)
        harness = LogHarness(disk, CONFIG)
        found = dict(read_all(harness.log, 0, ReadBound.LOG_END))
        assert {offset: found.get(offset) for offset in safe} == safe
        assert aborted <= {
            (entry.producer_id, entry.first_offset)
            for segment in harness.log.segments
            for entry in segment.transaction_index.entries()
        }
        harness.manager.close(harness.now_ms, clean=False)


@given(STEPS)
def test_nothing_acknowledged_is_taken_by_a_power_cut(steps: Sequence[str]) -> None:
    turns = Turns(FaultDisk())
    for step in steps:
        if turns.take(step):
            check_after_power_cut(turns)
    for _ in range(200):
        if not (turns.jobs or turns.planned or turns.worked):
            break
        for step in (PLAN, WORK, COMMIT):
            if turns.take(step):
                check_after_power_cut(turns)
    assert turns.waiting == []
    assert turns.harness.log.flushed_end_offset == turns.harness.log.log_end_offset
    turns.harness.close()
    assert turns.disk.open_count == 0


def test_all_that_came_while_one_flush_ran_is_answered_by_the_next() -> None:
    turns = Turns(FaultDisk(), CONFIG._replace(segment_bytes=1 << 20))
    turns.take(APPEND)
    turns.take(PLAN)
    for _ in range(63):
        turns.take(APPEND)
    turns.take(WORK)
    turns.take(COMMIT)
    assert len(turns.waiting) == 63
    assert len(turns.jobs) == 1
    before = turns.disk.fsyncs
    for step in (PLAN, WORK, COMMIT):
        turns.take(step)
    assert turns.waiting == []
    assert turns.disk.fsyncs - before == 3  # the log and its two indexes
    assert not turns.jobs


@pytest.mark.parametrize("call", ["fsync", "fsync_dir", "replace"])
def test_a_flush_that_fails_acknowledges_nothing_and_is_not_tried_again(call: str) -> None:
    disk = FaultDisk()
    turns = Turns(disk)
    turns.take(APPEND)
    turns.take(PLAN)
    disk.fail(call, errno.EIO)
    with pytest.raises(StorageError):
        turns.take(WORK)
    turns.harness.manager.fail_dir(LOG_DIR)
    turns.partition.go_offline()
    assert turns.partition.acknowledgement(1, 1) == ErrorCode.KAFKA_STORAGE_ERROR
    fsyncs = disk.fsyncs
    assert turns.harness.log.plan_flush(turns.harness.now_ms) is None
    turns.harness.close()
    assert disk.fsyncs == fsyncs
    assert not disk.exists(f"{LOG_DIR}/{CLEAN_SHUTDOWN_FILE}")
    assert disk.open_count == 0


@pytest.mark.parametrize("call", ["fsync", "fsync_dir", "replace"])
def test_a_sync_that_fails_while_closing_leaves_no_clean_mark(call: str) -> None:
    disk = FaultDisk()
    turns = Turns(disk)
    turns.take(APPEND)
    disk.fail(call, errno.EIO)
    turns.harness.close()
    assert not disk.exists(f"{LOG_DIR}/{CLEAN_SHUTDOWN_FILE}")
    assert disk.open_count == 0


def test_a_flush_that_runs_while_the_log_is_cut_vouches_for_nothing_written_after() -> None:
    disk = FaultDisk()
    turns = Turns(disk)
    for _ in range(4):
        turns.take(APPEND)
    turns.take(PLAN)
    log = turns.harness.log
    turns.jobs.extend(log.truncate_to(2, turns.harness.now_ms))
    turns.waiting = [end for end in turns.waiting if end <= 2]
    turns.take(APPEND)
    turns.take(WORK)
    turns.take(COMMIT)
    assert log.flushed_end_offset <= 2
    assert 3 in turns.waiting
    while turns.jobs or turns.planned or turns.worked:
        for step in (PLAN, WORK, COMMIT):
            turns.take(step)
    assert turns.waiting == []
    disk.power_cut()
    assert LogHarness(disk, CONFIG).content()[2] == (2, b"value-5")
