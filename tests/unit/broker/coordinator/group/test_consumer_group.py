"""What records tell of a group, in whatever order they come."""

import logging

import pytest

from broker.coordinator.group.consumer_group import (
    ConsumerGroup,
    Current,
    GroupState,
    MemberState,
    ResolvedRegex,
    Subscription,
)

T = b"t" * 16


def having(*partitions: int, epoch: int = 2, revoking: tuple[int, ...] = ()) -> Current:
    owned = {T: dict.fromkeys(partitions, epoch)} if partitions else {}
    pending = {T: dict.fromkeys(revoking, epoch)} if revoking else {}
    return Current(epoch, 0, MemberState.STABLE, owned, pending)


def test_the_states_of_a_group() -> None:
    group = ConsumerGroup("g")
    states = [group.state]
    group.subscribe("A", Subscription(topics=("t",)))
    group.set_epoch(2, 0)
    states.append(group.state)
    group.set_assignment_epoch(2, 0)
    states.append(group.state)
    group.set_current("A", having(0))
    states.append(group.state)
    assert states == [
        GroupState.EMPTY,
        GroupState.ASSIGNING,
        GroupState.RECONCILING,
        GroupState.STABLE,
    ]


def test_a_partition_is_owned_until_it_was_let_go_of() -> None:
    group = ConsumerGroup("g")
    group.set_current("A", having(0, 1))
    group.set_current("A", having(0, revoking=(1,)))
    assert [group.owner(T, one) for one in range(3)] == ["A", "A", None]
    group.set_current("A", having(0, epoch=3))
    assert group.owner(T, 1) is None
    group.remove("A")
    assert group.owner(T, 0) is None


def test_current_and_subscription_come_in_any_order() -> None:
    one, other = ConsumerGroup("g"), ConsumerGroup("g")
    one.set_current("A", having(0))
    one.subscribe("A", Subscription(topics=("t",)))
    other.subscribe("A", Subscription(topics=("t",)))
    other.set_current("A", having(0))
    assert one.members == other.members


def test_a_member_whose_current_is_forgotten_has_nothing() -> None:
    group = ConsumerGroup("g")
    group.set_current("A", having(0))
    group.set_current("A", None)
    group.set_current("B", None)
    assert group.members["A"].current == Current(-1, -1)
    assert list(group.members) == ["A"]


def test_two_owners_are_an_error_in_the_log_and_the_last_one_stays(
    caplog: pytest.LogCaptureFixture,
) -> None:
    group = ConsumerGroup("g")
    group.set_current("A", having(0))
    with caplog.at_level(logging.ERROR):
        group.set_current("B", having(0, epoch=3))
    assert "was given to B while A" in caplog.text
    group.set_current("A", having())
    assert group.owner(T, 0) == "B"


def test_subscribers_are_counted() -> None:
    group = ConsumerGroup("g")
    group.subscribe("A", Subscription(topics=("t", "u"), regex="x"))
    group.subscribe("B", Subscription(topics=("t",), regex="x"))
    group.subscribe("A", Subscription(topics=("u",)))
    group.set_regex("x", ResolvedRegex(frozenset({"v"}), 1, 1))
    assert group.topic_subscribers == {"t": 1, "u": 1}
    assert group.regex_subscribers == {"x": 1}
    assert [group.is_subscribed(one) for one in "tuvw"] == [True, True, True, False]
    assert set(group.topics_of(group.members["B"].subscription)) == {"t", "v"}
    group.remove("B")
    assert group.regex_subscribers == {}
    assert group.topics_after((), ()) == {"u"}


def test_topics_and_expressions_after_a_change() -> None:
    group = ConsumerGroup("g")
    old = Subscription(topics=("t",), regex="x")
    group.subscribe("A", old)
    group.subscribe("B", Subscription(regex="x"))
    group.set_regex("x", ResolvedRegex(frozenset({"v"}), 1, 1))
    assert group.topics_after((old,), (Subscription(topics=("u",)),)) == {"u", "v"}
    assert list(group.orphaned_regexes((old,), ())) == []
    both = (old, Subscription(regex="x"))
    assert list(group.orphaned_regexes(both, ())) == ["x"]
    assert list(group.orphaned_regexes(both, (old,))) == []
    assert group.topics_after(both, ()) == set()


def test_an_instance_belongs_to_who_came_last() -> None:
    group = ConsumerGroup("g")
    group.subscribe("A", Subscription(instance_id="i"))
    group.subscribe("B", Subscription(instance_id="i"))
    group.remove("A")
    assert group.static_members == {"i": "B"}
