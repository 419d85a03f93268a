"""Offsets by time."""

from config.topic_config import LogConfig
from protocol.records.builder import build_batch
from protocol.records.record import Record
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import START_MS, LogHarness

TIMES = [5, 1, 9, 3, 12, 12, 2]


def lived() -> LogHarness:
    harness = LogHarness(FaultDisk(), LogConfig(segment_bytes=200))
    for time in TIMES:
        data = build_batch([Record(0, START_MS + time, None, b"x", [])])
        harness.log.append_as_leader(memoryview(data), 1, START_MS)
    return harness


def test_the_first_record_at_or_after_a_time_is_found() -> None:
    log = lived().log
    assert log.segment_count > 2
    for target, offset in ((0, 0), (5, 0), (6, 2), (9, 2), (10, 4), (12, 4)):
        found = log.offset_for_timestamp(START_MS + target)
        assert found is not None
        assert (found.offset, found.leader_epoch) == (offset, 1)
    assert log.offset_for_timestamp(START_MS + 13) is None


def test_records_below_the_log_start_are_not_found() -> None:
    log = lived().log
    log.update_high_watermark(7)
    log.maybe_increment_log_start_offset(3, "test")
    found = log.offset_for_timestamp(START_MS)
    assert found is not None
    assert found.offset == 3


def test_the_first_record_with_the_greatest_time_is_found() -> None:
    found = lived().log.max_timestamp_offset()
    assert found is not None
    assert (found.offset, found.timestamp) == (4, START_MS + 12)
    assert repr(found) == f"TimestampOffset({START_MS + 12}, 4, epoch=1)"
