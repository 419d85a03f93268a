import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.handlers.describe_topic_partitions import handle_describe_topic_partitions
from cluster.controller.messages import Endpoint, LiveBroker, MetadataUpdate, PartitionMetadata
from cluster.metadata_cache import MetadataCache
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from protocol.model import ZERO_TOPIC_ID, TopicPartition
from tests.support.contexts import context

Page = list[tuple[str | None, list[int]]]


def cluster(**partition_counts: int) -> MetadataCache:
    metadata = MetadataCache("c")
    partitions = [
        PartitionMetadata(TopicPartition(name, n), name.encode() * 16, 1, 0, (1,), 0, (1,))
        for name, count in partition_counts.items()
        for n in range(count)
    ]
    broker = LiveBroker(1, {"PLAINTEXT": Endpoint("h", 1)})
    metadata.apply(MetadataUpdate(1, [broker], partitions))
    return metadata


def describe(
    metadata: MetadataCache,
    *names: str,
    limit: int = 2000,
    cursor: tuple[str, int] | None = None,
    broker_limit: int = 2000,
) -> DescribeTopicPartitionsResponse:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1]),
    )
    return handle_describe_topic_partitions(
        context(0), request, metadata=metadata, partition_limit=lambda: broker_limit
    )


def page(response: DescribeTopicPartitionsResponse) -> Page:
    return [
        (topic.name, [one.partition_index for one in topic.partitions]) for topic in response.topics
    ]


def next_of(response: DescribeTopicPartitionsResponse) -> tuple[str, int] | None:
    cursor = response.next_cursor
    return None if cursor is None else (cursor.topic_name, cursor.partition_index)


def test_topics_come_sorted_and_once() -> None:
    response = describe(cluster(b=1, a=2), "b", "a", "b")
    assert page(response) == [("a", [0, 1]), ("b", [0])]
    assert next_of(response) is None


def test_no_topics_named_is_all() -> None:
    assert page(describe(cluster(b=1, a=2))) == [("a", [0, 1]), ("b", [0])]


def test_a_partition_is_told_in_full() -> None:
    (topic,) = describe(cluster(a=1), "a").topics
    (one,) = topic.partitions
    assert (topic.topic_id, topic.topic_authorized_operations) == (b"a" * 16, 3576)
    assert (one.leader_id, one.leader_epoch, one.error_code) == (1, 0, 0)
    assert (one.replica_nodes, one.isr_nodes, one.offline_replicas) == ([1], [1], [])
    assert (one.eligible_leader_replicas, one.last_known_elr) == ([], [])


def test_a_page_ends_within_a_topic_or_at_its_exact_end() -> None:
    metadata = cluster(a=2, b=3)
    assert (page(first := describe(metadata, limit=1)), next_of(first)) == ([("a", [0])], ("a", 1))
    exact = describe(metadata, limit=2)
    assert (page(exact), next_of(exact)) == ([("a", [0, 1])], ("b", 0))
    last = describe(metadata, limit=5)
    assert next_of(last) is None


def test_the_brokers_limit_bounds_the_clients_and_a_page_holds_one_at_least() -> None:
    metadata = cluster(a=5)
    assert page(describe(metadata, broker_limit=2)) == [("a", [0, 1])]
    assert page(describe(metadata, limit=-7)) == [("a", [0])]


def test_topics_before_the_cursor_are_left_out() -> None:
    response = describe(cluster(a=1, b=3, c=1), "a", "b", "c", cursor=("b", 2))
    assert page(response) == [("b", [2]), ("c", [0])]


def test_a_cursor_beyond_the_end_leaves_the_topic_empty() -> None:
    assert page(describe(cluster(a=1), "a", cursor=("a", 9))) == [("a", [])]


def test_with_all_topics_an_unknown_cursor_goes_on_after_it() -> None:
    assert page(describe(cluster(a=1, c=1), cursor=("b", 4))) == [("c", [0])]


@pytest.mark.parametrize("cursor", [("x", 0), ("a", -1)])
def test_a_cursor_that_leads_nowhere_is_refused(cursor: tuple[str, int]) -> None:
    with pytest.raises(KafkaError) as refused:
        describe(cluster(a=1), "a", cursor=cursor)
    assert refused.value.code is ErrorCode.INVALID_REQUEST


def test_unknown_and_invalid_names_are_told_for_each() -> None:
    response = describe(cluster(a=1), "x", "b d", "__consumer_offsets")
    assert [(one.name, one.error_code, one.is_internal) for one in response.topics] == [
        ("__consumer_offsets", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True),
        ("b d", ErrorCode.INVALID_TOPIC_EXCEPTION, False),
        ("x", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, False),
    ]
    assert all(one.topic_id == ZERO_TOPIC_ID for one in response.topics)


@given(
    counts=st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 7), min_size=1),
    limit=st.integers(1, 12),
)
def test_pages_together_are_all_partitions_once(counts: dict[str, int], limit: int) -> None:
    metadata = cluster(**counts)
    found: list[tuple[str | None, int]] = []
    cursor = None
    while True:
        response = describe(metadata, limit=limit, cursor=cursor)
        found += [(name, index) for name, indexes in page(response) for index in indexes]
        cursor = next_of(response)
        if cursor is None:
            break
    assert found == [(name, n) for name in sorted(counts) for n in range(counts[name])]
