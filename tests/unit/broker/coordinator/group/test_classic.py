"""Classic groups told as transcripts: what is asked, and everything that everybody is told."""

import pytest

from broker.coordinator.group.classic_group import GroupState
from broker.coordinator.group.settings import Reason
from protocol.errors import ErrorCode
from tests.support.group_shard import GroupTable, Values


def state(groups: GroupTable) -> GroupState:
    return groups.shard.classic.groups["g"].state


def test_a_group_forms_shares_and_goes_on_without_one_who_leaves() -> None:
    groups = GroupTable()
    a = groups.join("A")
    assert groups.take() == ["A: MEMBER_ID_REQUIRED"]
    a = groups.join("A", a.member_id)
    b = groups.enter("B")
    assert groups.take() == []
    groups.advance(3000)
    assert groups.take() == [], "the delay begins anew: B came meanwhile"
    groups.advance(3000)
    assert groups.take() == [
        "A: generation 1 of range, led by A-1, of A-1 B-2",
        "B: generation 1 of range, led by A-1",
    ]
    groups.heartbeat("B", b.member_id, 1)
    groups.sync("B", b.member_id, 1)
    assert groups.take() == ["B: lives"]
    groups.sync("A", a.member_id, 1, {a.member_id: "0", b.member_id: "1"})
    assert groups.take() == ["A: assigned '0'", "B: assigned '1'"]
    assert state(groups) is GroupState.STABLE
    groups.leave("B", (b.member_id, None))
    assert groups.trace[0].startswith("B: [MemberResponse(")
    groups.take()
    groups.heartbeat("A", a.member_id, 1)
    groups.join("A", a.member_id)
    groups.sync("A", a.member_id, 2, {a.member_id: "0 1"})
    assert groups.take() == [
        "A: REBALANCE_IN_PROGRESS",
        "A: generation 2 of range, led by A-1, of A-1",
        "A: assigned '0 1'",
    ]
    assert groups.meters.rebalances == {Reason.MEMBER_JOINED: 1, Reason.MEMBER_LEFT: 1}


def test_the_last_to_leave_leaves_an_empty_group_that_is_written() -> None:
    groups = GroupTable()
    a, b = groups.two_members()
    groups.leave("both", (a, None), (b, None))
    assert state(groups) is GroupState.EMPTY
    again = groups.replayed().classic.groups["g"]
    assert (again.state, again.generation, again.members) == (GroupState.EMPTY, 2, {})


def test_a_silent_member_is_missed_after_its_session_and_another_leads() -> None:
    groups = GroupTable()
    _, b = groups.two_members()
    for _ in range(5):
        groups.advance(2500)
        groups.heartbeat("B", b, 1)
    assert groups.take() == ["B: lives"] * 3 + ["B: REBALANCE_IN_PROGRESS"] * 2
    groups.join("B", b)
    assert groups.take() == ["B: generation 2 of range, led by B-2, of B-2"]
    assert groups.meters.rebalances[Reason.SESSION_EXPIRED] == 1


def test_who_does_not_rejoin_in_time_is_left_out_and_one_who_joined_leads() -> None:
    groups = GroupTable()
    _, b = groups.two_members()
    c = groups.enter("C")
    for _ in range(12):
        groups.advance(5000)
        groups.heartbeat("B", b, 1)
    groups.take()
    assert c.generation == 2
    assert c.reply.leader == c.member_id
    assert groups.heartbeat("B", b, 1).reply is ErrorCode.UNKNOWN_MEMBER_ID


def test_who_never_asks_for_an_assignment_is_removed() -> None:
    groups = GroupTable()
    a, b = groups.enter("A"), groups.enter("B")
    groups.advance(6000)
    for _ in range(12):
        groups.sync("A", a.member_id, 1, {})
        groups.advance(5000)
        groups.heartbeat("A", a.member_id, 1)
        groups.heartbeat("B", b.member_id, 1)
    assert state(groups) is GroupState.PREPARING_REBALANCE
    assert list(groups.shard.classic.groups["g"].members) == [a.member_id]
    assert groups.meters.rebalances[Reason.SYNC_EXPIRED] == 1


def test_the_leader_that_comes_back_balances_anew_a_follower_unchanged_does_not() -> None:
    groups = GroupTable()
    a, b = groups.two_members()
    groups.join("B", b)
    assert groups.take() == ["B: generation 1 of range, led by A-1"]
    groups.join("B", b, topics=("t", "u"))
    groups.join("A", a)
    assert groups.take() == [
        "A: generation 2 of range, led by A-1, of A-1 B-2",
        "B: generation 2 of range, led by A-1",
    ]
    groups.join("A", a)
    assert groups.take() == ["A: generation 2 of range, led by A-1, of A-1 B-2"]
    groups.sync("B", b, 2)
    groups.sync("A", a, 2, {})
    groups.join("A", a)
    assert state(groups) is GroupState.PREPARING_REBALANCE
    assert groups.meters.rebalances[Reason.METADATA_CHANGED] == 1
    assert groups.meters.rebalances[Reason.LEADER_REJOINED] == 1


def test_a_new_member_ends_the_wait_for_assignments_of_those_there() -> None:
    groups = GroupTable()
    a, b = groups.enter("A"), groups.enter("B")
    groups.advance(6000)
    groups.sync("B", b.member_id, 1)
    groups.take()
    groups.enter("C")
    assert groups.take() == ["B: REBALANCE_IN_PROGRESS"]
    assert groups.sync("A", a.member_id, 1).reply is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_static_member_takes_its_place_again_without_a_rebalance() -> None:
    groups = GroupTable()
    a = groups.join("A", instance="one")
    b = groups.join("B", instance="two")
    groups.advance(6000)
    groups.sync("B", b.member_id, 1)
    groups.sync("A", a.member_id, 1, {a.member_id: "0", b.member_id: "1"})
    groups.take()
    again = groups.join("B", instance="two")
    assert groups.take() == ["B: generation 1 of range, led by one-1"]
    groups.sync("B", again.member_id, 1)
    assert groups.take() == ["B: assigned '1'"]
    assert groups.heartbeat("B", b.member_id, 1, "two").reply is ErrorCode.FENCED_INSTANCE_ID
    assert groups.heartbeat("B", b.member_id, 1).reply is ErrorCode.UNKNOWN_MEMBER_ID
    assert groups.commit(5, b.member_id, 1, instance="two").reply is ErrorCode.FENCED_INSTANCE_ID
    leader = groups.join("A", instance="one")
    assert leader.reply.skip_assignment
    assert [one.group_instance_id for one in leader.reply.members] == ["one", "two"]
    older = groups.join("A", instance="one", version=8)
    assert not older.reply.skip_assignment
    assert older.reply.members == []
    assert older.reply.leader == leader.member_id != older.member_id
    replayed = groups.replayed().classic.groups["g"]
    assert list(replayed.members) == [older.member_id, again.member_id]
    assert replayed.static_members == {"one": older.member_id, "two": again.member_id}


def test_a_static_member_that_does_not_rejoin_stays_until_its_session_ends() -> None:
    groups = GroupTable()
    a = groups.join("A", instance="one", rebalance_ms=8000)
    b = groups.join("B", instance="two", rebalance_ms=8000)
    groups.advance(6000)
    groups.sync("B", b.member_id, 1)
    groups.sync("A", a.member_id, 1, {})
    groups.join("A", a.member_id, instance="one", rebalance_ms=8000)
    groups.take()
    groups.advance(8000)
    assert groups.take() == ["A: generation 2 of range, led by one-1, of one-1 two-2"]


def test_a_static_member_that_is_replaced_while_it_waits_is_fenced() -> None:
    groups = GroupTable()
    groups.join("A", instance="one")
    groups.join("B", instance="one")
    assert groups.take() == ["A: FENCED_INSTANCE_ID"]
    groups.advance(6000)
    assert groups.take() == ["B: generation 1 of range, led by one-2, of one-2"]
    again = groups.join("C", instance="one")
    assert again.generation == 2
    assert groups.meters.rebalances[Reason.STATIC_MEMBER_REPLACED] == 1


def test_members_are_answered_one_by_one_when_they_leave() -> None:
    groups = GroupTable()
    a = groups.join("A", instance="one")
    groups.advance(6000)
    pending = groups.join("P").member_id
    leaving = groups.leave(
        "admin", ("", "one"), ("", "two"), ("nobody", None), (a.member_id, None), (pending, None)
    )
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert [one.error_code for one in leaving.reply] == [0, unknown, unknown, unknown, 0]
    assert groups.leave("x", ("y", None), group="other").reply is unknown


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": ["sticky"]}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": []}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "nobody", "group": "new"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "nobody", "instance": "x"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"protocol_type": "", "group": "new"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_who_does_not_fit_is_refused(fields: dict[str, object], code: ErrorCode) -> None:
    groups = GroupTable()
    groups.two_members()
    assert groups.join("C", **fields).reply is code  # type: ignore[arg-type]
    assert "new" not in groups.shard.classic.groups
    assert state(groups) is GroupState.STABLE


def test_sync_is_refused_for_the_wrong_generation_protocol_or_member() -> None:
    groups = GroupTable()
    a, _ = groups.two_members()
    assert groups.sync("A", a, 2).reply is ErrorCode.ILLEGAL_GENERATION
    assert groups.sync("A", a, 1, protocol="other").reply is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert groups.sync("A", "nobody", 1).reply is ErrorCode.UNKNOWN_MEMBER_ID
    assert groups.sync("A", a, 1, group="other").reply is ErrorCode.UNKNOWN_MEMBER_ID
    assert groups.heartbeat("A", a, 0).reply is ErrorCode.ILLEGAL_GENERATION
    assert groups.sync("A", a, 1).reply.assignment == b"0"


def test_a_full_group_takes_no_more_and_the_last_to_rejoin_are_left_out() -> None:
    values = Values()
    values.max_size = 2
    groups = GroupTable(values)
    a, b = groups.two_members()
    assert groups.join("C").reply is ErrorCode.GROUP_MAX_SIZE_REACHED
    values.max_size = 1
    groups.join("A", a)
    assert groups.join("B", b).reply is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_group_loaded_over_its_size_is_balanced_anew() -> None:
    values = Values()
    groups = GroupTable(values)
    groups.two_members()
    values.max_size = 1
    groups.restart()
    assert state(groups) is GroupState.PREPARING_REBALANCE
    assert groups.meters.rebalances[Reason.OVER_CAPACITY] == 1


def test_members_go_on_after_a_restart_and_the_silent_are_found() -> None:
    groups = GroupTable()
    a, b = groups.two_members()
    groups.restart()
    groups.heartbeat("A", a, 1)
    groups.commit(7, a, 1)
    assert groups.take()[0] == "A: lives"
    groups.advance(9000)
    groups.heartbeat("A", a, 1)
    groups.advance(1000)
    assert list(groups.shard.classic.groups["g"].members) == [a]
    assert groups.heartbeat("B", b, 1).reply is ErrorCode.UNKNOWN_MEMBER_ID


def test_who_waits_is_refused_when_leadership_is_lost() -> None:
    groups = GroupTable()
    groups.enter("A")
    groups.restart()
    assert groups.take() == ["A: NOT_COORDINATOR"]


def test_an_assignment_that_cannot_be_written_is_taken_back() -> None:
    groups = GroupTable()
    a, b = groups.enter("A"), groups.enter("B")
    groups.advance(6000)
    groups.sync("B", b.member_id, 1)
    groups.take()
    groups.refuse_appends = ErrorCode.COORDINATOR_NOT_AVAILABLE
    groups.sync("A", a.member_id, 1, {a.member_id: "0", b.member_id: "1"})
    assert sorted(groups.take()) == [
        "A: COORDINATOR_NOT_AVAILABLE",
        "B: COORDINATOR_NOT_AVAILABLE",
    ]
    assert state(groups) is GroupState.PREPARING_REBALANCE
    groups.join("A", a.member_id)
    groups.join("B", b.member_id)
    assert groups.take()[0] == "A: generation 2 of range, led by A-1, of A-1 B-2"


def test_a_group_that_cannot_be_written_does_not_begin() -> None:
    groups = GroupTable()
    groups.refuse_appends = ErrorCode.NOT_COORDINATOR
    groups.join("A", version=3)
    assert groups.take() == ["A: NOT_COORDINATOR"]
    assert groups.shard.classic.groups == {}
    groups.advance(10_000)


def test_a_replacement_that_cannot_be_written_leaves_the_old_member() -> None:
    groups = GroupTable()
    a = groups.join("A", instance="one")
    groups.advance(6000)
    groups.sync("A", a.member_id, 1, {a.member_id: "0"})
    groups.take()
    groups.refuse_appends = ErrorCode.NOT_COORDINATOR
    groups.join("A", instance="one")
    assert groups.take() == ["A: NOT_COORDINATOR"]
    assert groups.heartbeat("A", a.member_id, 1, "one").reply.error_code == 0
    groups.advance(10_000)
    assert groups.shard.classic.groups["g"].members == {}


def test_a_join_sent_again_takes_the_place_of_the_first() -> None:
    groups = GroupTable()
    a, b = groups.two_members()
    groups.join("A", a)
    groups.join("A", a)
    assert groups.take() == ["A: REBALANCE_IN_PROGRESS"]
    groups.join("B", b)
    assert len(groups.take()) == 2
    groups.sync("B", b, 2)
    groups.sync("B", b, 2)
    assert groups.take() == ["B: REBALANCE_IN_PROGRESS"]


def test_a_record_that_says_nothing_loses_one_group_alone(caplog: pytest.LogCaptureFixture) -> None:
    groups = GroupTable()
    groups.two_members()
    groups.log.append((groups.log[-1][0]._replace(value=b"\x00\x03"), None))
    with caplog.at_level("ERROR"):
        assert groups.replayed().classic.groups == {}
    assert "Group g is lost" in caplog.text
