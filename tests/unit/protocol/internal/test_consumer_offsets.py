"""Records of `__consumer_offsets`: byte for byte those that Kafka writes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.internal.consumer_offsets import (
    RECORDS,
    ClassicMemberMetadata,
    ConsumerGroupMemberMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from protocol.internal.coordinator_record import CoordinatorRecord, encode_value
from protocol.schema.message import Message
from tests.support.message_values import values_of
from tests.support.storage_golden import golden_batches

TYPES = (*range(9), 16)


def golden_records() -> list[Any]:
    """What Kafka 4.3 wrote for one group that joined, committed and left."""
    batches = golden_batches("__consumer_offsets-1")[0]
    return [record for batch in batches for record in batch.records()]


def test_kafkas_records_decode_and_encode_to_the_same_bytes() -> None:
    records = golden_records()
    assert [RECORDS.decode(r.key, r.value).record_type for r in records] == [2, 2, 1, 2]
    for record in records:
        decoded = RECORDS.decode(record.key, record.value)
        assert RECORDS.encode(decoded) == (record.key, record.value)


def test_a_commit_of_kafka_4_3_is_of_version_4_with_the_topic_id() -> None:
    record = golden_records()[2]
    decoded = RECORDS.decode(record.key, record.value)
    assert decoded.key == OffsetCommitKey(group="golden-group", topic="g-none", partition=0)
    assert decoded.version == 4
    assert isinstance(decoded.value, OffsetCommitValue)
    assert (decoded.value.offset, decoded.value.commit_timestamp) == (11, 1795283808088)
    assert decoded.value.topic_id.hex() == "dbf1263117d047cf9ad38a5063664a7a"


def test_a_group_names_its_members() -> None:
    record = golden_records()[1]
    value: Any = RECORDS.decode(record.key, record.value).value
    assert (value.protocol_type, value.protocol, value.generation) == ("consumer", "range", 1)
    (member,) = value.members
    assert (member.client_host, member.session_timeout) == ("/127.0.0.1", 45000)


@pytest.mark.parametrize(
    ("version", "size"), [(0, 2 + 8 + 3 + 8), (1, 2 + 8 + 3 + 16), (2, 21), (3, 25), (4, 25)]
)
def test_each_version_of_a_commit_has_its_fields(version: int, size: int) -> None:
    key = OffsetCommitKey(group="g", topic="t", partition=2)
    value = OffsetCommitValue(offset=5, metadata="m", commit_timestamp=9)
    _, encoded = RECORDS.encode(CoordinatorRecord(1, key, version, value))
    assert encoded is not None
    assert len(encoded) == size
    assert RECORDS.decode_value(1, encoded) == (version, value)


def test_that_a_member_is_not_classic_is_said_as_kafka_says_it() -> None:
    """What is left out there is, to Kafka, an empty struct: a member of the classic protocol."""
    written = bytes.fromhex(
        "0000000008686f7374696c650b2f3132372e302e302e31020274010000ea600001000100"
    )
    version, value = RECORDS.decode_value(5, written)
    assert isinstance(value, ConsumerGroupMemberMetadataValue)
    assert value.classic_member_metadata is None
    assert encode_value(value, version) == written
    value.classic_member_metadata = ClassicMemberMetadata(session_timeout_ms=5)
    classic = encode_value(value, version)
    assert classic is not None
    assert classic[-10:] == bytes.fromhex("01000701000000050100")
    assert RECORDS.decode_value(5, classic) == (version, value)


def test_new_keys_are_written_with_the_type_in_use() -> None:
    key = OffsetCommitKey(group="g", topic="t", partition=2)
    assert RECORDS.encode_key(key) == b"\0\1\0\1g\0\1t\0\0\0\2"
    assert RECORDS.encode_key(key, 0)[:2] == b"\0\0"


@pytest.mark.parametrize("record_type", TYPES)
@given(data=st.data())
def test_any_record_survives_encoding(record_type: int, data: st.DataObject) -> None:
    kind = RECORDS.kinds[record_type]
    key = data.draw(values_of(kind.key, record_type))
    version = data.draw(st.sampled_from(list(kind.value.valid_versions)))
    value: Message = data.draw(values_of(kind.value, version))
    record = CoordinatorRecord(record_type, key, version, value)
    assert RECORDS.decode(*RECORDS.encode(record)) == record
