"""All that clients see of a broker: records, producers, settings."""

from collections.abc import Iterable
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, TopicPartition

from protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from protocol.messages.metadata import MetadataRequest, MetadataResponse
from protocol.model import ConfigSource, ResourceType, SpecialTimestamp
from tests.kafka_tools.talker import Talker

EOF = KafkaError._PARTITION_EOF
READ_SECONDS = 30


class SeenRecord(NamedTuple):
    """A record as a consumer gets it; its time is (kind, ms), the kind by librdkafka's number."""

    offset: int
    leader_epoch: int
    time: tuple[int, int]
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


Partition = tuple[str, int]


class SeenProducer(NamedTuple):
    """A producer as DescribeProducers tells; the transaction begins at -1 where none is open."""

    producer_id: int
    epoch: int
    last_sequence: int
    coordinator_epoch: int
    transaction_start: int


class Seen(NamedTuple):
    """Everything, by partition or topic."""

    topic_ids: dict[str, bytes]
    uncommitted: dict[Partition, list[SeenRecord]]
    committed: dict[Partition, list[SeenRecord]]
    offsets: dict[Partition, tuple[int, int]]
    producers: dict[Partition, list[SeenProducer]]
    configs: dict[str, dict[str, str | None]]


def see(port: int) -> Seen:
    """Ask the broker at this port of the loopback interface about everything it has."""
    talker = Talker("127.0.0.1", port)
    try:
        answer = talker.ask(MetadataRequest(topics=None), 12)
        assert isinstance(answer, MetadataResponse)
        counts = {str(topic.name): len(topic.partitions) for topic in answer.topics}
        partitions = [(name, index) for name, count in counts.items() for index in range(count)]
        ids = {str(topic.name): topic.topic_id for topic in answer.topics}
        producers = _producers(talker, counts)
        configs = _configs(talker, counts)
    finally:
        talker.close()
    uncommitted, offsets = _read(port, partitions, "read_uncommitted")
    committed, _ = _read(port, partitions, "read_committed")
    return Seen(ids, uncommitted, committed, offsets, producers, configs)


def led_topics(port: int) -> set[str]:
    """Topics all of whose partitions are led: their leaders know, not only metadata."""
    talker = Talker("127.0.0.1", port)
    try:
        answer = talker.ask(MetadataRequest(topics=None), 12)
        assert isinstance(answer, MetadataResponse)
        asked = [
            ListOffsetsTopic(
                name=str(topic.name),
                partitions=[
                    ListOffsetsPartition(partition_index=index, timestamp=SpecialTimestamp.LATEST)
                    for index in range(len(topic.partitions))
                ],
            )
            for topic in answer.topics
        ]
        listed = talker.ask(ListOffsetsRequest(topics=asked), 7)
    finally:
        talker.close()
    assert isinstance(listed, ListOffsetsResponse)
    return {
        topic.name
        for topic in listed.topics
        if topic.partitions and all(one.error_code == 0 for one in topic.partitions)
    }


def _read(
    port: int, partitions: Iterable[Partition], isolation: str
) -> tuple[dict[Partition, list[SeenRecord]], dict[Partition, tuple[int, int]]]:
    """Every record of the partitions, and their first and next offsets."""
    consumer = Consumer(
        {
            "bootstrap.servers": f"127.0.0.1:{port}",
            "group.id": "carried",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation,
            "check.crcs": True,
            "fetch.wait.max.ms": 10,
            "auto.offset.reset": "error",
            "log_level": 0,
        }
    )
    places = {
        one: consumer.get_watermark_offsets(TopicPartition(*one), timeout=READ_SECONDS)
        for one in partitions
    }
    consumer.assign([TopicPartition(*one, offset=low) for one, (low, _) in places.items()])
    found: dict[Partition, list[SeenRecord]] = {one: [] for one in places}
    unread = set(places)
    while unread:
        messages = consumer.consume(10_000, timeout=0.02)
        for message in messages:
            partition = (message.topic(), message.partition())
            error = message.error()
            if error is not None:
                assert error.code() == EOF, f"{partition}: {error}"
                unread.discard(partition)
                continue
            found[partition].append(
                SeenRecord(
                    message.offset(),
                    message.leader_epoch(),
                    message.timestamp(),
                    message.key(),
                    message.value(),
                    tuple(message.headers() or ()),
                )
            )
    consumer.close()
    return found, places


def _producers(talker: Talker, counts: dict[str, int]) -> dict[Partition, list[SeenProducer]]:
    topics = [
        TopicRequest(name=name, partition_indexes=list(range(count)))
        for name, count in counts.items()
    ]
    answer = talker.ask(DescribeProducersRequest(topics=topics), 0)
    assert isinstance(answer, DescribeProducersResponse)
    found = {}
    for topic in answer.topics:
        for partition in topic.partitions:
            assert partition.error_code == 0, (topic.name, partition)
            found[topic.name, partition.partition_index] = sorted(
                SeenProducer(
                    one.producer_id,
                    one.producer_epoch,
                    one.last_sequence,
                    one.coordinator_epoch,
                    one.current_txn_start_offset,
                )
                for one in partition.active_producers
            )
    return found


def _configs(talker: Talker, names: Iterable[str]) -> dict[str, dict[str, str | None]]:
    """Settings of the topics' own."""
    resources = [
        DescribeConfigsResource(
            resource_type=ResourceType.TOPIC, resource_name=name, configuration_keys=None
        )
        for name in names
    ]
    answer = talker.ask(DescribeConfigsRequest(resources=resources), 4)
    assert isinstance(answer, DescribeConfigsResponse)
    return {
        result.resource_name: {
            entry.name: entry.value
            for entry in result.configs
            if entry.config_source == ConfigSource.DYNAMIC_TOPIC
        }
        for result in answer.results
    }
