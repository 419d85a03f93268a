"""How far reads go and where they begin."""

import pytest

from config.topic_config import LogConfig
from protocol.errors import ErrorCode, KafkaError
from protocol.records.builder import build_batch
from storage.filenames import TRANSACTION_INDEX
from storage.log.reading import place_of, place_of_bound
from storage.log.results import ReadBound
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import START_MS, LogHarness, read_all, records
from tests.support.transactional_log import TransactionalProducer, read_committed


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
    harness.log.append_as_follower(memoryview(build_batch(records([b"a"]))), START_MS)
    harness.log.roll(START_MS, 9)
    data = build_batch(records([b"b"]), base_offset=9)
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


def aborted_across_segments() -> LogHarness:
    """Records of a transaction in the first segment, its abort marker in the third."""
    harness = LogHarness(FaultDisk())
    producer = TransactionalProducer(7)
    producer.append(harness, [b"never"])
    harness.append([b"plain"])
    for _ in range(2):
        harness.run(harness.log.roll(START_MS))
        harness.append([b"later"])
    producer.end(harness, commit=False)
    harness.log.update_high_watermark(harness.log.log_end_offset)
    return harness


def test_a_marker_in_a_later_segment_is_told_with_the_records_it_ends() -> None:
    log = aborted_across_segments().log
    found = log.read(0, 1 << 20, ReadBound.LAST_STABLE, True)
    assert found.slice is not None
    found.slice.release()
    assert found.segment_base_offset == 0
    assert repr(found.aborted_transactions) == (
        "[AbortedTransaction(producer_id=7, first_offset=0)]"
    )
    assert [offset for offset, _ in read_committed(log, 0)] == [1, 2, 3]


@pytest.mark.parametrize("damage", [b"x" * 34, b"x", b"\0" * 34])
def test_nothing_committed_is_served_by_a_damaged_index_of_aborted_transactions(
    damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    harness = aborted_across_segments()
    disk = harness.disk
    path = harness.log.segments.active.path(TRANSACTION_INDEX)
    harness.close()
    again = LogHarness(disk)
    disk.write_file(path, damage)
    before = again.log.read(0, 1 << 20, ReadBound.HIGH_WATERMARK, True)
    with pytest.raises(KafkaError) as caught:
        again.log.read(0, 1 << 20, ReadBound.LAST_STABLE, True)
    assert caught.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert path in caplog.text
    assert before.slice is not None
    before.slice.release()
    again.log.close()
    assert isinstance(disk, FaultDisk)
    assert disk.open_count == 0
