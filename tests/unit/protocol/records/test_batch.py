"""A batch is read as Kafka wrote it, patched where the leader may, and refused when damaged."""

import struct

import pytest

from protocol.errors import ErrorCode, KafkaError
from protocol.records.batch import (
    HEADER_SIZE,
    LOG_OVERHEAD,
    BatchPrefix,
    RecordBatch,
    iterate_batches,
    parse_batch,
    peek_header,
)
from protocol.records.builder import build_batch
from protocol.records.compression import Codec
from protocol.records.errors import CorruptBatch, LegacyMessageSet
from protocol.records.record import Record
from tests.support import golden_batches

TOPICS = (*golden_batches.UNCOMPRESSED, *golden_batches.COMPRESSED)
TIME = 1_700_000_000_000


def records(count: int) -> list[Record]:
    return [Record(i, TIME + i, b"key-%d" % i, b"value", []) for i in range(count)]


def legacy_entry(magic: int, offset: int = 7) -> bytes:
    timestamp = struct.pack(">q", TIME) if magic else b""
    message = (
        struct.pack(">Ibb", 0, magic, 0) + timestamp + struct.pack(">i1si1s", 1, b"k", 1, b"v")
    )
    return struct.pack(">qi", offset, len(message)) + message


def data_records(topic: str) -> list[object]:
    return [
        {
            "offset": record.offset,
            "timestamp": record.timestamp,
            "timestamp_type": 2 if batch.is_log_append_time else 1,
            "key": None if record.key is None else record.key.hex(),
            "value": None if record.value is None else record.value.hex(),
            "headers": [
                [name, None if value is None else value.hex()] for name, value in record.headers
            ]
            or None,
            "leader_epoch": batch.leader_epoch,
        }
        for batch in golden_batches.batches(topic)
        if not batch.is_control
        for record in batch.records()
    ]


@pytest.mark.parametrize("topic", TOPICS)
def test_records_are_what_a_consumer_got_from_kafka(topic: str) -> None:
    assert data_records(topic) == golden_batches.expected()[topic]["read_uncommitted"]


@pytest.mark.parametrize("topic", [*TOPICS, "g-rolled"])
def test_batches_of_kafka_have_a_good_checksum_and_fill_their_segment(topic: str) -> None:
    for segment in golden_batches.segments(topic):
        batches = list(iterate_batches(segment))
        assert all(batch.crc_ok() for batch in batches)
        assert sum(batch.size for batch in batches) == len(segment)
    following = 0
    for batch in golden_batches.batches(topic):
        assert batch.base_offset >= following
        following = batch.next_offset
    assert following == golden_batches.expected()[topic]["high_watermark"]


def test_large_records_of_rolled_segments_are_whole() -> None:
    batches = golden_batches.batches("g-rolled")
    sizes = [len(record.value or b"") for batch in batches for record in batch.records()]
    assert sizes == [90_000] * 30


def test_header_fields_are_those_kafka_wrote() -> None:
    first, _, marker, *_ = golden_batches.batches("g-txn")
    assert (first.base_offset, first.last_offset, first.next_offset) == (0, 2, 3)
    assert (first.producer_id, first.producer_epoch) == (1, 0)
    assert (first.base_sequence, first.last_sequence) == (0, 2)
    assert (first.size, first.crc, first.max_timestamp) == (267, 138450254, TIME + 2000)
    assert first.is_transactional
    assert not first.is_control
    assert marker.is_control
    assert (marker.record_count, marker.base_sequence, marker.last_sequence) == (1, -1, -1)
    assert repr(marker).startswith("RecordBatch(offsets 5-5, size 78")


def test_a_delete_horizon_is_seen_and_deltas_count_from_it() -> None:
    with_horizon = [b for b in golden_batches.batches("g-compact") if b.has_delete_horizon]
    assert len(with_horizon) == 1
    assert with_horizon[0].records()[0].timestamp == with_horizon[0].max_timestamp
    assert with_horizon[0].base_timestamp > with_horizon[0].max_timestamp


def test_every_codec_is_told_by_the_attributes() -> None:
    topics = ("g-none", "g-gzip", "g-snappy", "g-lz4", "g-zstd")
    assert [golden_batches.batches(topic)[0].codec for topic in topics] == list(Codec)


def test_the_last_sequence_wraps_to_zero() -> None:
    batch = parse_batch(build_batch(records(3), producer_id=1, base_sequence=2**31 - 2))
    assert batch.last_sequence == 0


def test_assigning_a_place_keeps_the_checksum() -> None:
    data = build_batch(records(3))
    batch = parse_batch(data)
    batch.assign(1 << 40, 9)
    again = parse_batch(data)
    assert (again.base_offset, again.leader_epoch) == (1 << 40, 9)
    assert (batch.base_offset, batch.leader_epoch) == (1 << 40, 9)
    assert again.size == batch.size == len(data)
    assert again.crc_ok()
    assert [record.offset for record in again.records()] == [(1 << 40) + i for i in range(3)]


def test_log_append_time_is_the_time_of_every_record() -> None:
    data = build_batch(records(3))
    batch = parse_batch(data)
    batch.set_timestamps(True, TIME + 99)
    again = parse_batch(data)
    assert again.crc_ok()
    assert batch.crc == again.crc
    assert again.is_log_append_time
    assert {record.timestamp for record in again.records()} == {TIME + 99}
    again.set_timestamps(False, TIME + 2)
    assert data == build_batch(records(3))


def test_timestamps_that_do_not_change_need_no_writable_bytes() -> None:
    batch = parse_batch(bytes(build_batch(records(3))))
    batch.set_timestamps(False, TIME + 2)
    with pytest.raises(TypeError):
        batch.set_timestamps(False, TIME + 3)


def test_a_view_is_taken_and_nothing_copied() -> None:
    data = bytearray(b"xx") + build_batch(records(1)) + b"yy"
    batch = parse_batch(memoryview(data), 2)
    assert batch.view.obj is data
    assert batch.size == len(batch.view) == len(data) - 4
    assert len(batch.payload()) == batch.size - HEADER_SIZE


def test_damage_is_seen_by_the_checksum() -> None:
    data = build_batch(records(1))
    data[-1] ^= 1
    assert not parse_batch(data).crc_ok()


@pytest.mark.parametrize("size", [0, 16, 17, 60])
def test_less_than_a_header_is_no_batch(size: int) -> None:
    with pytest.raises(CorruptBatch) as caught:
        parse_batch(bytes(build_batch(records(1)))[:size])
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("length", [-(2**31), -1, 0, HEADER_SIZE - LOG_OVERHEAD - 1, 2**31 - 1])
def test_a_length_that_cannot_be_is_refused(length: int) -> None:
    data = build_batch(records(1))
    struct.pack_into(">i", data, 8, length)
    with pytest.raises(CorruptBatch):
        parse_batch(data)


@pytest.mark.parametrize("magic", [-1, 3, 127])
def test_an_unknown_magic_is_refused(magic: int) -> None:
    data = build_batch(records(1))
    struct.pack_into(">b", data, 16, magic)
    with pytest.raises(CorruptBatch):
        parse_batch(data)
    with pytest.raises(CorruptBatch):
        list(iterate_batches(data))
    with pytest.raises(CorruptBatch):
        parse_batch(data[:40])


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("padding", [0, 100])
def test_old_message_formats_are_told_apart(magic: int, padding: int) -> None:
    entry = legacy_entry(magic)
    for read in (parse_batch, lambda data: list(iterate_batches(data))):
        with pytest.raises(LegacyMessageSet) as caught:
            read(entry + bytes(padding))
        assert caught.value.magic == magic


def test_entries_of_all_formats_are_scanned_by_their_prefix() -> None:
    batch = bytes(build_batch(records(2), base_offset=9))
    data = legacy_entry(0, 7) + legacy_entry(1, 8) + batch
    position, found = 0, []
    while (prefix := peek_header(data, position)) is not None:
        found.append(prefix)
        position += prefix.size
    assert found == [
        BatchPrefix(7, len(legacy_entry(0)), 0),
        BatchPrefix(8, len(legacy_entry(1)), 1),
        BatchPrefix(9, len(batch), 2),
    ]
    assert position == len(data)


def test_a_prefix_may_announce_more_than_the_buffer_holds() -> None:
    data = bytes(build_batch(records(2)))
    assert peek_header(data[:16]) is None
    assert peek_header(data[:17]) == BatchPrefix(0, len(data), 2)


@pytest.mark.parametrize("length", [-1, 13])
def test_a_prefix_with_a_length_below_the_smallest_is_refused(length: int) -> None:
    data = bytearray(legacy_entry(1))
    struct.pack_into(">i", data, 8, length)
    with pytest.raises(CorruptBatch):
        peek_header(data)


def test_a_partial_batch_at_the_end_is_passed_over() -> None:
    data = bytes(build_batch(records(2)))
    for cut in range(len(data)):
        found = list(iterate_batches(data + data[:cut]))
        assert [bytes(batch.view) for batch in found] == [data]


def test_damage_after_good_batches_is_met_after_them() -> None:
    data = bytes(build_batch(records(2)))
    batches = iterate_batches(data + bytes(100))
    assert next(batches).size == len(data)
    with pytest.raises(CorruptBatch):
        next(batches)


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_a_codec_that_does_not_exist_is_refused(codec: int) -> None:
    data = build_batch(records(1))
    data[22] |= codec
    with pytest.raises(KafkaError) as caught:
        parse_batch(data).records()
    assert caught.value.code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


def test_attributes_are_as_declared() -> None:
    assert RecordBatch.__slots__ == tuple(sorted(RecordBatch.__slots__))
    assert not hasattr(parse_batch(build_batch(records(1))), "__dict__")
