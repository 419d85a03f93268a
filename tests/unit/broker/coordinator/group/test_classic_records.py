"""The record of a classic group: byte for byte what Apache Kafka 4.3.1 wrote."""

import pytest

from broker.coordinator.group.classic_group import ClassicGroup, GroupState
from broker.coordinator.group.classic_records import (
    group_of_key,
    group_of_record,
    group_record,
    group_tombstone,
    new_group_record,
)
from protocol.internal.consumer_offsets import ClassicMember, GroupMetadataValue
from protocol.internal.coordinator_record import UndecodableRecord, encode_value
from protocol.records.batch import iterate_batches
from tests.support.storage_golden import golden_files


def kafkas() -> list[tuple[bytes, bytes]]:
    """The records of the group, by the broker and librdkafka."""
    (log,) = (
        content
        for name, content in golden_files().items()
        if "__consumer_offsets-1/" in name and name.endswith(".log")
    )
    records = [record for batch in iterate_batches(log) for record in batch.records()]
    return [
        (record.key, record.value)
        for record in records
        if record.key is not None and record.value is not None and record.key[1] == 2
    ]


def test_kafkas_records_are_read_and_written_again_to_the_byte() -> None:
    new, stable, empty = kafkas()
    assert group_of_key(new[0]) == "golden-group"
    fresh = ClassicGroup("golden-group", 1795283807786)
    fresh.protocol_type = "consumer"
    assert new_group_record(fresh) == new
    for record in (stable, empty):
        group = group_of_record("golden-group", record[1])
        assignments = {one.member_id: one.assignment for one in group.members.values()}
        assert group_record(group, assignments) == record


def test_a_group_with_members_is_stable_and_one_without_is_empty() -> None:
    _, stable, empty = (group_of_record("golden-group", value) for _, value in kafkas())
    assert (stable.state, stable.generation) == (GroupState.STABLE, 1)
    assert (stable.protocol_type, stable.protocol_name) == ("consumer", "range")
    (member,) = stable.members.values()
    assert stable.leader == member.member_id
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (45_000, 300_000)
    assert stable.is_subscribed("g-none")
    assert not stable.is_subscribed("other")
    assert (empty.state, empty.generation, empty.leader) == (GroupState.EMPTY, 2, None)
    assert empty.state_since_ms == 1795283808127


@pytest.mark.parametrize("version", range(5))
def test_every_version_is_read(version: int) -> None:
    member = ClassicMember(member_id="m", session_timeout=7000, rebalance_timeout=-1)
    value = encode_value(
        GroupMetadataValue(protocol_type="x", protocol="p", leader="m", members=[member]), version
    )
    assert value is not None
    group = group_of_record("g", value)
    assert group.members["m"].rebalance_timeout_ms == 7000
    assert group.state_since_ms is None


def test_what_is_no_group_is_refused() -> None:
    twice = [ClassicMember(member_id="m")] * 2
    for value in (b"", b"\0\3", encode_value(GroupMetadataValue(members=twice), 3)):
        assert value is not None
        with pytest.raises(UndecodableRecord):
            group_of_record("g", value)
    assert group_tombstone("g").value is None
