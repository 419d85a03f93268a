"""Transactions of real clients on a real broker: atomic, fenced, timed out, and over a kill."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_tidelog.broker import Broker
from pytest_tidelog.client import create_topic

PARTITIONS = 2
PATIENCE_S = 30
MOST_ROUNDS = 200
QUICK = {
    "group.initial.rebalance.delay.ms": 0,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 200,
}

AFTER_A_KILL = {"reconnect.backoff.max.ms": 200, "metadata.recovery.strategy": "none"}
"""Come back soon, and to the broker that is known: librdkafka 2.16 that began anew from the
bootstrap servers goes on waiting for the group's coordinator that it has forgotten.
"""


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker(tmp_path / "data", QUICK, metrics=False).start()
    for topic in ("in", "out"):
        create_topic(broker.bootstrap_servers, topic, PARTITIONS)
    yield broker
    broker.close()


def producer_of(broker: Broker, transactional_id: str | None = "id", **settings: Any) -> Any:
    from confluent_kafka import Producer

    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "log_level": 0,
            **AFTER_A_KILL,
            **({"transactional.id": transactional_id} if transactional_id else {}),
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
    )
    if transactional_id:
        producer.init_transactions(PATIENCE_S)
    return producer


def send(producer: Any, values: Any, topic: str = "out") -> None:
    """Records that have arrived at the broker once this returns."""
    for value in values:
        producer.produce(topic, b"%d" % value, partition=value % PARTITIONS)
    assert producer.flush(PATIENCE_S) == 0


def read(broker: Broker, isolation: str = "read_committed", topic: str = "out") -> list[int]:
    """All that a reader sees, up to the end that it is told."""
    from confluent_kafka import Consumer, KafkaError, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "reader",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic, index, 0) for index in range(PARTITIONS)])
    values: list[int] = []
    ended: set[int] = set()
    until = time.monotonic() + PATIENCE_S
    while len(ended) < PARTITIONS:
        assert time.monotonic() < until
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error() is None:
            values.append(int(message.value()))
        else:
            assert message.error().code() == KafkaError._PARTITION_EOF
            ended.add(message.partition())
    consumer.close()
    return sorted(values)


def read_once_settled(broker: Broker, wanted: list[int]) -> list[int]:
    """What readers see as soon as it is that, or at the end of all patience."""
    until = time.monotonic() + PATIENCE_S
    while (seen := read(broker)) != wanted and time.monotonic() < until:
        pass
    return seen


def test_what_is_committed_is_read_and_what_is_aborted_only_by_who_wants_all(
    broker: Broker,
) -> None:
    producer = producer_of(broker)
    for number in range(10):
        producer.begin_transaction()
        send(producer, range(number * 10, number * 10 + 10))
        end = producer.abort_transaction if number % 3 == 0 else producer.commit_transaction
        end(PATIENCE_S)
    committed = [value for value in range(100) if value // 10 % 3]
    assert read(broker) == committed
    assert read(broker, "read_uncommitted") == list(range(100))


def test_nothing_of_an_open_transaction_is_read(broker: Broker) -> None:
    producer = producer_of(broker)
    producer.begin_transaction()
    send(producer, range(10))
    assert read(broker) == []
    assert read(broker, "read_uncommitted") == list(range(10))
    producer.commit_transaction(PATIENCE_S)
    assert read(broker) == list(range(10))


def test_a_second_producer_fences_the_first_and_ends_what_it_had_open(broker: Broker) -> None:
    from confluent_kafka import KafkaException

    first = producer_of(broker)
    first.begin_transaction()
    send(first, range(10))
    second = producer_of(broker)
    with pytest.raises(KafkaException) as caught:
        first.commit_transaction(PATIENCE_S)
    assert caught.value.args[0].fatal()
    second.begin_transaction()
    send(second, range(10, 20))
    second.commit_transaction(PATIENCE_S)
    assert read(broker) == list(range(10, 20))


def test_a_transaction_open_for_too_long_is_aborted(broker: Broker) -> None:
    from confluent_kafka import KafkaException

    slow = producer_of(broker, transaction_timeout_ms=1000)
    slow.begin_transaction()
    send(slow, range(10))
    other = producer_of(broker, "other")
    other.begin_transaction()
    send(other, range(10, 20))
    other.commit_transaction(PATIENCE_S)
    assert read(broker) == []
    assert read_once_settled(broker, list(range(10, 20))) == list(range(10, 20))
    with pytest.raises(KafkaException):
        slow.commit_transaction(PATIENCE_S)


def test_a_transaction_goes_on_over_a_kill_of_the_broker(broker: Broker) -> None:
    producer = producer_of(broker)
    producer.begin_transaction()
    send(producer, range(10))
    broker.kill()
    broker.start()
    send(producer, range(10, 20))
    assert read(broker) == []
    producer.commit_transaction(PATIENCE_S)
    assert read_once_settled(broker, list(range(20))) == list(range(20))


def test_consuming_transforming_and_producing_is_exactly_once_over_aborts_and_kills(
    broker: Broker,
) -> None:
    from confluent_kafka import KafkaException

    send(producer_of(broker, None), range(400), "in")
    kills = iter([3, 8])
    kill_at = next(kills)
    rounds = 0
    done = False
    while not done:
        consumer, producer = transformer(broker)
        try:
            while not (done := committed(consumer) == 400):
                rounds += 1
                transform(consumer, producer, abort=rounds % 4 == 0)
                if rounds == kill_at:
                    kill_at = next(kills, 0)
                    broker.kill()
                    broker.start()
        except KafkaException:
            if rounds > MOST_ROUNDS:
                raise
        finally:
            consumer.close()
    assert read_once_settled(broker, list(range(400))) == list(range(400))


def transformer(broker: Broker) -> tuple[Any, Any]:
    from confluent_kafka import Consumer

    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "transformers",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "session.timeout.ms": 6000,
            "heartbeat.interval.ms": 200,
            "log_level": 0,
            **AFTER_A_KILL,
        }
    )
    consumer.subscribe(["in"])
    return consumer, producer_of(broker, "transformer")


def committed(consumer: Any) -> int:
    """How many records the group is past."""
    from confluent_kafka import TopicPartition

    wanted = [TopicPartition("in", index) for index in range(PARTITIONS)]
    return sum(max(one.offset, 0) for one in consumer.committed(wanted, PATIENCE_S))


def transform(consumer: Any, producer: Any, *, abort: bool) -> None:
    """One transaction: some records and how far the group is with them; or neither."""
    from confluent_kafka import TopicPartition

    messages = [one for one in consumer.consume(40, 0.5) if one.error() is None]
    if not messages:
        return
    producer.begin_transaction()
    for message in messages:
        producer.produce("out", message.value(), partition=message.partition())
    position = consumer.position(consumer.assignment())
    producer.send_offsets_to_transaction(position, consumer.consumer_group_metadata(), PATIENCE_S)
    if not abort:
        producer.commit_transaction(PATIENCE_S)
        return
    producer.abort_transaction(PATIENCE_S)
    for one in consumer.committed(consumer.assignment(), PATIENCE_S):
        consumer.seek(TopicPartition(one.topic, one.partition, max(one.offset, 0)))


def test_aiokafka_commits_and_aborts(broker: Broker) -> None:
    from aiokafka import AIOKafkaProducer

    async def run() -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=broker.bootstrap_servers, transactional_id="aio"
        )
        await producer.start()
        async with producer.transaction():
            for value in range(10):
                await producer.send_and_wait("out", b"%d" % value, partition=value % PARTITIONS)
        await producer.begin_transaction()
        await producer.send_and_wait("out", b"10", partition=0)
        await producer.abort_transaction()
        await producer.stop()

    asyncio.run(run())
    assert read(broker) == list(range(10))
    assert read(broker, "read_uncommitted") == list(range(11))


def test_kafka_python_commits_and_aborts(broker: Broker) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers, transactional_id="py")
    producer.init_transactions()
    for number in range(3):
        producer.begin_transaction()
        for value in range(number * 10, number * 10 + 10):
            producer.send("out", b"%d" % value, partition=value % PARTITIONS)
        producer.flush()
        if number == 1:
            producer.abort_transaction()
        else:
            producer.commit_transaction()
    producer.close()
    assert read(broker) == [*range(10), *range(20, 30)]
    assert read(broker, "read_uncommitted") == list(range(30))
