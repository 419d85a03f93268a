"""Targets of small groups, written out; laws of large ones are property tests."""

import pytest

from broker.coordinator.group import assignors
from broker.coordinator.group.assignors import ASSIGNORS, Subscriber, Targets, by_range, uniform

X, Y, Z = (bytes([letter]) * 16 for letter in b"XYZ")


def subscriber(
    member_id: str, *topics: bytes, instance_id: str | None = None, **partitions: set[int]
) -> Subscriber:
    held = {{"x": X, "y": Y, "z": Z}[name]: held for name, held in partitions.items()}
    return Subscriber(member_id, instance_id, frozenset(topics), held)


def again(members: list[Subscriber], targets: Targets) -> list[Subscriber]:
    """The members, as they come to the next assignment."""
    return [member._replace(partitions=targets[member.member_id]) for member in members]


def test_nobody_gets_nothing() -> None:
    for assign in ASSIGNORS.values():
        assert assign([], {}) == {}
        assert assign([subscriber("a")], {}) == {"a": {}}


def test_range_gives_the_first_members_one_more_of_each_topic() -> None:
    members = [subscriber(name, X, Y) for name in "cab"]
    assert by_range(members, {X: 4, Y: 2}) == {
        "a": {X: {0, 1}, Y: {0}},
        "b": {X: {2}, Y: {1}},
        "c": {X: {3}},
    }


def test_range_puts_static_members_first_by_instance_id() -> None:
    members = [
        subscriber("a", X),
        subscriber("y", X, instance_id="2"),
        subscriber("z", X, instance_id="1"),
    ]
    assert by_range(members, {X: 3}) == {"z": {X: {0}}, "y": {X: {1}}, "a": {X: {2}}}


def test_range_cuts_a_topic_among_its_own_subscribers() -> None:
    members = [subscriber("a", X), subscriber("b", X, Y), subscriber("c", Y)]
    assert by_range(members, {X: 2, Y: 3}) == {
        "a": {X: {0}},
        "b": {X: {1}, Y: {0, 1}},
        "c": {Y: {2}},
    }


def test_uniform_evens_totals_and_not_topics() -> None:
    members = [subscriber(name, X, Y) for name in "ab"]
    assert uniform(members, {X: 3, Y: 3}) == {"a": {X: {0, 1, 2}}, "b": {Y: {0, 1, 2}}}


def test_uniform_takes_from_the_full_only_what_the_newcomer_needs() -> None:
    members = [
        subscriber("a", X, x={0, 1, 2}),
        subscriber("b", X, x={3, 4}),
        subscriber("c", X),
    ]
    assert uniform(members, {X: 5}) == {"a": {X: {0, 1}}, "b": {X: {3, 4}}, "c": {X: {2}}}


def test_uniform_leaves_the_extra_partition_to_a_later_member_that_has_it() -> None:
    members = [subscriber("a", X, x={4}), subscriber("b", X, x={0, 1, 2})]
    assert uniform(members, {X: 5}) == {"a": {X: {3, 4}}, "b": {X: {0, 1, 2}}}


def test_uniform_gives_a_leaving_member_s_partitions_to_the_rest() -> None:
    members = [subscriber("a", X, x={0, 1}), subscriber("b", X, x={2, 3})]
    assert uniform(members, {X: 6}) == {"a": {X: {0, 1, 4}}, "b": {X: {2, 3, 5}}}


def test_what_a_member_cannot_have_any_more_is_not_kept() -> None:
    """A topic nobody wants, a partition that does not exist, and one two members claim."""
    members = [subscriber("a", X, x={0, 9}, z={0}), subscriber("b", X, x={0, 1})]
    assert uniform(members, {X: 2}) == {"a": {X: {0}}, "b": {X: {1}}}
    members.append(subscriber("c", X, Y))
    assert uniform(members, {X: 2, Y: 1}) == {"a": {X: {0}}, "b": {X: {1}}, "c": {Y: {0}}}


def test_uniform_of_different_topics_gives_first_to_who_can_take_little() -> None:
    members = [subscriber("a", X), subscriber("b", X, Y)]
    assert uniform(members, {X: 2, Y: 2}) == {"a": {X: {0, 1}}, "b": {Y: {0, 1}}}


def test_uniform_of_different_topics_moves_until_no_topic_is_uneven() -> None:
    members = [
        subscriber("a", X, Y, x={0, 1, 2}, y={0}),
        subscriber("b", X),
        subscriber("c", Y, Z, z={0}),
    ]
    targets = uniform(members, {X: 3, Y: 1, Z: 1})
    assert targets == {"a": {X: {0}, Y: {0}}, "b": {X: {1, 2}}, "c": {Z: {0}}}
    assert uniform(again(members, targets), {X: 3, Y: 1, Z: 1}) == targets


def test_balancing_stops_after_so_many_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    members = [
        subscriber("a", X, x=set(range(12))),
        subscriber("b", X, Y),
        subscriber("c", Y, Z),
        subscriber("d", Z),
    ]
    counts = {X: 12, Y: 4, Z: 1}
    settled = uniform(members, counts)
    monkeypatch.setattr(assignors, "BALANCING_PASSES", 1)
    assert uniform(members, counts) != settled
