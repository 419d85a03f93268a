"""DescribeProducers: what the leader remembers, refusals with Kafka's texts."""

from broker.handlers.describe_producers import handle_describe_producers
from protocol.errors import ErrorCode
from protocol.messages.describe_producers import (
    DescribeProducersRequest,
    PartitionResponse,
    TopicRequest,
)
from protocol.model import TopicPartition
from storage.log.results import Origin
from tests.support.replicas import ReplicaBroker, context_of
from tests.support.transactional_log import TransactionalProducer


def describe(broker: ReplicaBroker, topic: str = "t", *indexes: int) -> list[PartitionResponse]:
    request = DescribeProducersRequest(
        topics=[TopicRequest(name=topic, partition_indexes=list(indexes or (0,)))]
    )
    response = handle_describe_producers(context_of(0), request, replicas=broker.replicas)
    return response.topics[0].partitions


def test_producers_are_described_with_their_last_sequence() -> None:
    broker = ReplicaBroker()
    broker.create("t")
    broker.append(values=(b"a", b"b"), producer_id=9, producer_epoch=2, base_sequence=5)
    broker.append()
    (answer,) = describe(broker)
    (producer,) = answer.active_producers
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (9, 2, 6)
    assert producer.last_timestamp == broker.clock.now_ms()
    assert (producer.coordinator_epoch, producer.current_txn_start_offset) == (-1, -1)


def test_a_hanging_transaction_shows_where_it_began_and_who_ended_the_one_before() -> None:
    broker = ReplicaBroker()
    broker.create("t")
    log = broker.log()
    producer = TransactionalProducer(9, coordinator_epoch=4)

    def append(data: bytearray, origin: Origin) -> None:
        log.append_as_leader(memoryview(data), 0, broker.clock.now_ms(), origin=origin)

    append(producer.batch(log, [b"a"], broker.clock.now_ms()), Origin.CLIENT)
    append(producer.marker(log, broker.clock.now_ms(), commit=True), Origin.COORDINATOR)
    broker.advance(1000)
    append(producer.batch(log, [b"b"], broker.clock.now_ms()), Origin.CLIENT)
    broker.advance(1000)
    (described,) = describe(broker)[0].active_producers
    assert (described.coordinator_epoch, described.current_txn_start_offset) == (4, 2)
    assert described.last_sequence == 1
    assert described.last_timestamp == broker.clock.now_ms() - 1000


def test_refusals_of_topics_have_texts_and_of_partitions_none() -> None:
    broker = ReplicaBroker()
    broker.create("t")
    (bad,) = describe(broker, "a/b")
    assert bad.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert "a/b" in (bad.error_message or "")
    (unknown,) = describe(broker, "no")
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert unknown.error_message
    (_, missing) = describe(broker, "t", 0, 5)
    assert missing.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert missing.error_message is None


def test_a_follower_sends_away() -> None:
    broker = ReplicaBroker()
    broker.create("t")
    broker.tell_metadata([], brokers=(1, 2))
    state = broker.state(TopicPartition("t", 0), leader=2, leader_epoch=1, replicas=(1, 2))
    broker.replicas.become_leader_or_follower(1, [state])
    assert describe(broker)[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
