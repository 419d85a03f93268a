"""What a partition log answers, and what it leaves to be done."""

from typing import Any

import pytest

from config.topic_config import LogConfig
from protocol.errors import ErrorCode, KafkaError
from protocol.records.builder import build_batch
from protocol.records.control import EndTransactionMarker, build_end_transaction_marker
from protocol.records.record import Record
from storage.log.results import Origin, ReadBound
from storage.log.validator import prepare
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import NEVER, START_MS, LogHarness, read_all, records


def harness(config: LogConfig | None = None) -> LogHarness:
    return LogHarness(FaultDisk(), (config or LogConfig())._replace(file_delete_delay_ms=0))


def batch(value: bytes = b"v", **fields: Any) -> memoryview:
    return memoryview(build_batch(records([value]), **fields))


def test_appends_are_given_offsets_and_the_epoch_in_place() -> None:
    log = harness().log
    data = batch()
    first = log.append_as_leader(data, 3, START_MS)
    second = log.append_as_leader(batch(), 3, START_MS)
    assert (first.base_offset, first.last_offset, second.base_offset) == (0, 0, 1)
    assert (first.log_append_time_ms, first.duplicate, first.jobs) == (-1, False, ())
    assert bytes(data[12:16]) == b"\0\0\0\3"
    assert log.latest_epoch == 3
    assert log.end_offset_for_epoch(3) == (3, 2)


def test_a_worker_may_validate_and_the_loop_append() -> None:
    log = harness().log
    work = log.prepare(batch(), START_MS)
    assert log.append_prepared(work(), 0, START_MS).base_offset == 0


def test_a_retried_batch_is_answered_with_its_old_offsets_and_time() -> None:
    log = harness().log
    fields: dict[str, Any] = {"producer_id": 4, "producer_epoch": 0}
    for sequence in range(3):
        log.append_as_leader(batch(base_sequence=sequence, **fields), 0, START_MS)
    again = log.append_as_leader(batch(base_sequence=1, **fields), 0, START_MS)
    assert (again.duplicate, again.base_offset, again.last_offset) == (True, 1, 1)
    assert again.log_append_time_ms == START_MS
    assert log.log_end_offset == 3
    with pytest.raises(KafkaError) as caught:
        log.append_as_leader(batch(base_sequence=9, **fields), 0, START_MS)
    assert caught.value.code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.producer_count == 1
    assert [entry.producer_id for entry in log.active_producers()] == [4]


def transaction(log_harness: LogHarness, producer_id: int, *, commit: bool, size: int = 2) -> None:
    log = log_harness.log
    for sequence in range(size):
        fields: dict[str, Any] = {
            "producer_id": producer_id,
            "producer_epoch": 0,
            "base_sequence": sequence,
        }
        log.append_as_leader(batch(is_transactional=True, **fields), 0, START_MS)
    marker = build_end_transaction_marker(
        EndTransactionMarker(commit, 0),
        producer_id=producer_id,
        producer_epoch=0,
        timestamp=START_MS,
    )
    log.append_as_leader(memoryview(marker), 0, START_MS, origin=Origin.COORDINATOR)


def test_committed_reads_end_before_open_transactions_and_name_aborted_ones() -> None:
    at = harness()
    log = at.log
    transaction(at, 1, commit=False)
    fields: dict[str, Any] = {"producer_id": 2, "producer_epoch": 0, "base_sequence": 0}
    log.append_as_leader(batch(is_transactional=True, **fields), 0, START_MS)
    assert log.last_stable_offset == 0
    log.update_high_watermark(log.log_end_offset)
    assert log.last_stable_offset == 3
    found = log.read(0, 1 << 20, ReadBound.LAST_STABLE, True)
    assert [(a.producer_id, a.first_offset) for a in found.aborted_transactions or []] == [(1, 0)]
    assert found.slice is not None
    found.slice.release()
    assert log.read(3, 1 << 20, ReadBound.LAST_STABLE, True).aborted_transactions == []
    assert log.read(3, 1 << 20, ReadBound.LOG_END, True).aborted_transactions is None


def test_an_aborted_transaction_is_known_after_truncation_and_restart() -> None:
    at = harness(LogConfig(segment_bytes=300))
    transaction(at, 1, commit=False)
    transaction(at, 2, commit=False, size=3)
    at.run(at.log.truncate_to(5, START_MS))
    assert at.log.producers.first_unstable_offset == 0 or at.log.last_stable_offset == 0
    at.log.update_high_watermark(at.log.log_end_offset)
    assert at.log.last_stable_offset == 3
    at.close()
    again = LogHarness(at.disk, at.config)
    again.log.update_high_watermark(again.log.log_end_offset)
    assert again.log.last_stable_offset == 3


def test_a_roll_asks_for_a_flush_of_what_lies_before() -> None:
    log = harness(LogConfig(segment_bytes=200)).log
    jobs = [job for _ in range(5) for job in log.append_as_leader(batch(), 0, START_MS).jobs]
    assert {job.name for job in jobs} == {"flush-log"}
    assert log.segment_count > 1
    work = jobs[0].plan(START_MS)[0]
    assert work.log_dir == log.log_dir
    assert log.recovery_point == 0
    work.work()
    assert list(work.commit()) == [log]
    assert log.recovery_point == log.flushed_end_offset == log.segments.active.base_offset


def test_flush_before_ack_makes_one_flush_carry_all_that_came_meanwhile() -> None:
    log = harness(LogConfig(flush_messages=1)).log
    first = log.append_as_leader(batch(), 0, START_MS)
    (work,) = first.jobs[0].plan(START_MS)
    assert [log.append_as_leader(batch(), 0, START_MS).jobs for _ in range(5)] == [()] * 5
    assert log.plan_flush(START_MS) is None
    work.work()
    work.commit()
    assert log.flushed_end_offset == 1
    (follow,) = work.jobs
    (work,) = follow.plan(START_MS)
    work.work()
    work.commit()
    assert log.flushed_end_offset == 6
    assert work.jobs == ()
    assert log.plan_flush(START_MS) is None


def test_a_flush_that_a_truncation_overtook_vouches_for_nothing() -> None:
    log = harness().log
    for _ in range(4):
        log.append_as_leader(batch(), 0, START_MS)
    work = log.plan_flush(START_MS)
    assert work is not None
    log.truncate_to(2, START_MS)
    log.append_as_leader(batch(b"other"), 1, START_MS)
    work.work()
    assert list(work.commit()) == []
    assert log.flushed_end_offset == 0


def test_the_high_watermark_stays_within_the_log() -> None:
    log = harness().log
    log.append_as_leader(batch(), 0, START_MS)
    assert log.update_high_watermark(9)
    assert log.high_watermark == 1
    assert not log.update_high_watermark(1)


def test_records_are_not_deleted_beyond_the_high_watermark() -> None:
    log = harness().log
    log.append_as_leader(batch(), 0, START_MS)
    with pytest.raises(KafkaError) as caught:
        log.maybe_increment_log_start_offset(1, "client delete records request")
    assert caught.value.code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert not log.maybe_increment_log_start_offset(0, "client delete records request")


def test_producers_are_forgotten_after_their_time() -> None:
    log = harness().log
    fields: dict[str, Any] = {"producer_id": 4, "producer_epoch": 0, "base_sequence": 0}
    log.append_as_leader(batch(**fields), 0, START_MS)
    assert log.expire_producers(START_MS) == 0
    assert log.expire_producers(START_MS + NEVER) == 1


def test_event_time_rolls_segments_and_compaction_lag_bounds_it() -> None:
    late = memoryview(build_batch([Record(0, START_MS + 101, b"k", b"v", [])]))
    for config, segments in (
        (LogConfig(segment_ms=100), 2),
        (LogConfig(segment_ms=200), 1),
        (LogConfig(segment_ms=200, compact=True, max_compaction_lag_ms=100), 2),
    ):
        log = harness(config).log
        log.append_as_leader(
            memoryview(build_batch([Record(0, START_MS, b"k", b"v", [])])), 0, START_MS
        )
        log.append_as_leader(memoryview(bytes(late)), 0, START_MS)
        assert log.segment_count == segments


def test_a_rule_of_the_topic_that_changed_holds_from_the_next_append() -> None:
    at = harness()
    prepare(batch(), at.log._rules, START_MS, Origin.CLIENT)
    at.log.update_config(LogConfig(log_append_time=True))
    assert at.log.append_as_leader(batch(), 0, START_MS + 7).log_append_time_ms == START_MS + 7


def test_estimates_tell_what_a_read_would_find() -> None:
    at = harness(LogConfig(segment_bytes=500))
    sizes = 0
    for _ in range(4):
        sizes += at.log.append_as_leader(batch(), 0, START_MS).size
    log = at.log
    assert log.estimate_bytes(0, ReadBound.LOG_END) == sizes
    assert log.estimate_bytes(0, ReadBound.HIGH_WATERMARK) == 0
    assert log.estimate_bytes(4, ReadBound.LOG_END) == 0
    parked = log.read(4, 100, ReadBound.LOG_END, True)
    place = (parked.segment_base_offset, parked.position)
    added = log.append_as_leader(batch(), 0, START_MS).size
    assert log.estimate_bytes(4, ReadBound.LOG_END, place) == added
    for _ in range(10):
        log.append_as_leader(batch(), 0, START_MS)
    assert log.estimate_bytes(0, ReadBound.LOG_END) > 1 << 40


def test_a_leader_that_wrote_gaps_is_followed_over_segments() -> None:
    at = harness(LogConfig(segment_bytes=300))
    data = bytearray()
    for base in (5, 9, 1 << 33):
        data += build_batch(records([b"v%d" % base]), base_offset=base, leader_epoch=2)
    result = at.log.append_as_follower(memoryview(data), START_MS)
    assert result is not None
    assert (result.base_offset, result.last_offset, result.record_count) == (5, 1 << 33, 3)
    assert at.log.latest_epoch == 2
    assert [offset for offset, _ in read_all(at.log, 0, ReadBound.LOG_END)] == [5, 9, 1 << 33]
    assert at.log.append_as_follower(memoryview(b""), START_MS) is None
    data[-1] ^= 1
    with pytest.raises(KafkaError):
        at.log.append_as_follower(memoryview(data), START_MS)


def test_log_lines_name_the_log_as_kafka_does() -> None:
    log = harness().log
    assert log.prefix == "[Log partition=orders-0, dir=/data]"
    assert repr(log) == "PartitionLog(orders-0, 0..0, high_watermark=0)"


def test_a_log_that_nothing_was_written_to_has_no_times() -> None:
    log = harness().log
    assert log.max_timestamp_offset() is None
    assert log.offset_for_timestamp(0) is None


def test_an_epoch_that_wrote_nothing_is_kept_by_a_clean_close() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.log.assign_epoch(3, 0)
    harness.close()
    assert disk.read_file(f"{harness.log.directory}/leader-epoch-checkpoint") == b"0\n1\n3 0\n"
