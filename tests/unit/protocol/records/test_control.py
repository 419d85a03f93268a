"""Markers are Kafka's bytes, and only markers are read as such."""

import struct

import pytest

from protocol.records.batch import RecordBatch, parse_batch
from protocol.records.builder import build_batch
from protocol.records.control import (
    ControlType,
    EndTransactionMarker,
    build_end_transaction_marker,
    control_type,
    parse_end_transaction_marker,
)
from protocol.records.errors import MalformedRecords
from protocol.records.record import Record
from tests.support import golden_batches

COMMIT_KEY, ABORT_KEY = bytes.fromhex("00000001"), bytes.fromhex("00000000")


def control_batch(key: bytes | None, value: bytes | None) -> RecordBatch:
    return parse_batch(build_batch([Record(0, 1, key, value, [])], is_control=True))


def test_markers_of_kafka_say_how_each_transaction_ended() -> None:
    markers = [
        (batch.producer_id, parse_end_transaction_marker(batch))
        for batch in golden_batches.batches("g-txn")
        if batch.is_control
    ]
    commit, abort = EndTransactionMarker(True, 0), EndTransactionMarker(False, 0)
    assert [marker for _, marker in markers] == [commit, abort, abort, commit]
    assert [producer for producer, _ in markers[:3]] == [1, 2, 1]


def test_a_marker_built_is_the_one_kafka_wrote() -> None:
    for batch in golden_batches.batches("g-txn"):
        if batch.is_control:
            marker = parse_end_transaction_marker(batch)
            assert marker is not None
            built = build_end_transaction_marker(
                marker,
                producer_id=batch.producer_id,
                producer_epoch=batch.producer_epoch,
                timestamp=batch.max_timestamp,
                base_offset=batch.base_offset,
                leader_epoch=batch.leader_epoch,
            )
            assert bytes(built) == bytes(batch.view)


@pytest.mark.parametrize("number", [2, 3, 4, 5, 6, 99])
def test_control_records_of_other_kinds_end_nothing(number: int) -> None:
    key = struct.pack(">hh", 0, number)
    assert control_type(key) == number
    assert parse_end_transaction_marker(control_batch(key, None)) is None


def test_an_emptied_control_batch_ends_nothing() -> None:
    empty = parse_batch(build_batch([], is_control=True, last_offset_delta=0))
    assert parse_end_transaction_marker(empty) is None


def test_later_versions_are_read_from_their_front() -> None:
    batch = control_batch(bytes.fromhex("00010001ff"), bytes.fromhex("000100000007ffff"))
    assert parse_end_transaction_marker(batch) == EndTransactionMarker(True, 7)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, bytes(6)),
        (b"\0\0\0", bytes(6)),
        (b"\xff\xff\0\1", bytes(6)),
        (COMMIT_KEY, None),
        (ABORT_KEY, bytes(5)),
        (ABORT_KEY, b"\xff\xff\0\0\0\0"),
    ],
)
def test_a_torn_marker_is_malformed(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(MalformedRecords):
        parse_end_transaction_marker(control_batch(key, value))


def test_types_have_kafkas_numbers() -> None:
    assert list(ControlType) == list(range(7))
