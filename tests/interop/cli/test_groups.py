"""tidelog groups."""

from pytest_tidelog.broker import Broker
from tests.interop.cli.conftest import Command, parsed


def consume(broker: Broker, topic: str, group: str) -> None:
    """Read three records and commit."""
    from confluent_kafka import Consumer, Producer, TopicPartition

    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(3):
        producer.produce(topic, b"%d" % number)
    producer.flush(30)
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 0, 2)], asynchronous=False)
    consumer.close()


def test_a_group_is_listed_described_reset_and_deleted(command: Command, tidelog: Broker) -> None:
    command("topics", "create", "cli-read", "-p", "1")
    consume(tidelog, "cli-read", "cli-group")
    listed = parsed(command("groups", "list", "--json"))
    assert {"group": "cli-group", "state": "empty", "type": "classic"} in listed
    (row,) = parsed(command("groups", "describe", "cli-group", "--json"))
    assert (row["offset"], row["end"], row["lag"]) == (2, 3, 1)
    shown = command("groups", "reset-offsets", "cli-group", "--all-topics", "--to-earliest")
    assert "nothing was changed" in shown.output
    scope = ("cli-group", "-t", "cli-read:0")
    command("groups", "reset-offsets", *scope, "--to-earliest", "--execute")
    (row,) = parsed(command("groups", "describe", "cli-group", "--json"))
    assert row["lag"] == 3
    assert command("groups", "describe", "cli-group", "--members").exit_code == 0
    assert command("groups", "delete", "cli-group").output == "deleted cli-group\n"
    assert "cli-group" not in command("groups", "list").output


def test_what_is_not_there_is_named(command: Command, tidelog: Broker) -> None:
    command("topics", "create", "cli-one", "-p", "1")
    consume(tidelog, "cli-one", "cli-first")  # So that there is a coordinator to ask.
    assert command("groups", "delete", "cli-nobody").exit_code == 1
    for arguments, message in (
        (("-t", "cli-nowhere", "--to-latest"), "no such topic: cli-nowhere"),
        (("-t", "cli-one:4", "--to-latest"), "no such partition: cli-one-4"),
        (("-t", "cli-one:x", "--to-latest"), "partitions are numbers"),
        (("-t", "cli-one"), "in one way"),
        (("--to-latest",), "--all-topics"),
        (("-t", "cli-one", "--by-duration", "soon"), "duration"),
    ):
        told = command("groups", "reset-offsets", "cli-nobody", *arguments)
        assert told.exit_code != 0
        assert message in told.output
