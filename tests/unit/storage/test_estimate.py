"""Estimates agree with what retention and cleaning decide, and with a count by hand."""

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.topic_config import LogConfig
from protocol.records.builder import build_batch
from protocol.records.record import Record
from storage.estimate import KnownOffsets, Terms, estimate_log, segments_on_disk
from tests.support.fault_disk import FaultDisk
from tests.support.kept_logs import PARTITION_DIR, kept_log, names
from tests.support.log_harness import START_MS, LogHarness

FOREVER = LogConfig(retention_ms=-1)
COMPACT = LogConfig(compact=True, delete=False)


def keyed(pairs: Iterable[tuple[bytes | None, bytes | None]], batch: int = 4) -> FaultDisk:
    """A log of these records in small segments, closed."""
    disk = FaultDisk()
    harness = LogHarness(disk, LogConfig(segment_bytes=400, index_interval_bytes=100))
    every = list(pairs)
    for first in range(0, len(every), batch):
        records = [
            Record(0, START_MS, key, value, []) for key, value in every[first : first + batch]
        ]
        data = build_batch(records)
        harness.log.append_as_leader(memoryview(data), 0, START_MS)
    harness.log.update_high_watermark(harness.log.log_end_offset)
    harness.close()
    return disk


def test_nothing_goes_without_a_limit() -> None:
    disk = kept_log()
    estimate = estimate_log(disk, PARTITION_DIR, Terms(FOREVER, KnownOffsets(), START_MS))
    assert estimate.removals == []
    assert estimate.cleaning is None
    assert estimate.segments == len(names(disk, ".log"))
    assert estimate.nbytes == sum(len(disk.read_file(path)) for path in names(disk, ".log"))


def test_all_goes_when_all_has_expired() -> None:
    disk = kept_log()
    config = LogConfig(retention_ms=1000)
    estimate = estimate_log(disk, PARTITION_DIR, Terms(config, KnownOffsets(), START_MS + 10**6))
    assert sum(removal.segments for removal in estimate.removals) == estimate.segments
    assert "retention time 1000ms" in estimate.removals[0].reason


def test_size_and_log_start_take_the_oldest() -> None:
    disk = kept_log()
    sizes = [len(disk.read_file(path)) for path in names(disk, ".log")]
    config = LogConfig(retention_ms=-1, retention_bytes=sum(sizes) - sizes[0])
    (removal,) = estimate_log(disk, PARTITION_DIR, Terms(config, KnownOffsets(), START_MS)).removals
    assert (removal.segments, removal.nbytes) == (1, sizes[0])
    known = KnownOffsets(log_start_offset=12)
    (removal,) = estimate_log(disk, PARTITION_DIR, Terms(FOREVER, known, START_MS)).removals
    assert removal.segments == 1
    assert "log start offset 12" in removal.reason


def test_what_is_not_replicated_stays() -> None:
    disk = kept_log()
    config = LogConfig(retention_ms=1000)
    known = KnownOffsets(high_watermark=0)
    assert estimate_log(disk, PARTITION_DIR, Terms(config, known, START_MS + 10**6)).removals == []


def test_times_come_from_the_index_or_from_the_batches() -> None:
    disk = kept_log()
    with_index = segments_on_disk(disk, PARTITION_DIR)
    for path in names(disk, ".timeindex"):
        disk.unlink(path)
    assert segments_on_disk(disk, PARTITION_DIR) == with_index
    assert with_index[0].first_batch_timestamp() == START_MS + 10


def test_damage_ends_a_segment_s_part_in_it() -> None:
    disk = kept_log()
    path = names(disk, ".log")[-1]
    disk.write_file(path, disk.read_file(path) + b"\xff" * 100)
    estimate = estimate_log(disk, PARTITION_DIR, Terms(COMPACT, KnownOffsets(), START_MS))
    assert estimate.cleaning is not None


@settings(max_examples=50, deadline=None)
@given(
    pairs=st.lists(
        st.tuples(
            st.sampled_from([b"a", b"b", b"c", b"d", None]),
            st.sampled_from([b"x" * 20, b"y" * 30, None]),
        ),
        min_size=1,
        max_size=60,
    )
)
def test_cleaning_drops_what_has_a_later_record_of_its_key(
    pairs: list[tuple[bytes | None, bytes | None]],
) -> None:
    disk = keyed(pairs)
    cleaning = estimate_log(disk, PARTITION_DIR, Terms(COMPACT, KnownOffsets(), START_MS)).cleaning
    assert cleaning is not None
    end = cleaning.dirt.end_offset
    last = {key: offset for offset, (key, _) in enumerate(pairs[:end])}
    expected = sum(key is None or last[key] > offset for offset, (key, _) in enumerate(pairs[:end]))
    assert (cleaning.records, cleaning.dropped_records, cleaning.sampled) == (end, expected, 1)
    assert (cleaning.dropped_bytes > 0) == (expected > 0)


def test_keys_of_the_clean_part_go_when_the_dirty_part_has_them() -> None:
    disk = keyed([(b"k%d" % (number % 10), b"v" * 20) for number in range(60)])
    known = KnownOffsets(first_dirty_offset=20, high_watermark=60)
    cleaning = estimate_log(disk, PARTITION_DIR, Terms(COMPACT, known, START_MS)).cleaning
    assert cleaning is not None
    assert cleaning.dirt.first_dirty_offset == 20
    assert cleaning.records - cleaning.dropped_records == 10
    assert cleaning.is_due


@pytest.mark.parametrize("max_keys", [50, 400])
def test_beyond_the_room_for_keys_a_sample_stands_for_all(max_keys: int) -> None:
    disk = keyed([(b"key-%d" % (number % 1000), b"v" * 5) for number in range(4000)], batch=10)
    exact = estimate_log(disk, PARTITION_DIR, Terms(COMPACT, KnownOffsets(), START_MS)).cleaning
    sampled = estimate_log(
        disk, PARTITION_DIR, Terms(COMPACT, KnownOffsets(), START_MS), max_keys=max_keys
    ).cleaning
    assert exact is not None
    assert sampled is not None
    assert exact.sampled == 1
    assert sampled.sampled <= 2 * max_keys / 1000
    assert abs(sampled.dropped_records - exact.dropped_records) < 0.6 * exact.dropped_records


def test_an_expired_tombstone_goes() -> None:
    disk = FaultDisk()
    disk.makedirs(PARTITION_DIR)
    tombstone = build_batch(
        [Record(0, START_MS, b"k", None, [])], delete_horizon=START_MS, last_offset_delta=0
    )
    disk.write_file(f"{PARTITION_DIR}/{0:020d}.log", bytes(tombstone))
    disk.write_file(f"{PARTITION_DIR}/{1:020d}.log", b"")
    for now_ms, dropped in ((START_MS - 1, 0), (START_MS, 1)):
        cleaning = estimate_log(
            disk, PARTITION_DIR, Terms(COMPACT, KnownOffsets(), now_ms)
        ).cleaning
        assert cleaning is not None
        assert cleaning.dropped_records == dropped
