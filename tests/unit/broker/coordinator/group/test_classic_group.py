"""The members, votes and states of one group."""

import pytest

from broker.coordinator.group.classic_group import (
    ClassicGroup,
    ClassicMember,
    GroupState,
    Protocols,
)
from protocol.consumer_protocol import ConsumerProtocolSubscription, encode_subscription
from protocol.errors import ErrorCode
from tests.support.replicas import code_of


def member(
    name: str, *protocols: str, instance: str | None = None, data: bytes = b""
) -> ClassicMember:
    known: Protocols = tuple((one, data) for one in protocols or ("range",))
    return ClassicMember(name, instance, ("client", "/host"), (6000, 7000), known)


def group_of(*members: ClassicMember, protocol_type: str = "consumer") -> ClassicGroup:
    group = ClassicGroup("g", 0)
    group.protocol_type = protocol_type
    for one in members:
        group.add(one)
    group.become(GroupState.PREPARING_REBALANCE, 1)
    return group


def test_most_of_the_members_choose_among_what_all_can_do() -> None:
    group = group_of(
        member("a", "fancy", "range", "sticky"),
        member("b", "sticky", "range"),
        member("c", "sticky", "range"),
        member("d", "sticky", "range"),
    )
    assert group.select_protocol() == "sticky"
    assert group.supports("consumer", (("range", b""),))
    assert not group.supports("consumer", (("fancy", b""),))
    group.update(group.members["b"], (("range", b""),), (1, 2))
    assert group.select_protocol() == "range"
    group.remove("b")
    assert group.supports("consumer", (("sticky", b""),))


def test_the_first_leads_and_then_whoever_is_there_longest() -> None:
    group = group_of(member("a"), member("b"), member("c"))
    assert group.leader == "a"
    group.remove("a")
    assert group.leader == "b"
    assert not group.elect_leader()
    group.remove("b")
    group.remove("c")
    assert not group.members
    assert group.remove("c") is None


def test_states_only_follow_the_picture() -> None:
    group = ClassicGroup("g", 0)
    for state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE, GroupState.EMPTY):
        with pytest.raises(AssertionError):
            group.become(state, 1)
    group.become(GroupState.PREPARING_REBALANCE, 5)
    assert (group.state_since_ms, group.previous_state) == (5, GroupState.EMPTY)
    group.next_generation(6)
    assert (group.state, group.generation) == (GroupState.EMPTY, 1)


def test_a_static_member_keeps_its_place_under_its_next_id() -> None:
    group = group_of(member("a"), member("b", instance="one"), member("c"))
    group.replace_static("b", "d")
    assert list(group.members) == ["a", "d", "c"]
    assert code_of(group.check_member, "b", "one") is ErrorCode.FENCED_INSTANCE_ID
    assert code_of(group.check_member, "b", None) is ErrorCode.UNKNOWN_MEMBER_ID
    assert code_of(group.check_member, "b", "two") is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.check_member("d", "one").member_id == "d"


def test_subscriptions_are_read_where_they_can_be() -> None:
    topics = encode_subscription(ConsumerProtocolSubscription(topics=["t"]))
    readable = group_of(member("a", data=topics), member("b", data=topics))
    readable.next_generation(2)
    assert (readable.is_subscribed("t"), readable.is_subscribed("u")) == (True, False)
    unreadable = group_of(member("a", data=topics), member("b", data=b"?"))
    unreadable.next_generation(2)
    assert (unreadable.knows_subscriptions, unreadable.is_subscribed("u")) == (False, True)
    connect = group_of(member("a", data=b"?"), protocol_type="connect")
    connect.next_generation(2)
    assert (connect.knows_subscriptions, connect.is_subscribed("t")) == (False, False)
