"""Frames and records that real controllers wrote, read and written again; others passed over."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import MalformedFrame
from protocol.internal.cluster_metadata import (
    UNCHANGED_LEADER,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    Skipped,
    TopicRecord,
    decode_record,
    encode_record,
)

ID = bytes.fromhex("26191f38326f4879af8e8d5b2ac8a99e")
DIRECTORY = bytes.fromhex("836b663189e5bb4b67cf32535fc20b55")
PARTITION = bytes.fromhex(
    "01 03 02 00000000 26191f38326f4879af8e8d5b2ac8a99e 02 00000001 02 00000001 01 01 00000001"
    "00000000 00000000 02 836b663189e5bb4b67cf32535fc20b55 00"
)
CHANGE = bytes.fromhex("01 05 02 00000000 26191f38326f4879af8e8d5b2ac8a99e 01 01 04 ffffffff")
REGISTRATION = bytes.fromhex(
    "010003"
    "0000000100a531f02c1d0a467ea14f6144002925000000000000000006020a504c41494e54455854"
    "0a3132372e302e302e31b1c5000000030e6b726166742e76657273696f6e0000000100116d65746164617461"
    "2e76657273696f6e00010015000001000100110216e2e36fdf6101189c175098d7c465ec"
)


def test_a_partition_as_kafka_4_3_writes_it() -> None:
    record = decode_record(PARTITION)
    assert isinstance(record, PartitionRecord)
    assert record == PartitionRecord(
        partition_id=0,
        topic_id=ID,
        replicas=[1],
        isr=[1],
        leader=1,
        leader_epoch=0,
        partition_epoch=0,
        directories=[DIRECTORY],
    )
    assert encode_record(record, 2) == PARTITION


def test_a_change_names_only_what_changed() -> None:
    record = decode_record(CHANGE)
    assert isinstance(record, PartitionChangeRecord)
    assert (record.leader, record.isr, record.replicas) == (-1, None, None)
    assert encode_record(record, 2) == CHANGE
    assert PartitionChangeRecord().leader == UNCHANGED_LEADER


def test_a_registration_tells_the_epoch_of_the_broker() -> None:
    record = decode_record(REGISTRATION)
    assert isinstance(record, RegisterBrokerRecord)
    assert (record.broker_id, record.broker_epoch) == (1, 6)
    assert record.end_points[0].port == 45509
    assert encode_record(record, 3) == REGISTRATION


def test_records_of_other_types_are_passed_over_by_their_frame() -> None:
    assert decode_record(bytes.fromhex("011b00ffffff")) == Skipped(27)
    assert Skipped(27).name == "RegisterControllerRecord"
    assert Skipped(300).name == "record type 300"
    assert decode_record(bytes.fromhex("01ac0200")) == Skipped(300)


def test_the_first_frame_version_is_read_too() -> None:
    assert decode_record(b"\x00\x14\x00\x00") == NoOpRecord()


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (b"", "hold no frame"),
        (b"\x01\x02", "hold no frame"),
        (b"\x02\x02\x00", "frame of version 2"),
        (b"\x01\x03\x03", "PartitionRecord of version 3"),
        (CHANGE[:-1], "PartitionChangeRecord"),
        (CHANGE + b"\0", "PartitionChangeRecord"),
    ],
)
def test_what_is_no_record_is_malformed(value: bytes, what: str) -> None:
    with pytest.raises(MalformedFrame, match=what):
        decode_record(value)


@given(st.text(max_size=40), st.integers(-(2**63), 2**63 - 1))
def test_what_was_written_is_read(name: str, number: int) -> None:
    topic = TopicRecord(name=name, topic_id=ID)
    assert decode_record(encode_record(topic, 0)) == topic
    ids = ProducerIdsRecord(broker_id=1, next_producer_id=number)
    assert decode_record(encode_record(ids, 0)) == ids


@given(st.binary(max_size=60))
def test_nothing_but_malformed_frame_leaves_the_reader(value: bytes) -> None:
    try:
        decode_record(value)
    except MalformedFrame:
        pass
