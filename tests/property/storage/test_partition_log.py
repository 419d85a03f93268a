"""A partition log against a list of its batches, through every operation and every kind of end."""

import random
from typing import NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from config.topic_config import LogConfig
from protocol.errors import ErrorCode, KafkaError
from protocol.records.builder import build_batch
from storage.audit import audit_log_dir
from storage.log.results import ReadBound
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import LOG_DIR, LogHarness, read_all, records

CONFIG = LogConfig(
    segment_bytes=700,
    index_interval_bytes=150,
    retention_bytes=1500,
    retention_ms=-1,
    file_delete_delay_ms=0,
    segment_index_bytes=1024,
)


class Batch(NamedTuple):
    base: int
    values: tuple[bytes, ...]

    @property
    def end(self) -> int:
        return self.base + len(self.values)


class LogAgainstList(RuleBasedStateMachine):
    """`batches` is what the log should hold; `durable_end` what no power cut may take."""

    @initialize()
    def open(self) -> None:
        self.disk = FaultDisk()
        self.harness = LogHarness(self.disk, CONFIG)
        self.batches: list[Batch] = []
        self.start = self.end = self.mark = 0
        self.count = 0
        self.sequence = 0
        self.random = random.Random(7)

    @property
    def log(self):  # type: ignore[no-untyped-def]
        return self.harness.log

    def values(self, number: int) -> tuple[bytes, ...]:
        self.count += 1
        return tuple(b"%d-%d" % (self.count, index) for index in range(number))

    # Appending.

    @rule(number=st.integers(1, 5), idempotent=st.booleans())
    def append(self, number: int, idempotent: bool) -> None:
        values = self.values(number)
        fields = {}
        if idempotent:
            fields = {"producer_id": 9, "producer_epoch": 0, "base_sequence": self.sequence}
            entry = self.log.producers.get(9)
            fields["base_sequence"] = 0 if entry is None else entry.last_sequence + 1
        first, last = self.harness.append(values, epoch=max(self.log.latest_epoch, 0), **fields)
        assert (first, last) == (self.end, self.end + number - 1)
        self.batches.append(Batch(first, values))
        self.end = last + 1

    @rule(number=st.integers(1, 3), gap=st.integers(0, 4), epoch=st.integers(0, 2))
    def follow(self, number: int, gap: int, epoch: int) -> None:
        data = bytearray()
        epoch += max(self.log.latest_epoch, 0)
        for _ in range(2):
            values = self.values(number)
            base = self.end + gap
            data += build_batch(
                records(values, self.harness.now_ms), base_offset=base, leader_epoch=epoch
            )
            self.batches.append(Batch(base, values))
            self.end = base + number
        result = self.log.append_as_follower(memoryview(data), self.harness.now_ms)
        assert result is not None
        self.harness.run(result.jobs)

    @precondition(lambda self: self.end > 0)
    @rule()
    def what_goes_backwards_is_refused(self) -> None:
        data = build_batch(records([b"x"]), base_offset=self.end - 1, leader_epoch=9)
        with pytest.raises(KafkaError):
            self.log.append_as_follower(memoryview(data), self.harness.now_ms)

    # Reading.

    @rule(at=st.integers(-1, 60), size=st.integers(0, 900))
    def read(self, at: int, size: int) -> None:
        offset = self.start + at
        if not self.start <= offset <= self.end:
            with pytest.raises(KafkaError) as caught:
                self.log.read(offset, size, ReadBound.LOG_END, True)
            assert caught.value.code == ErrorCode.OFFSET_OUT_OF_RANGE
            return
        for bound, end in ((ReadBound.LOG_END, self.end), (ReadBound.HIGH_WATERMARK, self.mark)):
            expected = [pair for pair in self.pairs() if offset <= pair[0]]
            found = read_all(self.log, offset, bound, size)
            whole = [pair for pair in expected if self.batch_end(pair[0]) <= end]
            assert found[: len(whole)] == whole
            assert found == expected[: len(found)]

    def batch_end(self, offset: int) -> int:
        return next(batch.end for batch in self.batches if batch.base <= offset < batch.end)

    def pairs(self) -> list[tuple[int, bytes]]:
        return [
            (batch.base + index, value)
            for batch in self.batches
            for index, value in enumerate(batch.values)
        ]

    # Moving.

    @rule(share=st.floats(0, 1))
    def high_watermark(self, share: float) -> None:
        target = max(self.mark, int(self.end * share))
        self.log.update_high_watermark(target)
        self.mark = max(min(target, self.end), self.start)

    @rule()
    def roll(self) -> None:
        self.harness.run(self.log.roll(self.harness.now_ms))

    @rule()
    def flush(self) -> None:
        self.harness.flush()
        assert self.log.flushed_end_offset == self.end

    @rule()
    def checkpoint(self) -> None:
        self.harness.checkpoint()

    @rule()
    def retain(self) -> None:
        before = self.log.size
        deleted, jobs = self.log.delete_old_segments(self.harness.now_ms)
        self.harness.run(jobs)
        if deleted:
            self.start = self.log.log_start_offset
            assert before > CONFIG.retention_bytes or self.start <= self.mark
            self.forget_below_start()

    @rule(share=st.floats(0, 1))
    def delete_records(self, share: float) -> None:
        target = int(self.mark * share)
        moved = self.log.maybe_increment_log_start_offset(target, "client delete records request")
        assert moved == (target > self.start)
        self.start = max(self.start, target)
        self.forget_below_start()

    def forget_below_start(self) -> None:
        self.batches = [batch for batch in self.batches if batch.end > self.start]

    @rule(back=st.integers(0, 25))
    def truncate(self, back: int) -> None:
        target = max(self.end - back, 0)
        self.harness.run(self.log.truncate_to(target, self.harness.now_ms))
        self.harness.checkpoint()
        self.take_end(target)

    def take_end(self, target: int) -> None:
        for batch in self.batches:
            if batch.base < target < batch.end:
                target = batch.base
        if target >= self.end:
            assert self.log.log_end_offset == self.end
            return
        self.batches = [batch for batch in self.batches if batch.end <= target]
        self.end = self.log.log_end_offset
        assert self.end <= target or not self.batches
        self.start = self.log.log_start_offset
        assert self.start <= self.end
        self.mark = min(self.mark, self.end)

    @rule(jump=st.integers(-20, 20))
    def start_over(self, jump: int) -> None:
        target = max(self.end + jump, 0)
        self.harness.run(self.log.truncate_fully_and_start_at(target, self.harness.now_ms))
        self.harness.checkpoint()
        self.batches = []
        self.start = self.end = self.mark = target
        assert self.log.log_start_offset == self.log.log_end_offset == target

    # Ends.

    @rule()
    def close_and_open(self) -> None:
        self.harness.close()
        self.harness = LogHarness(self.disk, CONFIG)
        assert self.harness.report.recovered == 0
        self.adopt(lost_below=self.end)
        assert self.log.recovery_point == self.end

    @rule()
    def kill(self) -> None:
        self.disk.restart()
        self.harness = LogHarness(self.disk, CONFIG)
        self.adopt(lost_below=self.end)

    @rule(torn=st.booleans())
    def cut_power(self, torn: bool) -> None:
        flushed = self.log.flushed_end_offset
        self.disk.power_cut(self.random if torn else None)
        self.harness = LogHarness(self.disk, CONFIG)
        self.adopt(lost_below=flushed)

    def adopt(self, lost_below: int) -> None:
        """After a start: nothing below the flushed end is missing, nothing new is there."""
        log = self.log
        expected = {batch.base: batch for batch in self.batches}
        found = dict(read_all(log, log.log_start_offset, ReadBound.LOG_END))
        for batch in self.batches:
            for index, value in enumerate(batch.values):
                offset = batch.base + index
                if batch.end <= lost_below and offset >= log.log_start_offset:
                    assert found.get(offset) == value, offset
        self.end = log.log_end_offset
        self.start = log.log_start_offset
        self.mark = log.high_watermark
        self.batches = [
            batch for batch in expected.values() if batch.end <= self.end and batch.end > self.start
        ]
        known = dict(self.pairs())
        assert all(known.get(offset, value) == value for offset, value in found.items())
        below = [batch for batch in _as_batches(log, self.start) if batch.base not in known]
        self.batches = sorted({*self.batches, *below}, key=lambda batch: batch.base)

    @invariant()
    def everything_holds(self) -> None:
        log = self.harness.log
        assert log.log_start_offset == self.start
        assert log.log_end_offset == self.end
        assert log.high_watermark == self.mark
        assert log.log_start_offset <= log.last_stable_offset <= log.high_watermark
        assert log.recovery_point <= log.log_end_offset
        assert log.segments.first.base_offset <= log.log_start_offset
        assert [pair for pair in self.pairs() if pair[0] >= self.start] == self.harness.content()

    def teardown(self) -> None:
        if hasattr(self, "harness"):
            self.harness.close()
            assert audit_log_dir(self.disk, LOG_DIR) == []
            assert self.disk.open_count == 0


def _as_batches(log, start: int) -> list[Batch]:  # type: ignore[no-untyped-def]
    """What a start brought back: records that deletion had only begun to drop."""
    return [
        Batch(offset, (value,))
        for offset, value in read_all(log, start, ReadBound.LOG_END)
        if value
    ]


LogAgainstList.TestCase.settings = settings(stateful_step_count=40, deadline=None)
TestLogAgainstList = LogAgainstList.TestCase
