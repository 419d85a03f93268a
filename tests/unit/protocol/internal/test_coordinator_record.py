"""Coordinator records: told apart by their type, and nothing but a typed error for other bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.internal import consumer_offsets, transaction_state
from protocol.internal.coordinator_record import (
    CoordinatorRecord,
    RecordKinds,
    UndecodableRecord,
    UnknownRecordType,
)

BOTH = (consumer_offsets.RECORDS, transaction_state.RECORDS)


@pytest.mark.parametrize("records", BOTH)
@given(
    key=st.none() | st.binary(max_size=30) | st.binary(max_size=30).map(lambda b: b"\0\1" + b),
    value=st.none() | st.binary(max_size=60) | st.binary(max_size=60).map(lambda b: b"\0\1" + b),
)
def test_bytes_of_anybodys_making_raise_one_kind_of_error(
    records: RecordKinds, key: bytes | None, value: bytes | None
) -> None:
    try:
        record = records.decode(key, value)
    except UndecodableRecord:
        return
    assert isinstance(record, CoordinatorRecord)


@pytest.mark.parametrize("record_type", range(24))
@given(body=st.binary(max_size=80))
def test_every_type_survives_garbage_behind_its_number(record_type: int, body: bytes) -> None:
    prefix = record_type.to_bytes(2, "big")
    for value in (b"\0\0" + body, b"\0\3" + body):
        try:
            consumer_offsets.RECORDS.decode_key(prefix + body)
            consumer_offsets.RECORDS.decode_value(record_type, value)
        except UndecodableRecord:
            pass


@pytest.mark.parametrize("key", [None, b"", b"\0"])
def test_a_key_without_a_type_is_undecodable(key: bytes | None) -> None:
    with pytest.raises(UndecodableRecord, match="says no type"):
        consumer_offsets.RECORDS.decode(key, None)


def test_types_without_a_schema_are_told_by_their_name() -> None:
    with pytest.raises(UnknownRecordType, match="ShareGroupMetadata") as caught:
        consumer_offsets.RECORDS.decode_key(b"\0\x0b\0\1g")
    assert (caught.value.record_type, caught.value.name) == (11, "ShareGroupMetadata")
    with pytest.raises(UnknownRecordType, match="record type 999 is"):
        consumer_offsets.RECORDS.decode_value(999, b"\0\0")


def test_a_version_nobody_knows_is_undecodable() -> None:
    with pytest.raises(UndecodableRecord, match="OffsetCommitValue has no version 5"):
        consumer_offsets.RECORDS.decode_value(1, b"\0\5")


def test_a_tombstone_has_no_value_and_no_version() -> None:
    key = consumer_offsets.GroupMetadataKey(group="g")
    raw = consumer_offsets.RECORDS.encode_key(key)
    record = consumer_offsets.RECORDS.decode(raw, None)
    assert record == CoordinatorRecord(2, key, -1, None)
    assert consumer_offsets.RECORDS.encode(record) == (raw, None)


def test_names_are_those_of_kafka() -> None:
    assert consumer_offsets.RECORDS.name_of(1) == "OffsetCommit"
    assert consumer_offsets.RECORDS.name_of(17) == "StreamsGroupMetadata"
    assert consumer_offsets.RECORDS.name_of(99) is None
    assert transaction_state.RECORDS.name_of(0) == "TransactionLog"
