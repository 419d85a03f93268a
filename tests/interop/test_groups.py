"""Groups of real clients on a real broker: they share, come, go, restart, and survive a kill."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_tidelog.broker import Broker
from pytest_tidelog.client import create_topic

PARTITIONS = 4
PATIENCE_S = 30
QUICK = {"group.initial.rebalance.delay.ms": 0}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker(tmp_path / "data", QUICK, metrics=False).start()
    yield broker
    broker.close()


def fill(broker: Broker, topic: str, count: int) -> None:
    """Records 0 to count - 1, spread over the partitions."""
    from confluent_kafka import Producer

    create_topic(broker.bootstrap_servers, topic, PARTITIONS)
    add(broker, topic, range(count), Producer)


def add(broker: Broker, topic: str, numbers: Sequence[int], producer_type: Any) -> None:
    producer = producer_type({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    for number in numbers:
        producer.produce(topic, b"%d" % number, partition=number % PARTITIONS)
    assert producer.flush(PATIENCE_S) == 0


def consumer(broker: Broker, **settings: Any) -> Any:
    from confluent_kafka import Consumer

    client = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 6000,
            "heartbeat.interval.ms": 200,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
    )
    client.subscribe(["t"])
    return client


def poll_until(clients: Sequence[Any], done: Callable[[], bool]) -> list[bytes]:
    """Poll all of them until it is so; the values that came."""
    values = []
    until = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < until, [client.assignment() for client in clients]
        for client in clients:
            message = client.poll(0.02)
            if message is not None and message.error() is None:
                values.append(message.value())
    return values


def read(client: Any, count: int) -> list[int]:
    """That many records."""
    values: list[bytes] = []
    until = time.monotonic() + PATIENCE_S
    while len(values) < count:
        assert time.monotonic() < until, f"{len(values)} of {count} records came"
        message = client.poll(0.1)
        if message is not None and message.error() is None:
            values.append(message.value())
    return sorted(map(int, values))


def owned(client: Any) -> list[int]:
    return sorted(one.partition for one in client.assignment())


def test_two_members_share_and_who_stays_takes_over_at_once(broker: Broker) -> None:
    fill(broker, "t", 20)
    first = consumer(broker)
    assert read(first, 20) == list(range(20))
    second = consumer(broker)
    poll_until([first, second], lambda: len(owned(first)) == len(owned(second)) == 2)
    assert sorted(owned(first) + owned(second)) == list(range(PARTITIONS))
    began = time.monotonic()
    first.close()
    assert time.monotonic() - began < 1, "an auto-commit and a goodbye take no time"
    poll_until([second], lambda: len(owned(second)) == PARTITIONS)
    second.close()
    again = consumer(broker)
    poll_until([again], lambda: len(owned(again)) == PARTITIONS)
    assert {one.offset for one in again.committed(again.assignment())} == {5}
    again.close()


def test_a_group_goes_on_when_the_broker_was_killed(broker: Broker) -> None:
    from confluent_kafka import Producer

    fill(broker, "t", 20)
    first, second = consumer(broker), consumer(broker)
    got: list[bytes] = []
    got += poll_until([first, second], lambda: len(owned(first)) == len(owned(second)) == 2)
    until = time.monotonic() + PATIENCE_S
    while len(set(got)) < 20 and time.monotonic() < until:
        got += [m.value() for c in (first, second) if (m := c.poll(0.05)) and not m.error()]
    assert sorted(set(map(int, got))) == list(range(20))
    for client in (first, second):
        client.commit(asynchronous=False)
    broker.kill()
    broker.start()
    add(broker, "t", range(20, 40), Producer)
    later: list[bytes] = []
    until = time.monotonic() + PATIENCE_S
    while len(later) < 20 and time.monotonic() < until:
        later += [m.value() for c in (first, second) if (m := c.poll(0.05)) and not m.error()]
    assert sorted(map(int, later)) == list(range(20, 40)), "nothing lost, nothing twice"
    third = consumer(broker)
    members = [first, second, third]
    poll_until(members, lambda: all(owned(one) for one in members))
    assert sorted(partition for one in members for partition in owned(one)) == list(
        range(PARTITIONS)
    )
    for client in members:
        client.close()


def test_a_static_member_that_restarts_gets_its_partitions_without_a_rebalance(
    broker: Broker,
) -> None:
    fill(broker, "t", 8)
    stays = consumer(broker, group_instance_id="one", partition_assignment_strategy="range")
    leaves = consumer(broker, group_instance_id="two", partition_assignment_strategy="range")
    poll_until([stays, leaves], lambda: len(owned(stays)) == len(owned(leaves)) == 2)
    before = owned(leaves)
    leaves.close()
    again = consumer(broker, group_instance_id="two", partition_assignment_strategy="range")
    poll_until([again], lambda: len(owned(again)) == 2)
    assert owned(again) == before
    assert "static member replaced" not in broker.log
    stays.close()
    again.close()


def test_cooperative_members_keep_what_they_need_not_give(broker: Broker) -> None:
    fill(broker, "t", 8)
    revoked: list[int] = []
    first = consumer(broker, partition_assignment_strategy="cooperative-sticky")
    first.subscribe(["t"], on_revoke=lambda _, some: revoked.extend(p.partition for p in some))
    poll_until([first], lambda: len(owned(first)) == PARTITIONS)
    second = consumer(broker, partition_assignment_strategy="cooperative-sticky")
    poll_until([first, second], lambda: len(owned(first)) == len(owned(second)) == 2)
    assert sorted(revoked) == owned(second), "only what moves is taken away"
    second.close()
    first.close()


def test_aiokafka_consumes_in_a_group(broker: Broker) -> None:
    from aiokafka import AIOKafkaConsumer

    fill(broker, "t", 12)

    async def life() -> list[int]:
        client = AIOKafkaConsumer(
            "t",
            bootstrap_servers=broker.bootstrap_servers,
            group_id="aio",
            auto_offset_reset="earliest",
        )
        await client.start()
        values = [int((await client.getone()).value) for _ in range(12)]
        await client.commit()
        await client.stop()
        return values

    assert sorted(asyncio.run(life())) == list(range(12))


def test_kafka_python_consumes_in_a_group_and_its_offsets_are_told(broker: Broker) -> None:
    from kafka import KafkaConsumer

    fill(broker, "t", 12)
    client = KafkaConsumer(
        "t",
        bootstrap_servers=broker.bootstrap_servers,
        group_id="py",
        auto_offset_reset="earliest",
        consumer_timeout_ms=PATIENCE_S * 1000,
    )
    values = [int(next(client).value) for _ in range(12)]
    client.commit()
    client.close()
    assert sorted(values) == list(range(12))
    check = consumer(broker, group_id="py")
    poll_until([check], lambda: len(owned(check)) == PARTITIONS)
    assert {one.offset for one in check.committed(check.assignment())} == {3}
    check.close()


def test_an_administrator_lists_describes_and_deletes_groups(broker: Broker) -> None:
    from confluent_kafka.admin import AdminClient

    fill(broker, "t", 4)
    member = consumer(broker, client_id="reader")
    read(member, 4)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    listed = admin.list_consumer_groups().result(PATIENCE_S)
    assert [(one.group_id, one.state.name) for one in listed.valid] == [("g", "STABLE")]
    described = admin.describe_consumer_groups(["g"])["g"].result(PATIENCE_S)
    assert [one.client_id for one in described.members] == ["reader"]
    assert len(described.members[0].assignment.topic_partitions) == PARTITIONS
    with pytest.raises(Exception, match=r"NON_EMPTY_GROUP|not empty"):
        admin.delete_consumer_groups(["g"])["g"].result(PATIENCE_S)
    member.close()
    admin.delete_consumer_groups(["g"])["g"].result(PATIENCE_S)
    assert admin.list_consumer_groups().result(PATIENCE_S).valid == []
