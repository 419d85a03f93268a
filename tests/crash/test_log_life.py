"""A scripted life of a log, stopped at every change it makes to the disk, by kill and by power cut.

After each stop the log is started again and must be sound, hold all that was flushed, hold
nothing that was never appended, and not change when it is started once more.
"""

import contextlib
import random
from collections.abc import Callable

import pytest

from config.topic_config import LogConfig
from storage.audit import audit_log_dir
from storage.log.results import ReadBound
from tests.support.fault_disk import Crash, FaultDisk
from tests.support.log_harness import LOG_DIR, PARTITION, LogHarness, read_all

CONFIG = LogConfig(
    segment_bytes=400,
    index_interval_bytes=100,
    segment_index_bytes=1024,
    retention_bytes=900,
    retention_ms=-1,
    file_delete_delay_ms=0,
)
Values = dict[int, bytes]


class Life:
    """What happened to a log, as those know who used it."""

    def __init__(self, disk: FaultDisk) -> None:
        self.disk = disk
        self.written: dict[int, set[bytes]] = {}
        self.flushed: Values = {}
        self.held: Values = {}
        self.start = 0
        self.deleting = False

    def run(self) -> None:
        """Live until the end, or until the disk stops."""
        harness = LogHarness(self.disk, CONFIG)
        for step in range(3):
            self.append(harness, 4, step)
        self.flush(harness)
        self.append(harness, 3, 7)
        harness.checkpoint()
        harness.log.update_high_watermark(harness.log.log_end_offset)
        self.retain(harness)
        self.append(harness, 5, 8)
        self.cut(harness, harness.log.log_end_offset - 4)
        self.append(harness, 4, 9)
        self.flush(harness)
        harness.log.update_high_watermark(harness.log.log_end_offset)
        self.delete_records(harness, harness.log.log_end_offset - 3)
        self.retain(harness)
        harness.checkpoint()
        self.append(harness, 2, 10)
        harness.close()
        harness = LogHarness(self.disk, CONFIG)
        self.append(harness, 2, 11)
        self.flush(harness)
        harness.close()

    def append(self, harness: LogHarness, batches: int, mark: int) -> None:
        log = harness.log
        for number in range(batches):
            values = [b"value-%d-%d-%d" % (mark, number, index) for index in range(3)]
            entry = log.producers.get(5)
            sequence = 0 if entry is None else entry.last_sequence + 1
            first = log.log_end_offset
            for index, value in enumerate(values):
                self.written.setdefault(first + index, set()).add(value)
            harness.append(values, producer_id=5, producer_epoch=0, base_sequence=sequence)
            self.held.update({first + index: value for index, value in enumerate(values)})

    def flush(self, harness: LogHarness) -> None:
        harness.flush()
        end = harness.log.flushed_end_offset
        self.flushed = {offset: value for offset, value in self.held.items() if offset < end}

    def cut(self, harness: LogHarness, offset: int) -> None:
        self.flushed = {at: value for at, value in self.flushed.items() if at < offset - 3}
        self.held = {at: value for at, value in self.held.items() if at < offset - 3}
        jobs = harness.log.truncate_to(offset, harness.now_ms)
        harness.run(jobs)
        harness.checkpoint()

    def delete_records(self, harness: LogHarness, offset: int) -> None:
        self.start = offset
        harness.log.maybe_increment_log_start_offset(offset, "client delete records request")

    def retain(self, harness: LogHarness) -> None:
        log = harness.log
        keep = log.log_end_offset - 12
        self.start = max(self.start, keep)
        _, jobs = log.delete_old_segments(harness.now_ms)
        harness.run(jobs)


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


@pytest.mark.parametrize("stop", [kill, cut_power, cut_power_at_random])
def test_a_log_stopped_at_any_change_comes_back_sound(stop: Callable[[FaultDisk], None]) -> None:
    assert WHOLE > 100
    for change in range(1, WHOLE + 1):
        disk = FaultDisk()
        life = Life(disk)
        disk.torn_writes = True
        disk.crash_at(change)
        with contextlib.suppress(Crash):
            life.run()
        stop(disk)
        must_keep = life.held if stop is kill else life.flushed
        first = start_again(disk, life, must_keep, change)
        disk.restart()
        assert start_again(disk, life, must_keep, change) == first, change


def start_again(disk: FaultDisk, life: Life, must_keep: Values, change: int) -> list[object]:
    harness = LogHarness(disk, CONFIG)
    log = harness.log
    found = dict(read_all(log, log.log_start_offset, ReadBound.LOG_END))
    for offset, value in found.items():
        assert value in life.written[offset], (change, offset)
    for offset, value in must_keep.items():
        if offset >= max(life.start, log.log_start_offset):
            assert found.get(offset) == value, (change, offset)
    assert log.log_start_offset <= max(life.start, 0) or log.log_start_offset == 0, change
    assert log.segments.first.base_offset <= log.log_start_offset <= log.log_end_offset
    assert log.log_start_offset <= log.high_watermark <= log.log_end_offset
    assert harness.manager.get(PARTITION) is log
    findings = audit_log_dir(disk, LOG_DIR)
    assert findings == [], (change, findings)
    return [log.log_start_offset, log.log_end_offset, sorted(found.items()), log.producer_count]
