"""What is waited for, how long, and that it costs no more the more there are."""

import logging

import pytest

from broker.coordinator.group.classic_group import GroupState
from broker.coordinator.group.settings import Reason
from tests.support.group_shard import START_MS, GroupTable, Values


def test_a_first_rebalance_waits_while_members_come_but_not_beyond_their_patience() -> None:
    groups = GroupTable()
    first = groups.join("A", version=3, rebalance_ms=8000)
    for number in range(4):
        groups.advance(2000)
        groups.join(f"B{number}", version=3, rebalance_ms=8000)
        assert (first.reply is None) == (groups.now_ms < START_MS + 8000)
    assert first.generation == 1


def test_without_a_delay_the_first_member_has_the_group_at_once() -> None:
    values = Values()
    values.initial_delay_ms = 0
    groups = GroupTable(values)
    first = groups.join("A", version=3)
    groups.advance(0)
    assert first.generation == 1


def test_if_nobody_rejoins_static_members_are_waited_for() -> None:
    groups = GroupTable()
    a = groups.join("A", instance="one", session_ms=600_000)
    groups.advance(6000)
    groups.sync("A", a.member_id, 1, {})
    c = groups.enter("C", session_ms=6000)
    groups.leave("C", (c.reply.member_id if c.reply else short_of(groups), None))
    groups.advance(60_000)
    group = groups.shard.classic.groups["g"]
    assert (group.state, list(group.members)) == (
        GroupState.PREPARING_REBALANCE,
        [a.member_id],
    )
    again = groups.join("A", a.member_id, instance="one", session_ms=600_000)
    assert again.generation == 2


def short_of(groups: GroupTable) -> str:
    """The id of the member that came last."""
    return list(groups.shard.classic.groups["g"].members)[-1]


def test_every_rebalance_says_why_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    groups = GroupTable()
    with caplog.at_level(logging.INFO):
        a, b = groups.two_members()
        groups.leave("B", (b, None))
    said = [line for line in caplog.messages if line.startswith("Preparing to rebalance group g")]
    assert len(said) == sum(groups.meters.rebalances.values()) == 2
    assert "in state Stable with old generation 1 (reason: member left:" in said[1]
    assert groups.meters.rebalances[Reason.MEMBER_LEFT] == 1
    assert a in groups.shard.classic.groups["g"].members


def test_a_heartbeat_moves_no_timer() -> None:
    groups = GroupTable()
    a, _ = groups.two_members()
    before = dict(groups.timers)
    groups.advance(1000)
    groups.heartbeat("A", a, 1)
    assert groups.timers == before


def test_a_hundred_members_share() -> None:
    groups = GroupTable()
    members = [groups.enter(f"m{number}") for number in range(100)]
    groups.advance(6000)
    leader = members[0]
    assignments = {one.member_id: str(index) for index, one in enumerate(members)}
    synced = [groups.sync("x", one.member_id, 1) for one in members[1:]]
    groups.sync("x", leader.member_id, 1, assignments)
    assert [one.reply.assignment for one in synced] == [b"%d" % n for n in range(1, 100)]
    assert [len(one.reply.members) for one in members] == [100] + [0] * 99
    assert groups.meters.completed_rebalances == 1
