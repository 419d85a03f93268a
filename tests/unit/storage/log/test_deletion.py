"""Retention put into force."""

import logging

import pytest

from config.topic_config import LogConfig
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import START_MS, LogHarness


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
