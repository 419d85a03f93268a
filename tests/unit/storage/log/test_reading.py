"""How far reads go and where they begin."""

import pytest

from config.topic_config import LogConfig
from protocol.errors import ErrorCode, KafkaError
from protocol.records.builder import build_batch
from storage.log.reading import place_of, place_of_bound
from storage.log.results import ReadBound
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import START_MS, LogHarness, read_all, records


def lived() -> LogHarness:
    harness = LogHarness(FaultDisk(), LogConfig(segment_bytes=300))
    for _ in range(6):
        harness.append([b"x", b"y"])
    return harness


@pytest.mark.parametrize("offset", [-1, 13])
def test_outside_the_log_is_out_of_range(offset: int) -> None:
    with pytest.raises(KafkaError) as caught:
        lived().log.read(offset, 100, ReadBound.LOG_END, True)
    assert caught.value.code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_between_the_bound_and_the_log_end_is_empty() -> None:
    log = lived().log
    log.update_high_watermark(4)
    for offset in (4, 9, 12):
        assert log.read(offset, 100, ReadBound.HIGH_WATERMARK, True).slice is None


def test_reads_stop_at_the_bound_by_position() -> None:
    log = lived().log
    for mark in (2, 4, 8, 12):
        log.update_high_watermark(mark)
        assert len(read_all(log, 0, ReadBound.HIGH_WATERMARK)) == mark
        assert place_of_bound(log, ReadBound.HIGH_WATERMARK) == place_of_bound(
            log, ReadBound.HIGH_WATERMARK
        )


def test_a_hole_leads_to_the_next_segment() -> None:
    harness = LogHarness(FaultDisk(), LogConfig(segment_bytes=100))
    data = build_batch(records([b"a"]), base_offset=0) + build_batch(records([b"b"]), base_offset=9)
    harness.log.append_as_follower(memoryview(data), START_MS)
    found = harness.log.read(4, 100, ReadBound.LOG_END, True)
    assert (found.first_batch_offset, found.segment_base_offset, found.position) == (9, 9, 0)
    assert found.slice is not None
    found.slice.release()
    assert place_of(harness.log, 4).segment_base_offset == 0


def test_the_first_batch_is_whole_only_if_one_message_must_come() -> None:
    log = lived().log
    assert log.read(0, 1, ReadBound.LOG_END, False).slice is None
    found = log.read(0, 1, ReadBound.LOG_END, True)
    assert found.slice is not None
    assert found.slice.nbytes > 61
    found.slice.release()
