"""Votes for assignors, and what the assignors are given."""

from broker.coordinator.group.consumer_group import Member, Subscription
from broker.coordinator.group.consumer_target import preferred_assignor
from tests.support.consumer_groups import ConsumerTable

NAMES = ("uniform", "range")


def voting(*votes: str | None) -> list[Member]:
    return [Member(str(index), Subscription(assignor=vote)) for index, vote in enumerate(votes)]


def test_most_votes_win_and_none_means_the_first() -> None:
    assert preferred_assignor(voting(None, None), NAMES) == "uniform"
    assert preferred_assignor(voting("range", None, None), NAMES) == "range"
    assert preferred_assignor(voting("range", "uniform", "range"), NAMES) == "range"
    assert preferred_assignor(voting("gone", "gone", None), NAMES) == "uniform"


def test_the_range_assignor_cuts_each_topic() -> None:
    groups = ConsumerTable(t=4, u=2)
    groups.come("X", ["t", "u"], server_assignor="range")
    groups.advance(1000)
    groups.come("Y", ["t", "u"])
    groups.advance(1000)
    groups.come("Z", ["t", "u"])
    assert {
        member_id: groups.places(target) for member_id, target in groups.group().targets.items()
    } == {"X": ["t0", "t1", "u0"], "Y": ["t2", "u1"], "Z": ["t3"]}


def test_members_keep_what_they_had() -> None:
    groups = ConsumerTable(t=6)
    groups.come("A")
    groups.advance(1000)
    groups.come("B")
    before = groups.group().targets["A"]
    groups.advance(1000)
    groups.come("C")
    assert set(groups.places(groups.group().targets["A"])) < set(groups.places(before))
