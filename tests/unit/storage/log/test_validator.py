"""What a leader accepts from a producer, and what it makes of it."""

import os
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.topic_config import LogConfig
from protocol.errors import ErrorCode, KafkaError
from protocol.records.builder import build_batch
from protocol.records.record import Record
from storage.log.results import InvalidRecords, Origin
from storage.log.validator import (
    LOOP_INPUT_LIMIT,
    LOOP_OUTPUT_LIMIT,
    MOST_RENUMBERED,
    NeedsWorker,
    Prepared,
    Rules,
    output_limit,
    prepare,
)

NOW_MS = 1_700_000_000_000
KEYED = [Record(0, NOW_MS, b"k", b"v", []), Record(1, NOW_MS + 5, b"l", None, [("h", b"x")])]


def rules(**settings: Any) -> Rules:
    return Rules("orders-0", LogConfig(**settings))


def accept(data: bytearray, origin: Origin = Origin.CLIENT, **settings: Any) -> Prepared:
    return prepare(memoryview(data), rules(**settings), NOW_MS, origin)


def refused(data: bytearray, **settings: Any) -> KafkaError:
    with pytest.raises(KafkaError) as caught:
        accept(data, **settings)
    return caught.value


def patched(position: int, value: bytes, *, rehash: bool = True) -> bytearray:
    data = build_batch(KEYED)
    data[position : position + len(value)] = value
    if rehash:
        from protocol.crc32c import crc32c

        data[17:21] = crc32c(memoryview(data)[21:]).to_bytes(4, "big")
    return data


def test_the_common_batch_is_taken_as_it_came_without_a_copy() -> None:
    data = build_batch(KEYED)
    before = bytes(data)
    prepared = accept(data)
    assert bytes(data) == before
    assert prepared.batch.view.obj is data
    assert prepared.log_append_time_ms == -1


@pytest.mark.parametrize("codec", range(5))
def test_every_codec_is_checked_and_stored_as_it_came(codec: int) -> None:
    data = build_batch(KEYED, codec=codec)
    before = bytes(data)
    prepared = accept(data)
    assert bytes(prepared.batch.view) == before


@pytest.mark.parametrize("source", range(5))
@pytest.mark.parametrize("target", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_compression_type_rewraps_the_same_records(source: int, target: str) -> None:
    data = build_batch(KEYED, codec=source, producer_id=7, producer_epoch=1, base_sequence=3)
    batch = accept(data, compression_type=target).batch
    assert batch.codec == ["uncompressed", "gzip", "snappy", "lz4", "zstd"].index(target)
    assert batch.crc_ok()
    assert batch.records() == KEYED
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (7, 1, 3)


def test_offsets_that_are_not_in_order_are_renumbered() -> None:
    data = build_batch([KEYED[0], KEYED[1]._replace(offset=7)], keep_offsets=True)
    data[23:27] = (1).to_bytes(4, "big")
    from protocol.crc32c import crc32c

    data[17:21] = crc32c(memoryview(data)[21:]).to_bytes(4, "big")
    batch = accept(data).batch
    assert [record.offset for record in batch.records()] == [0, 1]


def test_offsets_that_are_not_in_order_are_not_made_right_for_millions() -> None:
    crowd = [Record(0, NOW_MS, None, None, [])] * (MOST_RENUMBERED + 1)
    data = build_batch(crowd, codec=4, keep_offsets=True, last_offset_delta=MOST_RENUMBERED)
    assert len(data) < 1000
    tracemalloc.start()
    try:
        assert refused(data).code == ErrorCode.INVALID_RECORD
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()


def test_log_append_time_stamps_the_batch_with_now() -> None:
    prepared = accept(build_batch(KEYED), log_append_time=True)
    assert prepared.log_append_time_ms == NOW_MS
    assert prepared.batch.is_log_append_time
    assert prepared.batch.max_timestamp == NOW_MS
    assert prepared.batch.crc_ok()


def test_a_wrong_max_timestamp_is_corrected() -> None:
    batch = accept(patched(35, (5).to_bytes(8, "big"))).batch
    assert batch.max_timestamp == NOW_MS + 5
    assert batch.crc_ok()


@pytest.mark.parametrize(
    ("data", "settings", "code"),
    [
        (bytearray, {}, ErrorCode.INVALID_RECORD),
        (lambda: patched(0, b"\1"), {}, ErrorCode.INVALID_RECORD),
        (lambda: build_batch(KEYED) * 2, {}, ErrorCode.INVALID_RECORD),
        (lambda: build_batch(KEYED)[:-1], {}, ErrorCode.CORRUPT_MESSAGE),
        (lambda: patched(16, b"\3"), {}, ErrorCode.CORRUPT_MESSAGE),
        (lambda: patched(70, b"\xff", rehash=False), {}, ErrorCode.CORRUPT_MESSAGE),
        (lambda: patched(17, b"\0\0\0\0", rehash=False), {}, ErrorCode.CORRUPT_MESSAGE),
        (
            lambda: patched(17, b"\0\0\0\0", rehash=False),
            {"max_message_bytes": 70},
            ErrorCode.MESSAGE_TOO_LARGE,
        ),
        (lambda: build_batch(KEYED), {"segment_bytes": 70}, ErrorCode.RECORD_LIST_TOO_LARGE),
        (lambda: patched(23, b"\0\0\0\5"), {}, ErrorCode.INVALID_RECORD),
        (lambda: patched(57, b"\0\0\0\5"), {}, ErrorCode.INVALID_RECORD),
        (lambda: patched(57, b"\xff\xff\xff\xff"), {}, ErrorCode.INVALID_RECORD),
        (lambda: patched(61, b"\x7f"), {}, ErrorCode.INVALID_RECORD),
        (lambda: build_batch(KEYED, is_control=True), {}, ErrorCode.INVALID_RECORD),
        (lambda: build_batch(KEYED, producer_id=1), {}, ErrorCode.INVALID_RECORD),
        (lambda: patched(22, b"\1"), {}, ErrorCode.CORRUPT_MESSAGE),
    ],
)
def test_what_is_refused(
    data: Callable[[], bytearray], settings: dict[str, object], code: ErrorCode
) -> None:
    assert refused(data(), **settings).code == code


def test_the_partial_batch_of_a_cut_request_is_left_out() -> None:
    data = build_batch(KEYED)
    assert accept(data + data[:-1]).batch.size == len(data)


def test_a_compacted_topic_names_the_records_without_a_key() -> None:
    data = build_batch([KEYED[0], Record(1, NOW_MS, None, b"v", [])])
    error = refused(data, compact=True)
    assert isinstance(error, InvalidRecords)
    assert error.code == ErrorCode.INVALID_RECORD
    assert [index for index, _ in error.record_errors] == [1]
    assert "without key in topic partition orders-0" in error.record_errors[0][1]


@pytest.mark.parametrize(
    ("timestamp", "good"),
    [
        (NOW_MS, True),
        (-1, True),
        (NOW_MS - 100, True),
        (NOW_MS - 101, False),
        (NOW_MS + 50, True),
        (NOW_MS + 51, False),
    ],
)
def test_timestamps_stay_within_the_topics_range(timestamp: int, good: bool) -> None:
    limits: dict[str, Any] = {"timestamp_before_max_ms": 100, "timestamp_after_max_ms": 50}
    data = build_batch([Record(0, timestamp, b"k", b"v", [])])
    if good:
        accept(data, **limits)
    else:
        assert refused(data, **limits).code == ErrorCode.INVALID_TIMESTAMP


def test_a_wrong_timestamp_decides_the_code_over_a_missing_key() -> None:
    records = [Record(0, NOW_MS, None, b"v", []), Record(1, 0, b"k", b"v", [])]
    error = refused(build_batch(records), compact=True, timestamp_before_max_ms=1)
    assert isinstance(error, InvalidRecords)
    assert error.code == ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in error.record_errors] == [0, 1]


def test_a_producer_may_not_claim_append_time_where_the_broker_stamps() -> None:
    data = build_batch(KEYED, log_append_time=NOW_MS)
    assert refused(data, log_append_time=True).code == ErrorCode.INVALID_TIMESTAMP


def test_claimed_append_time_is_dropped_where_the_producer_stamps() -> None:
    batch = accept(build_batch(KEYED, log_append_time=NOW_MS)).batch
    assert not batch.is_log_append_time
    assert batch.max_timestamp == NOW_MS
    assert batch.crc_ok()


def test_claimed_append_time_out_of_range_is_refused() -> None:
    data = build_batch(KEYED, log_append_time=NOW_MS + 11)
    assert refused(data, timestamp_after_max_ms=10).code == ErrorCode.INVALID_TIMESTAMP


def test_coordinators_may_write_control_batches() -> None:
    data = build_batch(KEYED[:1], is_control=True, is_transactional=True, producer_id=1)
    assert accept(data, Origin.COORDINATOR).batch.is_control


def test_read_only_bytes_are_copied_before_they_are_stamped() -> None:
    data = bytes(build_batch(KEYED))
    prepared = prepare(data, rules(log_append_time=True), NOW_MS, Origin.CLIENT)
    assert prepared.batch.view.obj is not data


def test_recompression_is_held_to_the_size_limit_again() -> None:
    records = [Record(0, NOW_MS, b"k", bytes(5000), [])]
    data = build_batch(records, codec=1)
    limits = {"max_message_bytes": 1000, "compression_type": "uncompressed"}
    assert refused(data, **limits).code == ErrorCode.MESSAGE_TOO_LARGE


def test_a_bomb_ends_at_the_output_limit() -> None:
    records = [Record(0, NOW_MS, b"k", bytes(output_limit(1) + 1), [])]
    data = build_batch(records, codec=4)
    assert len(data) < 100_000
    assert refused(data, segment_bytes=1 << 30).code == ErrorCode.MESSAGE_TOO_LARGE


def test_the_loop_hands_on_what_unfolds_beyond_its_share() -> None:
    data = build_batch([Record(0, NOW_MS, b"k", bytes(LOOP_OUTPUT_LIMIT), [])], codec=4)
    with pytest.raises(NeedsWorker):
        prepare(data, rules(), NOW_MS, Origin.CLIENT, on_loop=True)
    assert accept(data).batch.size == len(data)


def test_only_big_compressed_batches_need_a_worker_by_size() -> None:
    plain = build_batch([Record(0, NOW_MS, b"k", bytes(LOOP_INPUT_LIMIT), [])])
    kept = prepare(plain, rules(), NOW_MS, Origin.CLIENT, on_loop=True)
    assert kept.batch.size == len(plain)
    big = build_batch([Record(0, NOW_MS, b"k", os.urandom(LOOP_INPUT_LIMIT), [])], codec=4)
    with pytest.raises(NeedsWorker):
        prepare(big, rules(), NOW_MS, Origin.CLIENT, on_loop=True)


@given(st.binary(max_size=200), st.integers(0, 4), st.integers(0, 255))
def test_bytes_of_any_kind_are_taken_whole_or_refused_with_a_code(
    noise: bytes, codec: int, flip: int
) -> None:
    data = build_batch([Record(0, NOW_MS, b"k", noise, [])], codec=codec)
    data[flip % len(data)] ^= flip | 1
    try:
        prepared = accept(data)
    except KafkaError:
        return
    assert prepared.batch.crc_ok()
