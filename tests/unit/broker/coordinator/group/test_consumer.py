"""Consumer groups over time: sessions, revocations that take too long, restarts, other kinds."""

from protocol.errors import ErrorCode
from tests.support.consumer_groups import REBALANCE_MS, ConsumerTable, state_of

SESSION_MS = 45_000


def revoking() -> ConsumerTable:
    """A has to let go of t1, which B waits for."""
    groups = ConsumerTable(t=2)
    groups.come("A")
    groups.advance(1000)
    groups.come("B")
    groups.beat("A")
    groups.written()
    return groups


def keep_alive(groups: ConsumerTable, milliseconds: int, *member_ids: str) -> None:
    for _ in range(milliseconds // 5000):
        groups.advance(5000)
        for member_id in member_ids:
            groups.beat(member_id)


def test_a_silent_member_is_removed_after_its_session() -> None:
    groups = ConsumerTable(t=1)
    groups.come("A")
    groups.advance(20_000)
    groups.beat("A")
    groups.advance(SESSION_MS - 1)
    assert list(groups.group().members) == ["A"]
    groups.advance(1)
    assert groups.group().members == {}
    assert groups.group().epoch == 3
    assert groups.beat("A") == "UNKNOWN_MEMBER_ID"


def test_the_groups_own_session_counts_from_the_next_heartbeat_and_within_bounds() -> None:
    groups = ConsumerTable(t=1)
    groups.come("A")
    groups.values.overrides["g"] = {"consumer.session.timeout.ms": "1000000"}
    groups.beat("A")
    groups.advance(59_999)
    assert list(groups.group().members) == ["A"]
    groups.advance(1)
    assert groups.group().members == {}


def test_refused_heartbeats_and_commits_do_not_extend_a_session() -> None:
    groups = ConsumerTable(t=1)
    groups.come("A")
    groups.advance(SESSION_MS - 1)
    groups.beat("A", epoch=9)
    topic_id = groups.metadata.topics()["t"].topic_id
    groups.commit(1, "A", 2, topic_id=topic_id)
    groups.advance(1)
    assert groups.group().members == {}


def test_who_does_not_let_go_in_time_is_removed() -> None:
    groups = revoking()
    keep_alive(groups, REBALANCE_MS - 5000, "A", "B")
    assert "A" in groups.group().members
    groups.advance(5000)
    assert groups.group().members.keys() == {"B"}
    assert groups.beat("B") == "4: t0 t1"
    assert groups.beat("A") == "UNKNOWN_MEMBER_ID"


def test_who_lets_go_is_not_removed_for_it() -> None:
    groups = revoking()
    groups.beat("A", ["t0"])
    keep_alive(groups, REBALANCE_MS + 5000, "A", "B")
    assert groups.group().members.keys() == {"A", "B"}


def test_a_removal_that_is_refused_is_tried_again() -> None:
    groups = ConsumerTable(t=1)
    groups.come("A")
    groups.refuse_appends = ErrorCode.COORDINATOR_NOT_AVAILABLE
    groups.advance(SESSION_MS)
    assert list(groups.group().members) == ["A"]
    groups.advance(500)
    assert groups.group().members == {}


def test_a_static_member_away_has_what_is_left_of_its_session() -> None:
    groups = ConsumerTable(t=1)
    groups.come("A", instance_id="i")
    groups.advance(10_000)
    groups.leave_for_a_while("A", "i")
    groups.advance(SESSION_MS - 10_001)
    assert list(groups.group().members) == ["A"]
    groups.advance(1)
    assert groups.group().members == {}


def test_a_predecessors_session_does_not_end_its_successor() -> None:
    groups = ConsumerTable(t=1)
    groups.come("A", instance_id="i")
    groups.leave_for_a_while("A", "i")
    groups.advance(SESSION_MS - 1)
    groups.come("B", instance_id="i")
    groups.advance(1000)
    assert list(groups.group().members) == ["B"]


def test_a_restart_changes_nothing_but_sessions() -> None:
    groups = revoking()
    lived = state_of(groups.group())
    groups.restart()
    assert state_of(groups.group()) == lived
    assert groups.beat("A") == "2"
    assert groups.beat("A", ["t0"]) == "3"
    assert groups.beat("B") == "3: t1"
    groups.restart()
    groups.advance(SESSION_MS)
    assert groups.group().members == {}


def test_after_a_restart_there_is_new_time_to_let_go() -> None:
    groups = revoking()
    groups.restart()
    keep_alive(groups, REBALANCE_MS, "A", "B")
    assert groups.group().members.keys() == {"B"}


def test_a_topic_that_changed_while_the_broker_was_down_is_seen() -> None:
    groups = ConsumerTable(t=1)
    groups.come("A")
    groups.create_topic("t", 2)
    groups.restart()
    groups.advance(1000)
    assert groups.beat("A") == "3: t0 t1"


def test_a_group_is_deleted_when_nobody_is_in_it() -> None:
    groups = ConsumerTable(t=1)
    groups.come("A")
    assert groups.delete("g") is ErrorCode.NON_EMPTY_GROUP
    groups.leave_group("A")
    groups.written()
    groups.delete("g")
    assert groups.written() == ["6 gone", "4 gone", "3 gone"]
    assert groups.shard.consumer.groups == {}
    assert groups.delete("g") is ErrorCode.GROUP_ID_NOT_FOUND


def test_an_empty_group_that_lost_its_offsets_is_forgotten() -> None:
    groups = ConsumerTable(t=1)
    groups.come("A")
    topic_id = groups.metadata.topics()["t"].topic_id
    groups.commit(5, "A", 2, topic_id=topic_id)
    keep_alive(groups, 1_300_000, "A")
    assert groups.committed() == 5
    groups.leave_group("A")
    groups.advance(1_300_000)
    assert groups.committed() is None
    assert groups.shard.consumer.groups == {}


# Classic groups.


def test_a_classic_group_with_members_is_not_turned_into_a_consumer_group() -> None:
    groups = ConsumerTable(t=1)
    groups.two_members()
    assert groups.come("C") == "GROUP_ID_NOT_FOUND"
    assert groups.error("C") == (
        "Cannot upgrade classic group g to consumer group because online upgrade is disabled."
    )
    assert groups.beat("C", epoch=2) == "GROUP_ID_NOT_FOUND"
    assert groups.error("C") == "Group g is not a consumer group."


def test_an_empty_classic_group_becomes_a_consumer_group_and_keeps_its_offsets() -> None:
    groups = ConsumerTable(t=1)
    groups.commit(7)
    assert groups.come("A") == "2: t0"
    assert groups.written()[1] == "2 gone"
    assert groups.committed() == 7
    a = groups.enter("Z", group="h")
    groups.advance(3000)
    groups.leave("Z", (a.member_id, None), group="h")
    assert groups.come("H", group="h") == "2: t0"
    assert "h" not in groups.shard.classic.groups


def test_an_empty_consumer_group_becomes_a_classic_group() -> None:
    groups = ConsumerTable(t=1)
    groups.come("A")
    assert groups.join_classic("Z").reply.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    groups.leave_group("A")
    assert groups.join_classic("Z", "someone").reply.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    groups.written()
    first = groups.join_classic("Z")
    assert first.reply.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert groups.written() == ["6 gone", "4 gone", "3 gone", "2"]
    assert groups.shard.consumer.groups == {}


def test_members_that_speak_the_other_protocol_are_unknown() -> None:
    groups = ConsumerTable(t=1)
    groups.come("A")
    groups.heartbeat("A", "A", 2)
    groups.sync("A", "A", 2)
    assert groups.take() == ["A: UNKNOWN_MEMBER_ID", "A: UNKNOWN_MEMBER_ID"]


def test_administrators_remove_members_all_in_one_epoch() -> None:
    groups = ConsumerTable(t=1)
    groups.come("A")
    groups.come("B", instance_id="i")
    groups.come("C", instance_id="j")
    groups.written()
    left = groups.leave("admin", ("A", None), ("X", None), ("", "i"), ("", "k"), ("A", "j"))
    assert [(one.member_id, one.error_code) for one in left.reply] == [
        ("A", ErrorCode.NONE),
        ("X", ErrorCode.UNKNOWN_MEMBER_ID),
        ("B", ErrorCode.NONE),
        ("", ErrorCode.UNKNOWN_MEMBER_ID),
        ("A", ErrorCode.FENCED_INSTANCE_ID),
    ]
    assert groups.group().members.keys() == {"C"}
    assert [one for one in groups.written() if one.startswith("3")] == ["3 epoch 5"]
