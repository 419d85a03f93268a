"""KIP-848 groups of librdkafka on a real broker: they share, come, go, restart, survive a kill."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_tidelog.broker import Broker
from pytest_tidelog.client import create_topic

PARTITIONS = 4
PATIENCE_S = 30
QUICK = {
    "group.consumer.heartbeat.interval.ms": 100,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.session.timeout.ms": 3000,
    "group.consumer.min.session.timeout.ms": 3000,
    "group.consumer.assignment.interval.ms": 100,
}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker(tmp_path / "data", QUICK, metrics=False).start()
    yield broker
    broker.close()


def fill(broker: Broker, topic: str, numbers: Sequence[int]) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    for number in numbers:
        producer.produce(topic, b"%d" % number, partition=number % PARTITIONS)
    assert producer.flush(PATIENCE_S) == 0


def consumer(broker: Broker, *topics: str, **fields: Any) -> Any:
    from confluent_kafka import Consumer

    client = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "g",
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "topic.metadata.refresh.interval.ms": 500,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
            **{name.replace("_", "."): value for name, value in fields.items()},
        }
    )
    client.subscribe(list(topics) or ["t"])
    return client


def owned(client: Any) -> list[tuple[str, int]]:
    return sorted((one.topic, one.partition) for one in client.assignment())


def poll_until(clients: Sequence[Any], done: Callable[[list[int]], bool]) -> list[int]:
    """Poll all of them until it is so; what came."""
    values: list[int] = []
    until = time.monotonic() + PATIENCE_S
    while not done(values):
        assert time.monotonic() < until, (values, [owned(client) for client in clients])
        for client in clients:
            message = client.poll(0.02)
            if message is not None and message.error() is None:
                values.append(int(message.value()))
    return values


def share(*clients: Any) -> Callable[[list[int]], bool]:
    """Everybody has something, and together everything once."""

    def shared(_: list[int]) -> bool:
        parts = [owned(client) for client in clients]
        return all(parts) and sum(map(len, parts)) == PARTITIONS

    return shared


def test_members_share_and_take_over_without_loss(broker: Broker) -> None:
    create_topic(broker.bootstrap_servers, "t", PARTITIONS)
    fill(broker, "t", range(20))
    first = consumer(broker)
    got = poll_until([first], lambda values: len(values) >= 20)
    assert sorted(got) == list(range(20))
    second = consumer(broker)
    poll_until([first, second], share(first, second))
    first.close()
    poll_until([second], share(second))
    fill(broker, "t", range(20, 40))
    assert sorted(poll_until([second], lambda values: len(values) >= 20)) == list(range(20, 40))
    second.close()


def test_members_go_on_when_the_broker_was_killed(broker: Broker) -> None:
    create_topic(broker.bootstrap_servers, "t", PARTITIONS)
    fill(broker, "t", range(20))
    first, second = consumer(broker), consumer(broker)
    poll_until([first, second], share(first, second))
    before = owned(first), owned(second)
    broker.kill()
    broker.start()
    fill(broker, "t", range(20, 40))
    got = poll_until([first, second], lambda values: {*range(20, 40)} <= {*values})
    assert (owned(first), owned(second)) == before
    assert len(got) == len(set(got)), "nothing came twice"
    first.close()
    second.close()


def test_a_static_member_that_restarts_keeps_its_place(broker: Broker) -> None:
    create_topic(broker.bootstrap_servers, "t", PARTITIONS)
    fill(broker, "t", range(8))
    stays, leaves = consumer(broker, group_instance_id="a"), consumer(broker, group_instance_id="b")
    poll_until([stays, leaves], share(stays, leaves))
    before = owned(leaves)
    leaves.close()
    bumps = broker.log.count("Bumped group epoch")
    again = consumer(broker, group_instance_id="b")
    poll_until([stays, again], share(stays, again))
    assert owned(again) == before
    assert broker.log.count("Bumped group epoch") == bumps
    stays.close()
    again.close()


@pytest.mark.long
def test_an_expression_finds_topics_made_later(broker: Broker) -> None:
    create_topic(broker.bootstrap_servers, "logs-a", 1)
    client = consumer(broker, "^logs-.*")
    poll_until([client], lambda _: owned(client) == [("logs-a", 0)])
    create_topic(broker.bootstrap_servers, "logs-b", 1)
    poll_until([client], lambda _: owned(client) == [("logs-a", 0), ("logs-b", 0)])
    client.close()


@pytest.mark.long
def test_a_member_that_vanishes_is_replaced_when_its_session_ends(broker: Broker) -> None:
    create_topic(broker.bootstrap_servers, "t", PARTITIONS)
    first = consumer(broker, max_poll_interval_ms=6000)
    second = consumer(broker)
    poll_until([first, second], share(first, second))
    poll_until([second], share(second))
    first.close()
    second.close()


def test_administrators_see_and_delete_the_group(broker: Broker) -> None:
    from confluent_kafka.admin import AdminClient

    create_topic(broker.bootstrap_servers, "t", PARTITIONS)
    fill(broker, "t", range(8))
    client = consumer(broker)
    poll_until([client], lambda values: len(values) >= 8)
    client.commit(asynchronous=False)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    described = admin.describe_consumer_groups(["g"])["g"].result(PATIENCE_S)
    assert (described.state.name, described.type.name) == ("STABLE", "CONSUMER")
    (member,) = described.members
    assert len(member.assignment.topic_partitions) == PARTITIONS
    listed = admin.list_consumer_groups().result(PATIENCE_S).valid
    assert [(one.group_id, one.type.name) for one in listed] == [("g", "CONSUMER")]
    client.close()
    admin.delete_consumer_groups(["g"])["g"].result(PATIENCE_S)
    assert admin.list_consumer_groups().result(PATIENCE_S).valid == []
