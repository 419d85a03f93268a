"""Retention put into force."""

import logging

import pytest

from config.definition import MAX_LONG
from config.topic_config import LogConfig
from protocol.records.builder import build_batch
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import START_MS, LogHarness, records


def test_kafkas_words_for_what_goes(caplog: pytest.LogCaptureFixture) -> None:
    harness = LogHarness(FaultDisk(), LogConfig(segment_bytes=100, retention_ms=10))
    for _ in range(2):
        harness.append([b"x"])
    harness.log.update_high_watermark(2)
    with caplog.at_level(logging.INFO):
        deleted, _ = harness.log.delete_old_segments(START_MS + 11)
    assert deleted == [0, 1]
    assert (
        "[Log partition=orders-0, dir=/data] Found deletable segments with base offsets [0,1] "
        "due to retention time 10ms breach" in caplog.messages
    )


def test_a_call_drops_no_more_than_its_limit() -> None:
    harness = LogHarness(FaultDisk(), LogConfig(segment_bytes=100, retention_bytes=0))
    for _ in range(5):
        harness.append([b"x"])
    harness.log.update_high_watermark(5)
    assert harness.log.delete_old_segments(START_MS, 2)[0] == [0, 1]
    assert harness.log.log_start_offset == 2


def test_a_segment_from_the_future_is_kept_and_told_of(caplog: pytest.LogCaptureFixture) -> None:
    config = LogConfig(retention_ms=10, timestamp_after_max_ms=MAX_LONG)
    harness = LogHarness(FaultDisk(), config)
    harness.now_ms = MAX_LONG
    harness.append([b"x"])
    harness.log.update_high_watermark(1)
    assert harness.log.delete_old_segments(START_MS) == ([], [])
    assert "contains future timestamp(s)" in caplog.text


def test_without_timestamps_the_time_of_the_last_write_counts() -> None:
    disk = FaultDisk()
    disk.now_ms = START_MS
    harness = LogHarness(disk, LogConfig(retention_ms=10))
    harness.log.append_as_leader(memoryview(build_batch(records([b"x"], -1))), 0, START_MS)
    harness.log.update_high_watermark(1)
    assert harness.log.delete_old_segments(START_MS + 10)[0] == []
    assert harness.log.delete_old_segments(START_MS - 1_000_000)[0] == []
    assert harness.log.delete_old_segments(START_MS + 11)[0] == [0]


def test_an_empty_policy_lets_only_what_lies_below_the_log_start_go() -> None:
    config = LogConfig(delete=False, retention_ms=1, retention_bytes=1, segment_bytes=100)
    harness = LogHarness(FaultDisk(), config)
    for _ in range(3):
        harness.append([b"x"])
    log = harness.log
    log.update_high_watermark(3)
    assert log.delete_old_segments(START_MS + 1000)[0] == []
    log.maybe_increment_log_start_offset(2, "client delete records request")
    assert log.delete_old_segments(START_MS + 1000)[0] == [0, 1]
