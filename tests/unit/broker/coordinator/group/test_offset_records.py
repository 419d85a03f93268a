"""Offsets as bytes: what the generic schemas say, without them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.coordinator.group.offset_records import (
    NEVER,
    PARTITION,
    CommittedOffset,
    check_value,
    decode_offset,
    encode_expiring,
    encode_offset,
    key_prefix,
    offset_of,
    parse_prefix,
    tail_of,
)
from protocol.internal.consumer_offsets import RECORDS, OffsetCommitKey, OffsetCommitValue
from protocol.internal.coordinator_record import UndecodableRecord, encode_value
from protocol.model import ZERO_TOPIC_ID

NAMES = st.text(max_size=20)
OFFSETS = st.integers(-1, 2**63 - 1)
EPOCHS = st.integers(-1, 2**31 - 1)
IDS = st.sampled_from((ZERO_TOPIC_ID, b"0123456789abcdef"))


@given(NAMES, NAMES, st.integers(0, 2**31 - 1))
def test_keys_are_those_of_the_schema(group: str, topic: str, partition: int) -> None:
    key = key_prefix(group, topic) + PARTITION.pack(partition)
    assert key == RECORDS.encode_key(OffsetCommitKey(group=group, topic=topic, partition=partition))
    assert parse_prefix(key[:-4]) == (group, topic)


@given(OFFSETS, EPOCHS, st.text(max_size=200), OFFSETS, IDS)
def test_values_are_those_of_the_schema(
    offset: int, epoch: int, metadata: str, time_ms: int, topic_id: bytes
) -> None:
    value = encode_offset(offset, epoch, metadata, time_ms, tail_of(topic_id))
    declared = OffsetCommitValue(
        offset=offset,
        leader_epoch=epoch,
        metadata=metadata,
        commit_timestamp=time_ms,
        topic_id=topic_id,
    )
    assert value == encode_value(declared, 4)
    check_value(value)
    assert offset_of(value) == offset
    assert decode_offset(value) == CommittedOffset(
        offset, epoch, metadata, time_ms, NEVER, topic_id
    )


@pytest.mark.parametrize("version", range(5))
def test_every_version_is_read(version: int) -> None:
    declared = OffsetCommitValue(offset=9, metadata="note", commit_timestamp=7, leader_epoch=-1)
    encoded = encode_value(declared, version)
    assert encoded is not None
    check_value(encoded)
    assert decode_offset(encoded) == CommittedOffset(9, -1, "note", 7)


def test_an_expiry_of_its_own_is_version_1() -> None:
    value = encode_expiring(9, "note", 7, 100)
    assert value[:2] == b"\0\1"
    assert decode_offset(value) == CommittedOffset(9, -1, "note", 7, 100)


@pytest.mark.parametrize("value", [b"", b"\0\4", b"\0\5" + bytes(40), b"\1\0" + bytes(40)])
def test_what_cannot_be_a_value_is_refused_at_once(value: bytes) -> None:
    with pytest.raises(UndecodableRecord):
        check_value(value)


@given(st.binary(max_size=60))
def test_bytes_of_anybodys_making_are_refused_in_one_way(noise: bytes) -> None:
    for parse in (parse_prefix, lambda data: decode_offset(b"\0\4" + data.ljust(20, b"\0"))):
        try:
            parse(noise)
        except UndecodableRecord:
            pass
