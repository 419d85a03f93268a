"""Who may heartbeat and commit, and with which words others are refused."""

from typing import Any

import pytest

from broker.coordinator.group.consumer_members import check_request
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from tests.support.consumer_groups import ConsumerTable
from tests.support.group_shard import Values

JOINING: dict[str, Any] = {
    "group_id": "g",
    "member_id": "m",
    "member_epoch": 0,
    "rebalance_timeout_ms": 1,
    "subscribed_topic_names": [],
    "topic_partitions": [],
}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"member_id": " "}, "MemberId can't be empty."),
        ({"member_id": "", "group_id": ""}, "MemberId can't be empty."),
        ({"group_id": " "}, "GroupId can't be empty."),
        ({"instance_id": ""}, "InstanceId can't be empty."),
        ({"rack_id": " "}, "RackId can't be empty."),
        (
            {"rebalance_timeout_ms": -1, "topic_partitions": None},
            "RebalanceTimeoutMs must be provided in first request.",
        ),
        ({"topic_partitions": None}, "TopicPartitions must be empty when (re-)joining."),
        (
            {"topic_partitions": [TopicPartitions(partitions=[1])]},
            "TopicPartitions must be empty when (re-)joining.",
        ),
        (
            {"subscribed_topic_names": None},
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when "
            "(re-)joining.",
        ),
        ({"member_epoch": -2}, "InstanceId can't be null."),
        ({"member_epoch": -3}, "MemberEpoch is invalid."),
    ],
)
def test_what_makes_no_sense_is_refused_with_kafkas_words(
    fields: dict[str, Any], text: str
) -> None:
    with pytest.raises(KafkaError) as refused:
        check_request(ConsumerGroupHeartbeatRequest(**{**JOINING, **fields}), 1, ("uniform",))
    assert (refused.value.code, refused.value.message) == (ErrorCode.INVALID_REQUEST, text)


def test_version_0_may_join_without_an_id_and_is_given_one() -> None:
    request = ConsumerGroupHeartbeatRequest(**{**JOINING, "member_id": ""})
    check_request(request, 0, ("uniform",))
    groups = ConsumerTable(t=1)
    assert groups.come("", version=0) == "2: t0"
    assert list(groups.group().members) == ["member-1"]


def test_an_assignor_nobody_has_is_refused() -> None:
    request = ConsumerGroupHeartbeatRequest(**{**JOINING, "server_assignor": "foo"})
    with pytest.raises(KafkaError) as refused:
        check_request(request, 1, ("uniform", "range"))
    assert refused.value.code is ErrorCode.UNSUPPORTED_ASSIGNOR
    assert refused.value.message == (
        "ServerAssignor foo is not supported. Supported assignors: uniform, range."
    )


def test_members_and_groups_that_do_not_exist() -> None:
    groups = ConsumerTable(t=1)
    assert groups.beat("A", epoch=1) == "GROUP_ID_NOT_FOUND"
    assert groups.error("A") == "Consumer group g not found."
    assert groups.leave_group("A") == "GROUP_ID_NOT_FOUND"
    assert groups.error("A") == "Group g not found."
    groups.come("A")
    assert groups.beat("B", epoch=1) == "UNKNOWN_MEMBER_ID"
    assert groups.error("B") == "Member B is not a member of group g."


def test_a_full_group_takes_nobody_in() -> None:
    values = Values()
    values.max_size = 1
    groups = ConsumerTable(values, t=1)
    groups.come("A", instance_id="i")
    assert groups.come("B") == "GROUP_MAX_SIZE_REACHED"
    assert groups.error("B") == (
        "The consumer group has reached its maximum capacity of 1 members."
    )
    assert groups.beat("A") == "2"
    groups.leave_for_a_while("A", "i")
    assert groups.come("B", instance_id="i") == "GROUP_MAX_SIZE_REACHED"


# Static members.


def test_an_instance_that_lives_is_not_replaced_not_even_by_itself() -> None:
    groups = ConsumerTable(t=2)
    groups.come("A", instance_id="i")
    assert groups.come("A", instance_id="i") == "UNRELEASED_INSTANCE_ID"
    assert groups.come("B", instance_id="i") == "UNRELEASED_INSTANCE_ID"
    assert groups.come("A") == "2: t0 t1"
    assert groups.beat("A", instance_id="i") == "2"
    assert groups.beat("B", epoch=2, instance_id="i") == "FENCED_INSTANCE_ID"
    assert groups.beat("B", epoch=2, instance_id="j") == "UNKNOWN_MEMBER_ID"
    assert groups.error("B") == "Instance id j is unknown."
    assert groups.leave_for_a_while("B", "i") == "FENCED_INSTANCE_ID"


@pytest.mark.parametrize("successor", ["A2", "A"])
def test_a_static_member_comes_back_to_what_it_had(successor: str) -> None:
    groups = ConsumerTable(t=2)
    groups.come("A", instance_id="i")
    groups.advance(1000)
    assert groups.leave_for_a_while("A", "i") == "-2"
    assert groups.group().state.value == "Reconciling"
    groups.written()
    assert groups.come(successor, instance_id="i") == "2: t0 t1"
    assert groups.written() == [
        "8 A gone",
        "7 A gone",
        "5 A gone",
        f"5 {successor}",
        f"7 {successor}",
        f"8 {successor} member_epoch 0 previous_member_epoch 0 state 0",
        f"8 {successor} member_epoch 2 previous_member_epoch 0 state 0",
    ]
    assert list(groups.group().members) == [successor]
    assert groups.group().epoch == 2


def test_a_static_member_that_comes_back_wanting_more_gets_it() -> None:
    groups = ConsumerTable(t=2, u=1)
    groups.come("A", instance_id="i")
    groups.leave_for_a_while("A", "i")
    groups.advance(1000)
    assert groups.come("A2", ["t", "u"], instance_id="i") == "3: t0 t1 u0"


def test_a_static_member_may_leave_for_good() -> None:
    groups = ConsumerTable(t=2)
    groups.come("A", instance_id="i")
    assert groups.leave_group("A", instance_id="i") == "-1"
    assert groups.group().static_members == {}


# Commits.


def test_a_commit_needs_the_epoch_or_a_partition_held_since_then() -> None:
    groups = ConsumerTable(t=2)
    groups.come("A")
    groups.advance(1000)
    groups.come("B")
    groups.beat("A")
    groups.beat("A", ["t0"])
    topic_id = groups.metadata.topics()["t"].topic_id

    def commit(member_id: str, epoch: int, partition: int = 0, version: int = 9) -> object:
        return groups.commit(
            1, member_id, epoch, partition=partition, version=version, topic_id=topic_id
        ).reply

    assert isinstance(commit("A", 3), list)
    assert isinstance(commit("A", 3, 1), list)
    assert isinstance(commit("A", 2), list)
    assert commit("A", 2, 1) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit("A", 1) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit("A", 4) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit("A", -1) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit("C", 3) is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit("", -1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit("A", 3, version=8) is ErrorCode.UNSUPPORTED_VERSION
    groups.leave_group("A")
    groups.leave_group("B")
    assert isinstance(commit("", -1), list)


def test_what_is_still_to_be_let_go_of_may_be_committed() -> None:
    groups = ConsumerTable(t=2)
    groups.come("A")
    groups.advance(1000)
    groups.come("B")
    groups.beat("A")
    topic_id = groups.metadata.topics()["t"].topic_id
    reply = groups.commit(1, "A", 2, partition=1, topic_id=topic_id).reply
    assert isinstance(reply, list)


def test_the_successor_of_a_static_member_may_commit_from_any_epoch() -> None:
    groups = ConsumerTable(t=1)
    groups.come("A", instance_id="i")
    groups.leave_for_a_while("A", "i")
    groups.come("B", instance_id="i")
    topic_id = groups.metadata.topics()["t"].topic_id
    assert isinstance(groups.commit(1, "B", 1, topic_id=topic_id).reply, list)


def test_offsets_are_told_to_members_that_know_their_epoch() -> None:
    groups = ConsumerTable(t=1)
    groups.come("A")
    assert groups.fetch() == []
    assert groups.fetch("A", 2) == []
    assert groups.fetch("A", 1) is ErrorCode.STALE_MEMBER_EPOCH
    assert groups.fetch("", -1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert groups.fetch(None, 2) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert groups.fetch("A", 2, group="absent") == []
