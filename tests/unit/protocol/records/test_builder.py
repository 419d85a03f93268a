"""What is built is what Kafka would have written, and reads back equal."""

import pytest

from protocol.records.batch import HEADER_SIZE, RecordBatch, parse_batch
from protocol.records.builder import BatchFields, build_batch, build_batch_of_pairs
from protocol.records.compression import Codec
from protocol.records.record import Record
from tests.support import golden_batches

TIME = 1_700_000_000_000
SOME = [
    Record(0, TIME + 5, b"k", b"v", [("h", b"1"), ("h", None)]),
    Record(1, TIME, None, b"", []),
    Record(2, TIME + 7, b"", None, [("", b"")]),
]


def fields_of(batch: RecordBatch) -> BatchFields:
    return BatchFields(
        base_offset=batch.base_offset,
        leader_epoch=batch.leader_epoch,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        is_transactional=batch.is_transactional,
        is_control=batch.is_control,
        log_append_time=batch.max_timestamp if batch.is_log_append_time else None,
        delete_horizon=batch.base_timestamp if batch.has_delete_horizon else None,
        last_offset_delta=batch.last_offset_delta,
    )


@pytest.mark.parametrize("topic", ["g-none", "g-txn", "g-compact", "g-out-of-order-time"])
def test_batches_built_from_kafkas_records_are_kafkas_bytes(topic: str) -> None:
    for batch in golden_batches.batches(topic):
        built = build_batch(batch.records(), keep_offsets=True, **fields_of(batch))
        assert bytes(built) == bytes(batch.view)


@pytest.mark.parametrize("codec", Codec)
def test_records_read_back_equal_in_every_codec(codec: Codec) -> None:
    batch = parse_batch(build_batch(SOME, codec=codec))
    assert batch.crc_ok()
    assert batch.codec == codec
    assert batch.records() == SOME


@pytest.mark.parametrize("codec", Codec)
def test_every_header_field_can_be_set(codec: Codec) -> None:
    fields = BatchFields(
        base_offset=1 << 40,
        leader_epoch=7,
        producer_id=1 << 50,
        producer_epoch=3,
        base_sequence=2**31 - 1,
        is_transactional=True,
        log_append_time=TIME + 100,
        last_offset_delta=9,
    )
    batch = parse_batch(build_batch(SOME, codec=codec, **fields))
    assert batch.crc_ok()
    assert batch.next_offset == (1 << 40) + 10
    assert (batch.leader_epoch, batch.producer_id, batch.producer_epoch) == (7, 1 << 50, 3)
    assert (batch.base_sequence, batch.record_count) == (2**31 - 1, 3)
    assert (batch.is_transactional, batch.is_control, batch.codec) == (True, False, codec)
    assert {record.timestamp for record in batch.records()} == {TIME + 100}


def test_the_greatest_timestamp_is_found_and_the_first_is_the_base() -> None:
    batch = parse_batch(build_batch(SOME))
    assert (batch.base_timestamp, batch.max_timestamp) == (TIME + 5, TIME + 7)


def test_records_without_time_have_none_in_the_header() -> None:
    batch = parse_batch(build_batch([Record(0, -1, None, b"v", [])]))
    assert (batch.base_timestamp, batch.max_timestamp) == (-1, -1)
    assert batch.records()[0].timestamp == -1


def test_offsets_are_counted_or_kept() -> None:
    gaps = [record._replace(offset=10 + 3 * i) for i, record in enumerate(SOME)]
    counted = parse_batch(build_batch(gaps, base_offset=10)).records()
    kept = parse_batch(build_batch(gaps, base_offset=10, keep_offsets=True))
    assert [record.offset for record in counted] == [10, 11, 12]
    assert kept.records() == gaps
    assert kept.last_offset == 16


@pytest.mark.parametrize("codec", Codec)
def test_an_emptied_batch_keeps_its_offsets_and_is_not_compressed(codec: Codec) -> None:
    batch = parse_batch(build_batch([], codec=codec, base_offset=5, last_offset_delta=4))
    assert (batch.size, batch.codec, batch.next_offset) == (HEADER_SIZE, 0, 10)
    assert (batch.base_timestamp, batch.max_timestamp) == (-1, -1)
    assert batch.records() == []


def test_the_level_reaches_the_codec() -> None:
    many = [Record(i, TIME, b"%d" % (i * i), b"value %d" % i, []) for i in range(2000)]
    sizes = [len(build_batch(many, codec=Codec.GZIP, level=level)) for level in (1, 9)]
    assert sizes[0] > sizes[1]


@pytest.mark.parametrize("count", [1, 3, 300])
def test_pairs_of_one_time_make_the_same_batch(count: int) -> None:
    values = [b"v" * (i % 400) if i % 7 else None for i in range(count)]
    pairs = [(b"key" * (i % 90) if i else None, value) for i, value in enumerate(values)]
    records = [Record(0, TIME, key, value, []) for key, value in pairs]
    fields: BatchFields = {"producer_id": 7, "producer_epoch": 1, "is_transactional": True}
    assert build_batch_of_pairs(pairs, TIME, **fields) == build_batch(records, **fields)
