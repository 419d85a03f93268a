"""Any timestamp a producer may claim, under any clock: nothing in a log's life stumbles over it."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from config.definition import MAX_LONG
from config.topic_config import LogConfig
from protocol.errors import KafkaError
from protocol.records.builder import build_batch
from protocol.records.record import Record
from storage.audit import audit_log_dir
from storage.log.results import ReadBound
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import LOG_DIR, START_MS, LogHarness, read_all

CONFIG = LogConfig(
    segment_bytes=600,
    segment_ms=1000,
    index_interval_bytes=1,
    segment_index_bytes=120,
    retention_ms=10_000,
    timestamp_after_max_ms=MAX_LONG,
    file_delete_delay_ms=0,
)
MIN_LONG = -(1 << 63)
TIMES = st.sampled_from(
    [MIN_LONG, -2, -1, 0, 1, START_MS - 1, START_MS, START_MS + 5000, MAX_LONG - 1, MAX_LONG]
)
STEP = st.one_of(
    st.tuples(st.just("append"), st.lists(TIMES, min_size=1, max_size=3)),
    st.tuples(st.just("clock"), st.sampled_from([0, 1, START_MS, START_MS * 2, 1 << 45])),
    st.tuples(st.sampled_from(["retain", "close", "kill", "cut", "flush", "expire"]), st.none()),
)


def check(harness: LogHarness) -> None:
    """What time look-ups say agrees with a linear search."""
    log = harness.log
    stored = {offset for offset, _ in read_all(log, log.log_start_offset, ReadBound.LOG_END)}
    for wanted in (0, START_MS, START_MS + 1, MAX_LONG):
        found = log.offset_for_timestamp(wanted)
        assert found is None or (found.timestamp >= wanted and found.offset in stored)
    greatest = log.max_timestamp_offset()
    assert greatest is None or greatest.offset in stored


@given(st.lists(STEP, max_size=30))
def test_a_log_lives_with_any_timestamp_and_any_clock(
    steps: Sequence[tuple[str, Sequence[int] | int | None]],
) -> None:
    disk = FaultDisk()
    harness = LogHarness(disk, CONFIG)
    sequence = 0
    for step, argument in steps:
        log, now_ms = harness.log, harness.now_ms
        if step == "append" and isinstance(argument, list):
            records = [Record(0, time, None, b"x" * 20, []) for time in argument]
            span = max(argument) - min(argument)
            if span > MAX_LONG:  # No delta can say so.
                records = records[:1]
            entry = log.producers.get(1)
            sequence = 0 if entry is None else entry.last_sequence + 1
            data = build_batch(records, producer_id=1, producer_epoch=0, base_sequence=sequence)
            try:
                harness.run(log.append_as_leader(memoryview(data), 0, now_ms).jobs)
            except KafkaError:
                continue
            log.update_high_watermark(log.log_end_offset)
        elif step == "clock" and isinstance(argument, int):
            harness.now_ms = disk.now_ms = argument
        elif step == "retain":
            harness.run(log.delete_old_segments(now_ms)[1])
        elif step == "expire":
            log.expire_producers(now_ms)
        elif step == "flush":
            for work in harness.jobs.plan_flushes(now_ms):
                work.work()
                work.commit()
        elif step == "cut":
            end = max(log.log_end_offset - 2, log.log_start_offset)
            harness.run(log.truncate_to(end, now_ms))
        elif step in ("close", "kill"):
            if step == "close":
                harness.close()
            disk.restart()
            harness = LogHarness(disk, CONFIG)
            harness.now_ms = disk.now_ms = now_ms
        check(harness)
    harness.close()
    assert [one for one in audit_log_dir(disk, LOG_DIR) if "epoch" not in one.path] == []
