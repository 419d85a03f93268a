"""Transcripts: heartbeats of members, what they are told, and what is written."""

import pytest

from protocol.errors import ErrorCode
from tests.support.consumer_groups import ConsumerTable
from tests.support.group_shard import Values


def pair() -> ConsumerTable:
    """A and B share t, both settled."""
    groups = ConsumerTable(t=4)
    groups.come("A")
    groups.advance(1000)
    groups.come("B")
    groups.beat("A")
    groups.beat("A", ["t0", "t1"])
    groups.beat("B")
    groups.beat("B")
    groups.written()
    return groups


def test_the_first_member_gets_everything_at_once_and_epoch_2() -> None:
    groups = ConsumerTable(t=4)
    assert groups.come("A") == "2: t0 t1 t2 t3"
    assert groups.written() == [
        "5 A",
        "3 epoch 2",
        "7 A",
        "6 assignment_epoch 2",
        "8 A member_epoch 2 previous_member_epoch 0 state 0",
    ]
    assert groups.beat("A") == "2"
    assert groups.written() == []


def test_a_partition_moves_only_when_its_owner_has_let_go() -> None:
    groups = ConsumerTable(t=4)
    groups.come("A")
    groups.advance(1000)
    assert groups.come("B") == "3:"
    assert groups.beat("A") == "2: t0 t1"
    assert groups.beat("B") == "3"
    assert groups.beat("A") == "2"
    assert groups.beat("A", ["t0", "t1", "t2"]) == "2"
    assert groups.beat("A", ["t0", "t1"]) == "3"
    assert groups.beat("B") == "3: t2 t3"
    assert groups.beat("B", ["t2", "t3"]) == "3"
    assert groups.group().state.value == "Stable"


def test_the_records_of_a_partition_that_moves() -> None:
    groups = ConsumerTable(t=2)
    groups.come("A")
    groups.advance(1000)
    groups.written()
    groups.come("B")
    assert groups.written() == [
        "5 B",
        "3 epoch 3",
        "7 A",
        "7 B",
        "6 assignment_epoch 3",
        "8 B member_epoch 3 previous_member_epoch 0 state 2",
    ]
    groups.beat("B")
    assert groups.written() == ["8 B member_epoch 3 previous_member_epoch 3 state 2"]
    groups.beat("B")
    assert groups.written() == []
    groups.beat("A")
    assert groups.written() == ["8 A member_epoch 2 previous_member_epoch 2 state 1"]
    groups.beat("A", ["t0"])
    assert groups.written() == ["8 A member_epoch 3 previous_member_epoch 2 state 0"]
    groups.beat("B")
    assert groups.written() == ["8 B member_epoch 3 previous_member_epoch 3 state 0"]


def test_a_second_member_within_the_interval_waits_for_the_next_target() -> None:
    groups = ConsumerTable(t=2)
    groups.come("A")
    groups.advance(500)
    assert groups.come("B") == "2:"
    assert groups.group().state.value == "Assigning"
    groups.advance(499)
    assert groups.beat("B") == "2"
    groups.advance(1)
    assert groups.beat("B") == "3"
    assert groups.beat("A") == "2: t0"


def test_a_clock_set_back_does_not_keep_the_target_old() -> None:
    groups = ConsumerTable(t=2)
    groups.come("A")
    groups.now_ms -= 3_600_000
    assert groups.come("B") == "3:"


def test_an_interval_of_nothing_assigns_at_once() -> None:
    values = Values()
    values.assignment_interval_ms = 0
    groups = ConsumerTable(values, t=2)
    groups.come("A")
    assert groups.come("B") == "3:"


def test_the_interval_of_a_group_goes_before_the_brokers() -> None:
    groups = ConsumerTable(t=2)
    groups.values.overrides["g"] = {"consumer.assignment.interval.ms": "0"}
    groups.come("A")
    assert groups.come("B") == "3:"


def test_a_member_that_leaves_frees_what_it_had() -> None:
    groups = pair()
    assert groups.leave_group("B") == "-1"
    assert groups.replies["B"].member_id == "B"
    assert groups.written() == ["8 B gone", "7 B gone", "5 B gone", "3 epoch 4"]
    groups.advance(1000)
    assert groups.beat("A") == "4: t0 t1 t2 t3"
    assert groups.leave_group("B") == "UNKNOWN_MEMBER_ID"
    assert groups.error("B") == "Member B is not a member of group g."


def test_a_lost_answer_does_not_fence_who_proves_what_it_has() -> None:
    groups = pair()
    assert groups.beat("B", ["t2", "t3"], epoch=2) == "FENCED_MEMBER_EPOCH"
    groups = ConsumerTable(t=2)
    groups.come("A")
    groups.advance(1000)
    groups.come("B")
    groups.beat("A")
    groups.beat("A", ["t0"])
    assert groups.beat("A", epoch=2) == "FENCED_MEMBER_EPOCH"
    assert groups.beat("A", ["t0", "t1"], epoch=2) == "FENCED_MEMBER_EPOCH"
    assert groups.beat("A", [], epoch=2) == "3"
    assert groups.beat("A", ["t0"], epoch=2) == "3"
    assert groups.beat("A", ["t0"], epoch=4) == "FENCED_MEMBER_EPOCH"
    assert groups.error("A") == (
        "The consumer group member has a greater member epoch (4) than the one known by the group "
        "coordinator (3). The member must abandon all its partitions and rejoin."
    )


def test_a_full_heartbeat_is_told_everything() -> None:
    groups = pair()
    told = groups.beat("A", ["t0", "t1"], rebalance_timeout_ms=1, subscribed_topic_names=["t", "t"])
    assert told == "3: t0 t1"


def test_joining_again_changes_nothing_and_tells_everything() -> None:
    groups = pair()
    assert groups.come("A") == "3: t0 t1"
    assert groups.come("A") == "3: t0 t1"
    assert groups.written() == []


def test_joining_again_lets_go_of_what_was_to_be_let_go_of() -> None:
    groups = ConsumerTable(t=2)
    groups.come("A")
    groups.advance(1000)
    groups.come("B")
    groups.beat("A")
    assert groups.come("A") == "3: t0"


def test_a_topic_not_wanted_any_more_is_let_go_of_before_there_is_a_target() -> None:
    groups = ConsumerTable(t=1, u=1)
    assert groups.come("A", ["t", "u"]) == "2: t0 u0"
    assert groups.beat("A", subscribed_topic_names=["t"]) == "2: t0"
    assert groups.group().epoch == 3
    groups.advance(1000)
    assert groups.beat("A", ["t0"]) == "3"


def test_unknown_topics_are_waited_for_and_found_by_the_next_heartbeat() -> None:
    groups = ConsumerTable()
    assert groups.come("A") == "2:"
    groups.advance(1000)
    groups.create_topic("t", 1)
    assert groups.group().epoch == 2
    assert groups.beat("A") == "3: t0"
    groups.create_topic("t", 2)
    groups.create_topic("elsewhere", 2)
    groups.advance(1000)
    assert groups.beat("A") == "4: t0 t1"


def test_a_topic_made_anew_is_another_topic() -> None:
    groups = ConsumerTable(t=1)
    groups.come("A")
    groups.delete_topic("t")
    groups.create_topic("t", 1)
    groups.advance(1000)
    assert groups.beat("A") == "2:"
    assert groups.beat("A", []) == "3: t0"


def test_what_was_refused_is_done_by_the_next_heartbeat() -> None:
    groups = ConsumerTable(t=1)
    groups.refuse_appends = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert groups.come("A") == "COORDINATOR_NOT_AVAILABLE"
    assert groups.shard.consumer.groups == {}
    assert groups.come("A") == "2: t0"
    groups.create_topic("t", 2)
    groups.advance(1000)
    groups.refuse_appends = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert groups.beat("A") == "COORDINATOR_NOT_AVAILABLE"
    assert groups.beat("A") == "3: t0 t1"


@pytest.mark.parametrize("field", ["rack_id", "server_assignor"])
def test_racks_and_votes_alone_bump_nothing(field: str) -> None:
    groups = pair()
    assert groups.beat("A", **{field: "range"}) == "3"
    assert groups.written() == ["5 A"]


def test_a_group_that_is_left_empty_can_be_joined_again() -> None:
    groups = ConsumerTable(t=1)
    groups.come("A")
    groups.leave_group("A")
    assert groups.group().state.value == "Empty"
    groups.advance(1000)
    assert groups.come("A") == "4: t0"


def test_what_an_older_broker_noted_of_topics_is_forgotten_with_the_next_epoch() -> None:
    groups = pair()
    groups.group().has_partition_metadata = True
    groups.leave_group("B")
    assert groups.written()[-2:] == ["3 epoch 4", "4 gone"]
    assert not groups.group().has_partition_metadata
