"""A real broker process and librdkafka: what is acknowledged is read back, also after kill -9."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from pytest_tidelog.broker import Broker

TOPIC = "first-contact"
PARTITIONS = 2
COUNT = 500


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    running = Broker(tmp_path / "data").start()
    yield running
    running.close()


def produce(broker: Broker, first: int) -> None:
    """COUNT records from number `first` on, each acknowledged."""
    failed: list[KafkaError] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "acks": "all"})
    for number in range(first, first + COUNT):
        producer.produce(
            TOPIC,
            b"value-%d" % number,
            b"key-%d" % number,
            number % PARTITIONS,
            on_delivery=lambda error, _: failed.append(error) if error else None,
        )
    assert producer.flush(20) == 0
    assert failed == []


def consume(broker: Broker, count: int) -> list[tuple[int, int, bytes, bytes]]:
    """(partition, offset, key, value) of `count` records, read from assigned partitions."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "none",
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(TOPIC, index, 0) for index in range(PARTITIONS)])
    found = []
    for _ in range(100):
        for message in consumer.consume(count, 0.5):
            assert message.error() is None
            found.append((message.partition(), message.offset(), message.key(), message.value()))
        if len(found) >= count:
            break
    consumer.close()
    return sorted(found)


def expected(count: int) -> list[tuple[int, int, bytes, bytes]]:
    return sorted(
        (number % PARTITIONS, number // PARTITIONS, b"key-%d" % number, b"value-%d" % number)
        for number in range(count)
    )


def test_what_is_acknowledged_is_there_after_a_kill(broker: Broker) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for future in admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)]).values():
        future.result(10)
    produce(broker, 0)
    assert consume(broker, COUNT) == expected(COUNT)
    broker.kill()
    broker.start()
    assert consume(broker, COUNT) == expected(COUNT)
    produce(broker, COUNT)
    broker.restart()
    assert consume(broker, 2 * COUNT) == expected(2 * COUNT)
