"""Laws of the assignors, for any group, and over a group's life of joins, leaves and new topics."""

from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.coordinator.group.assignors import ASSIGNORS, Subscriber, Targets, by_range, uniform

TOPICS = [bytes([number]) * 16 for number in range(6)]
NAMES = [f"m{number}" for number in range(9)]
COUNTS = st.fixed_dictionaries({topic: st.integers(1, 12) for topic in TOPICS})


@st.composite
def groups(draw: st.DrawFn, same_topics: bool | None = None) -> list[Subscriber]:
    """Members whose last targets are disjoint, and may hold what is gone or not wanted any more."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=7))
    some_topics = st.frozensets(st.sampled_from(TOPICS))
    shared = (
        draw(some_topics) if same_topics or (same_topics is None and draw(st.booleans())) else None
    )
    owners = draw(
        st.dictionaries(
            st.tuples(st.sampled_from(TOPICS), st.integers(0, 13)),
            st.sampled_from(NAMES),
            max_size=40,
        )
    )
    members = []
    for name in names:
        held: dict[bytes, set[int]] = {}
        for (topic, partition), owner in owners.items():
            if owner == name:
                held.setdefault(topic, set()).add(partition)
        instance_id = draw(st.none() | st.just(f"i-{name}"))
        topics = draw(some_topics) if shared is None else shared
        members.append(Subscriber(name, instance_id, topics, held))
    return members


def again(members: list[Subscriber], targets: Targets) -> list[Subscriber]:
    return [member._replace(partitions=targets[member.member_id]) for member in members]


def load(targets: Targets, name: str) -> int:
    return sum(map(len, targets[name].values()))


def kept(member: Subscriber, targets: Targets) -> int:
    """How many partitions of its last target a member has again."""
    target = targets[member.member_id]
    return sum(
        len(target.get(topic, set()) & set(held)) for topic, held in member.partitions.items()
    )


def valid(member: Subscriber, counts: Mapping[bytes, int]) -> int:
    """How many partitions of its last target a member could keep."""
    return sum(
        len({partition for partition in held if partition < counts[topic]})
        for topic, held in member.partitions.items()
        if topic in member.topics
    )


@pytest.mark.parametrize("name", ASSIGNORS)
@given(members=groups(), counts=COUNTS)
def test_every_partition_that_is_wanted_has_one_owner_who_wants_it(
    name: str, members: list[Subscriber], counts: dict[bytes, int]
) -> None:
    targets = ASSIGNORS[name](members, counts)
    assert set(targets) == {member.member_id for member in members}
    owned: Counter[tuple[bytes, int]] = Counter()
    for member in members:
        for topic, partitions in targets[member.member_id].items():
            assert topic in member.topics
            assert partitions
            owned.update((topic, partition) for partition in partitions)
    wanted = {topic for member in members for topic in member.topics}
    assert owned == {(t, partition): 1 for t in wanted for partition in range(counts[t])}


@given(members=groups(same_topics=True), counts=COUNTS)
def test_uniform_totals_differ_by_one_at_most_and_nobody_within_its_share_loses(
    members: list[Subscriber], counts: dict[bytes, int]
) -> None:
    targets = uniform(members, counts)
    loads = [load(targets, member.member_id) for member in members]
    assert not loads or max(loads) - min(loads) <= 1
    share = min(loads, default=0)
    for member in members:
        assert kept(member, targets) >= min(valid(member, counts), share)


@given(members=groups(same_topics=False), counts=COUNTS)
def test_uniform_of_different_topics_leaves_no_topic_that_could_be_evened_further(
    members: list[Subscriber], counts: dict[bytes, int]
) -> None:
    targets = uniform(members, counts)
    for topic in TOPICS:
        subscribers = [member.member_id for member in members if topic in member.topics]
        givers = [load(targets, name) for name in subscribers if topic in targets[name]]
        if givers:
            assert max(givers) - min(load(targets, name) for name in subscribers) <= 1


@pytest.mark.parametrize("name", ASSIGNORS)
@given(members=groups(), counts=COUNTS)
def test_assigning_again_changes_nothing(
    name: str, members: list[Subscriber], counts: dict[bytes, int]
) -> None:
    targets = ASSIGNORS[name](members, counts)
    assert ASSIGNORS[name](again(members, targets), counts) == targets


@given(members=groups(same_topics=True), counts=COUNTS, data=st.data())
def test_uniform_moves_no_more_than_a_change_of_members_asks_for(
    members: list[Subscriber], counts: dict[bytes, int], data: st.DataObject
) -> None:
    members = again(members, uniform(members, counts))
    if not members:
        return
    if data.draw(st.booleans()):
        gone = data.draw(st.integers(0, len(members) - 1))
        rest = members[:gone] + members[gone + 1 :]
        targets = uniform(rest, counts)
        assert all(kept(member, targets) == valid(member, counts) for member in rest)
    else:
        newcomer = Subscriber("new", None, members[0].topics, {})
        targets = uniform([*members, newcomer], counts)
        moved = sum(valid(member, counts) - kept(member, targets) for member in members)
        assert moved == load(targets, "new")


@given(members=groups(same_topics=True), counts=COUNTS)
def test_ranges_of_topics_partitioned_alike_are_alike(
    members: list[Subscriber], counts: dict[bytes, int]
) -> None:
    alike = dict.fromkeys(counts, 7)
    targets = by_range(members, alike)
    for target in targets.values():
        assert len({frozenset(partitions) for partitions in target.values()}) <= 1
        for partitions in target.values():
            assert max(partitions) - min(partitions) == len(partitions) - 1
