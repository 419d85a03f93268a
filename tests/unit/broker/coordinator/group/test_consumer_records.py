"""Records of consumer groups: written as Kafka writes them, read from whoever wrote them."""

import pytest

from broker.coordinator.group import consumer_records as records
from broker.coordinator.group.consumer_group import (
    ConsumerGroup,
    Current,
    Member,
    MemberState,
    ResolvedRegex,
    Subscription,
)
from broker.coordinator.shard import CoordinatorRecord
from protocol.internal.consumer_offsets import (
    RECORDS,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    OwnedPartitions,
)
from protocol.internal.coordinator_record import UndecodableRecord, encode_value

T = b"t" * 16


def read(group: ConsumerGroup, *written: CoordinatorRecord) -> ConsumerGroup:
    for record in written:
        record_type, key = RECORDS.decode_key(record.key)
        assert record_type in records.RECORD_TYPES
        assert records.group_of_key(key) == group.group_id
        _, value = RECORDS.decode_value(record_type, record.value)
        if value is None:
            records.apply_tombstone(group, key)
        else:
            records.apply_value(group, key, value)
    return group


def owned_record(*owned: OwnedPartitions, state: int = 0) -> CoordinatorRecord:
    key = ConsumerGroupCurrentMemberAssignmentKey(group_id="g", member_id="A")
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=7, previous_member_epoch=6, state=state, assigned_partitions=list(owned)
    )
    return CoordinatorRecord(RECORDS.encode_key(key), encode_value(value, 0))


def test_what_is_written_is_read() -> None:
    subscription = Subscription("i", "r", "c", "/h", ("t", "u"), "x", 5, "range")
    current = Current(4, 3, MemberState.UNREVOKED_PARTITIONS, {T: {0: 2, 1: 4}}, {T: {2: 3}})
    resolved = ResolvedRegex(frozenset({"t"}), 9, 8)
    group = read(
        ConsumerGroup("g"),
        records.subscription_record("g", "A", subscription),
        records.epoch_record("g", 5, -6),
        records.target_record("g", "A", {T: {1, 0}}),
        records.assignment_epoch_record("g", 4, 77),
        records.current_record("g", "A", current),
        records.regex_record("g", "x", resolved),
    )
    assert group.members == {"A": Member("A", subscription, current)}
    assert (group.epoch, group.metadata_hash) == (5, -6)
    assert (group.assignment_epoch, group.assigned_ms) == (4, 77)
    assert group.targets == {"A": {T: {0, 1}}}
    assert group.regexes == {"x": resolved}
    read(group, *records.group_tombstones(group)[:-1])
    assert (group.members, group.targets, group.regexes) == ({}, {}, {})
    assert group.assignment_epoch == -1


def test_the_bytes_of_an_epoch_leave_out_a_hash_of_nothing() -> None:
    assert records.epoch_record("g", 2, 0) == (b"\0\3\0\1g", b"\0\0\0\0\0\2\0")
    with_hash = records.epoch_record("g", 2, 1).value
    assert with_hash == b"\0\0\0\0\0\2\1\0\x08" + bytes(7) + b"\1"


def test_that_a_member_is_not_classic_is_said_in_its_bytes() -> None:
    value = records.subscription_record("g", "A", Subscription(client_id="c")).value
    assert value is not None
    assert value.hex() == "000000000263010101ffffffff0001000100"
    group = read(ConsumerGroup("g"), records.subscription_record("g", "A", Subscription()))
    assert group.members["A"].subscription.classic is None


def test_members_of_older_brokers_have_had_everything_since_their_epoch() -> None:
    group = read(ConsumerGroup("g"), owned_record(OwnedPartitions(topic_id=T, partitions=[0, 1])))
    assert group.members["A"].current.assigned == {T: {0: 7, 1: 7}}


def test_partitions_and_epochs_that_do_not_pair_up_are_refused() -> None:
    bad = OwnedPartitions(topic_id=T, partitions=[0, 1], assignment_epochs=[1])
    with pytest.raises(UndecodableRecord):
        read(ConsumerGroup("g"), owned_record(bad))


def test_a_state_nobody_knows_is_told_apart() -> None:
    group = read(ConsumerGroup("g"), owned_record(state=77))
    assert group.members["A"].current.state is MemberState.UNKNOWN


def test_a_group_goes_in_the_order_in_which_kafka_loads_it() -> None:
    group = ConsumerGroup("g")
    for name in "AB":
        group.subscribe(name, Subscription(regex="x"))
    group.set_regex("x", ResolvedRegex(frozenset(), 1, 1))
    types = [int.from_bytes(one.key[:2], "big") for one in records.group_tombstones(group)]
    assert types == [8, 8, 7, 7, 6, 5, 5, 16, 4, 3]
