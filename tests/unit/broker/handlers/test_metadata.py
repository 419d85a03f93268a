import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

import pytest

from broker.handlers.metadata import PARTITIONS_PER_TURN, handle_metadata
from broker.handlers.topic_answers import TopicAnswers
from cluster.controller.auto_creation import AutoCreation
from cluster.controller.messages import Endpoint, LiveBroker, MetadataUpdate, PartitionMetadata
from cluster.controller.topics import NewTopic, TopicResult
from cluster.metadata_cache import MetadataCache
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from protocol.model import AUTHORIZED_OPERATIONS_UNKNOWN, ZERO_TOPIC_ID, TopicPartition
from tests.support.contexts import context

BROKER = LiveBroker(1, {"PLAINTEXT": Endpoint("h", 9092), "OUT": Endpoint("out", 1)}, "r")
OTHER = LiveBroker(2, {"OUT": Endpoint("other", 2)})


def topic_id(name: str) -> bytes:
    return name.encode().ljust(16, b"i")[:16]


class Cluster:
    """A handler on a cache, and what it began to create."""

    def __init__(self, *names: str, partitions: int = 1, auto_create: bool = True) -> None:
        self.metadata = MetadataCache("cluster")
        update = [
            PartitionMetadata(TopicPartition(name, n), topic_id(name), 1, 0, (1,), 0, (1,))
            for name in names
            for n in range(partitions)
        ]
        self.metadata.apply(MetadataUpdate(1, [BROKER, OTHER], update))
        self.created: list[str] = []
        self.answers = TopicAnswers(self.metadata)
        self.auto_creation = AutoCreation(self.create, self.spawn, lambda: auto_create, {})

    async def create(self, topics: Sequence[NewTopic]) -> list[TopicResult]:
        self.created += [topic.name for topic in topics]
        return []

    def spawn(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        with pytest.raises(StopIteration):
            work.send(None)

    def ask(
        self, *topics: str | bytes, version: int = 13, listener: str = "PLAINTEXT", **fields: Any
    ) -> MetadataResponse:
        wanted = [
            MetadataRequestTopic(name=topic)
            if isinstance(topic, str)
            else MetadataRequestTopic(name=None, topic_id=topic)
            for topic in topics
        ]
        return self.handle(MetadataRequest(topics=wanted, **fields), version, listener)

    def handle(
        self, request: MetadataRequest, version: int = 13, listener: str = "PLAINTEXT"
    ) -> MetadataResponse:
        response = handle_metadata(
            context(version, listener),
            request,
            answers=self.answers,
            auto_creation=self.auto_creation,
        )
        assert isinstance(response, MetadataResponse)
        return response


def names(response: MetadataResponse) -> list[str | None]:
    return [topic.name for topic in response.topics]


def codes(response: MetadataResponse) -> list[int]:
    return [topic.error_code for topic in response.topics]


def test_brokers_carry_the_endpoint_of_the_listener_that_was_asked() -> None:
    cluster = Cluster()
    inside, outside = cluster.ask(), cluster.ask(listener="OUT")
    assert [(one.node_id, one.host, one.port, one.rack) for one in inside.brokers] == [
        (1, "h", 9092, "r")
    ]
    assert [(one.node_id, one.host) for one in outside.brokers] == [(1, "out"), (2, "other")]
    assert (inside.cluster_id, inside.controller_id) == ("cluster", 1)


def test_null_is_all_topics_and_an_empty_list_is_none_but_in_version_zero() -> None:
    cluster = Cluster("a", "b")
    assert names(cluster.handle(MetadataRequest(topics=None))) == ["a", "b"]
    assert names(cluster.ask(version=1)) == []
    assert names(cluster.ask(version=0)) == ["a", "b"]


def test_topics_asked_for_twice_are_answered_once() -> None:
    assert names(Cluster("a", "b").ask("b", "a", "b")) == ["b", "a"]


def test_topics_are_found_by_id_and_names_beside_ids_are_ignored() -> None:
    response = Cluster("a", "b").ask(topic_id("a"), b"x" * 16, "b")
    assert names(response) == ["a", None]
    assert codes(response) == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_ID]
    assert response.topics[1].topic_id == b"x" * 16


@pytest.mark.parametrize("version", [10, 11])
def test_ids_and_null_names_are_refused_before_version_twelve(version: int) -> None:
    cluster = Cluster("a")
    with pytest.raises(KafkaError) as by_id:
        cluster.handle(
            MetadataRequest(topics=[MetadataRequestTopic(name="a", topic_id=topic_id("a"))]),
            version,
        )
    with pytest.raises(KafkaError) as by_null:
        cluster.ask(ZERO_TOPIC_ID, version=version)
    assert by_id.value.code is by_null.value.code is ErrorCode.INVALID_REQUEST


def test_a_topic_named_by_nothing_is_refused() -> None:
    with pytest.raises(KafkaError) as refused:
        Cluster().ask(ZERO_TOPIC_ID)
    assert refused.value.code is ErrorCode.INVALID_REQUEST


def test_a_missing_topic_is_unknown_at_once_and_created_behind() -> None:
    cluster = Cluster("a")
    response = cluster.ask("a", "new", "also.new", "bad name")
    assert codes(response) == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    ]
    assert response.topics[1].topic_id == ZERO_TOPIC_ID
    assert cluster.created == ["new", "also.new"]


def test_nothing_is_created_where_the_broker_or_the_request_forbids_it() -> None:
    forbidding, allowing = Cluster(auto_create=False), Cluster()
    assert codes(forbidding.ask("new")) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert codes(allowing.ask("new", allow_auto_topic_creation=False)) == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    ]
    allowing.ask(b"x" * 16)
    assert forbidding.created == allowing.created == []


def test_an_internal_topic_is_known_as_one_even_when_it_is_missing() -> None:
    (topic,) = Cluster().ask("__consumer_offsets").topics
    assert topic.is_internal


def test_operations_are_told_only_to_those_who_ask() -> None:
    cluster = Cluster("a")
    silent = cluster.ask("a", "x", version=10)
    asked = cluster.ask(
        "a",
        "x",
        version=10,
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )
    unknown = AUTHORIZED_OPERATIONS_UNKNOWN
    assert [one.topic_authorized_operations for one in silent.topics] == [unknown, unknown]
    assert [one.topic_authorized_operations for one in asked.topics] == [3576, 3576]
    assert silent.cluster_authorized_operations == unknown
    assert asked.cluster_authorized_operations == 8096


@pytest.mark.parametrize("version", range(14))
def test_every_version_is_encoded(version: int) -> None:
    response = Cluster("a").ask("a", "missing", version=version)
    decoded = MetadataResponse.decode(response.encode(version), version)
    assert names(decoded) == ["a", "missing"]


async def test_many_topics_are_put_together_over_several_turns_and_then_at_once() -> None:
    count = 3 * PARTITIONS_PER_TURN
    cluster = Cluster(*(f"t{n}" for n in range(count)))
    request = MetadataRequest(topics=None)
    later = handle_metadata(
        context(13), request, answers=cluster.answers, auto_creation=cluster.auto_creation
    )
    assert not isinstance(later, MetadataResponse)
    turns = 0

    def turn() -> None:
        nonlocal turns
        turns += 1
        loop.call_soon(turn)

    loop = asyncio.get_running_loop()
    loop.call_soon(turn)
    assert len((await later).topics) == count
    assert turns >= 3
    assert len(cluster.handle(request).topics) == count


async def test_topics_that_go_while_an_answer_is_put_together_are_not_in_it() -> None:
    cluster = Cluster(*(f"t{n}" for n in range(2 * PARTITIONS_PER_TURN)))
    later = handle_metadata(
        context(13),
        MetadataRequest(topics=None),
        answers=cluster.answers,
        auto_creation=cluster.auto_creation,
    )
    assert not isinstance(later, MetadataResponse)
    task = asyncio.ensure_future(later)
    await asyncio.sleep(0)
    last = f"t{2 * PARTITIONS_PER_TURN - 1}"
    gone = PartitionMetadata(TopicPartition(last, 0), topic_id(last), -2, 0, (), 0, ())
    cluster.metadata.apply(MetadataUpdate(1, [BROKER], [gone]))
    response = await task
    assert last not in names(response)
    assert len(response.topics) == 2 * PARTITIONS_PER_TURN - 1
