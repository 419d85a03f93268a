"""Refusals in Kafka's words; each text was seen from a 4.3.1 broker."""

from collections.abc import Mapping
from random import Random

import pytest

from cluster.controller import topics
from cluster.controller.topics import Growth, NewTopic, TopicNames, TopicPlan, TopicPolicy
from config.topic_config import validate_topic_overrides
from protocol.errors import ErrorCode, KafkaError

POLICY = TopicPolicy(lambda: 3, lambda: 1, validate_topic_overrides, lambda: b"i" * 16, Random(0))
ASSIGNMENT = "The manual partition assignment includes"


def plan(
    topic: NewTopic, existing: tuple[str, ...] = (), live: tuple[int, ...] = (1,)
) -> TopicPlan:
    names = TopicNames()
    for name in existing:
        names.add(name)
    return topics.plan_topic(topic, existing, names, live, POLICY)


def refusal(
    topic: NewTopic, existing: tuple[str, ...] = (), live: tuple[int, ...] = (1,)
) -> tuple[ErrorCode, str | None]:
    with pytest.raises(KafkaError) as refused:
        plan(topic, existing, live)
    return refused.value.code, refused.value.message


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("x" * 250, f"the length of '{'x' * 250}' is longer than the max allowed length 249"),
        (
            "a b",
            "'a b' contains one or more characters other than ASCII alphanumerics,"
            " '.', '_' and '-'",
        ),
    ],
)
def test_a_name_is_refused_with_the_reason(name: str, reason: str) -> None:
    expected = (ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}")
    assert refusal(NewTopic(name)) == expected


def test_names_up_to_249_of_the_legal_characters_are_taken() -> None:
    assert topics.name_error("x" * 249) is None
    assert topics.name_error("aZ0._-") is None
    assert topics.name_error("ä") is not None


def test_a_name_that_metrics_cannot_tell_from_an_existing_one_is_refused() -> None:
    assert refusal(NewTopic("a_b"), ("a.b",)) == (
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        "Topic 'a_b' collides with existing topic: a.b",
    )
    assert plan(NewTopic("ab"), ("a.b",)).name == "ab"


def test_existence_is_told_before_a_collision() -> None:
    assert refusal(NewTopic("a.b"), ("a.b", "a_b")) == (
        ErrorCode.TOPIC_ALREADY_EXISTS,
        "Topic 'a.b' already exists.",
    )


def test_a_removed_name_collides_no_more() -> None:
    names = TopicNames()
    names.add("a.b")
    assert names.colliding("a_b") == "a.b"
    names.remove("a.b")
    names.remove("never.there")
    assert names.colliding("a_b") is None


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        (
            [("retention.ms", None)],
            "Null value not supported for topic configs: retention.ms",
        ),
        ([("foo", "1")], "Unknown topic config name: foo"),
        (
            [("retention.ms", "x")],
            "Invalid value x for configuration retention.ms: Not a number of type LONG",
        ),
        (
            [("retention.ms", "-5")],
            "Invalid value -5 for configuration retention.ms: Value must be at least -1",
        ),
        (
            [("min.compaction.lag.ms", "100"), ("max.compaction.lag.ms", "10")],
            "conflict topic config setting min.compaction.lag.ms (100) >"
            " max.compaction.lag.ms (10)",
        ),
    ],
)
def test_configs_are_refused_in_the_words_of_config(
    configs: list[tuple[str, str | None]], message: str
) -> None:
    assert refusal(NewTopic("t", configs=configs)) == (ErrorCode.INVALID_CONFIG, message)


def test_of_a_config_given_twice_the_last_counts() -> None:
    made = plan(NewTopic("t", configs=[("retention.ms", None), ("retention.ms", "60000")]))
    assert made.configs == {"retention.ms": "60000"}


@pytest.mark.parametrize(
    ("topic", "code", "message"),
    [
        (
            NewTopic("t", replication_factor=0, num_partitions=0),
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (
            NewTopic("t", replication_factor=-2),
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (
            NewTopic("t", 0),
            ErrorCode.INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.",
        ),
        (
            NewTopic("t", replication_factor=2),
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Unable to replicate the partition 2 time(s): The target replication factor of 2"
            " cannot be reached because only 1 broker(s) are registered or some brokers have all"
            " their log directories cordoned.",
        ),
        (
            NewTopic("t", replication_factor=1, num_partitions=1, assignments=[(0, [1])]),
            ErrorCode.INVALID_REQUEST,
            "A manual partition assignment was specified, but replication factor was not set to"
            " -1.",
        ),
        (
            NewTopic("t", num_partitions=1, assignments=[(0, [1])]),
            ErrorCode.INVALID_REQUEST,
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        ),
        (
            NewTopic("t", assignments=[(0, [1]), (0, [1])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Found multiple manual partition assignments for partition 0",
        ),
        (
            NewTopic("t", assignments=[(0, [1]), (2, [1])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "partitions should be a consecutive 0-based integer sequence",
        ),
        (
            NewTopic("t", assignments=[(0, [])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{ASSIGNMENT} an empty replica list.",
        ),
        (
            NewTopic("t", assignments=[(0, [9])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{ASSIGNMENT} broker 9, but no such broker is registered.",
        ),
        (
            NewTopic("t", assignments=[(0, [1, 1])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{ASSIGNMENT} the broker 1 more than once.",
        ),
    ],
)
def test_counts_and_assignments_are_refused_in_kafkas_words(
    topic: NewTopic, code: ErrorCode, message: str
) -> None:
    assert refusal(topic) == (code, message)


def test_all_partitions_of_an_assignment_have_as_many_replicas() -> None:
    topic = NewTopic("t", assignments=[(0, [1]), (1, [1, 2])])
    assert refusal(topic, live=(1, 2)) == (
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        f"{ASSIGNMENT} a partition with 2 replica(s), but this is not consistent with previous"
        " partitions, which have 1 replica(s).",
    )


def test_an_assignment_is_taken_in_any_order() -> None:
    made = plan(NewTopic("t", assignments=[(1, [2, 1]), (0, [1, 2])]), live=(1, 2))
    assert list(made.replicas.items()) == [(0, (1, 2)), (1, (2, 1))]


def test_counts_left_open_are_the_brokers() -> None:
    made = plan(NewTopic("t"))
    assert made.replicas == {0: (1,), 1: (1,), 2: (1,)}
    result = topics.created(made)
    assert (result.num_partitions, result.replication_factor) == (3, 1)
    assert result.topic_id == b"i" * 16


def test_duplicates_and_the_name_of_kafkas_own_log_are_refused_once_each() -> None:
    wanted, refused = topics.without_duplicates(
        [NewTopic("a"), NewTopic("__cluster_metadata"), NewTopic("b"), NewTopic("a")]
    )
    assert [topic.name for topic in wanted] == ["b"]
    assert [(one.name, one.error, one.message) for one in refused] == [
        ("a", ErrorCode.INVALID_REQUEST, "Duplicate topic name."),
        (
            "__cluster_metadata",
            ErrorCode.INVALID_REQUEST,
            "Creation of internal topic __cluster_metadata is prohibited.",
        ),
    ]


def test_a_request_for_more_than_ten_thousand_partitions_is_refused_whole() -> None:
    topics.check_partition_sum([NewTopic("a", 9_997), NewTopic("b"), NewTopic("c", -7)], 3)
    with pytest.raises(KafkaError) as refused:
        topics.check_partition_sum(
            [NewTopic("a", 9_997), NewTopic("b"), NewTopic("c", assignments=[(0, [1])])], 3
        )
    assert (refused.value.code, refused.value.message) == (
        ErrorCode.POLICY_VIOLATION,
        "Excessively large number of partitions per request.",
    )


EXISTING: Mapping[int, tuple[int, ...]] = {0: (1,), 1: (1,)}


@pytest.mark.parametrize(
    ("growth", "code", "message"),
    [
        (Growth("t", 2), ErrorCode.INVALID_PARTITIONS, "Topic already has 2 partition(s)."),
        (
            Growth("t", 1),
            ErrorCode.INVALID_PARTITIONS,
            "The topic t currently has 2 partition(s); 1 would not be an increase.",
        ),
        (
            Growth("t", -1),
            ErrorCode.INVALID_PARTITIONS,
            "The topic t currently has 2 partition(s); -1 would not be an increase.",
        ),
        (
            Growth("t", 4, [[1]]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
        ),
        (
            Growth("t", 3, []),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Attempted to add 1 additional partition(s), but only 0 assignment(s) were specified.",
        ),
        (
            Growth("t", 3, [[9]]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{ASSIGNMENT} broker 9, but no such broker is registered.",
        ),
        (
            Growth("t", 2**31 - 1),
            ErrorCode.POLICY_VIOLATION,
            "Excessively large number of partitions per request.",
        ),
    ],
)
def test_growth_is_refused_in_kafkas_words(growth: Growth, code: ErrorCode, message: str) -> None:
    with pytest.raises(KafkaError) as refused:
        topics.plan_growth(growth, dict(EXISTING), [1])
    assert (refused.value.code, refused.value.message) == (code, message)


def test_growth_names_only_what_is_added() -> None:
    assert topics.plan_growth(Growth("t", 4), dict(EXISTING), [1]) == {2: (1,), 3: (1,)}
    assert topics.plan_growth(Growth("t", 3, [[2]]), dict(EXISTING), [1, 2]) == {2: (2,)}


def test_growth_needs_as_many_brokers_as_the_topic_has_replicas() -> None:
    with pytest.raises(KafkaError) as refused:
        topics.plan_growth(Growth("t", 2), {0: (1, 2)}, [1])
    assert refused.value.code is ErrorCode.INVALID_REPLICATION_FACTOR
