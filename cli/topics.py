"""tidelog topics: list, create, describe, alter, delete."""

from typing import Any

import click

from cli.connection import TIMEOUT_SECONDS, admin, bootstrap_option, json_option, wait_all
from cli.output import print_json, print_table


@click.group(name="topics")
def command() -> None:
    """List, create, describe, alter and delete topics."""


def parse_configs(items: tuple[str, ...]) -> dict[str, str]:
    """KEY=VALUE items as a map."""
    for item in items:
        if "=" not in item:
            raise click.BadParameter(f"'{item}' is not KEY=VALUE", param_hint="--config")
    return dict(item.split("=", 1) for item in items)


@command.command("list")
@click.option("--internal/--no-internal", default=False, help="Show Kafka's own topics too.")
@bootstrap_option
@json_option
def list_topics(client: dict[str, Any], internal: bool, as_json: bool) -> None:
    """Topics with their partition and replica counts."""
    topics = admin(client).list_topics(timeout=TIMEOUT_SECONDS).topics
    rows = [
        {
            "topic": name,
            "partitions": len(topic.partitions),
            "replication_factor": max(
                (len(p.replicas) for p in topic.partitions.values()), default=0
            ),
        }
        for name, topic in sorted(topics.items())
        if internal or not name.startswith("__")
    ]
    if as_json:
        print_json(rows)
    else:
        print_table(("topic", "partitions", "replicas"), [tuple(row.values()) for row in rows])


@command.command("create")
@click.argument("topics", nargs=-1, required=True)
@click.option(
    "-p", "--partitions", type=int, default=-1, help="Default: the broker's num.partitions."
)
@click.option("-r", "--replication-factor", type=int, default=-1, help="Default: the broker's.")
@click.option("-c", "--config", multiple=True, metavar="KEY=VALUE", help="May be repeated.")
@click.option("--if-not-exists", is_flag=True, help="A topic that exists already is fine.")
@click.option("--validate-only", is_flag=True, help="Check everything, create nothing.")
@bootstrap_option
def create_topics(
    client: dict[str, Any],
    topics: tuple[str, ...],
    partitions: int,
    replication_factor: int,
    config: tuple[str, ...],
    **flags: bool,
) -> None:
    """Create topics."""
    from confluent_kafka.admin import NewTopic

    connected = admin(client)
    if flags["if_not_exists"]:
        existing = connected.list_topics(timeout=TIMEOUT_SECONDS).topics
        topics = tuple(name for name in topics if name not in existing)
    if not topics:
        return
    new = [
        NewTopic(name, partitions, replication_factor, config=parse_configs(config))
        for name in topics
    ]
    wait_all(connected.create_topics(new, validate_only=flags["validate_only"]), "create topic")
    done = "valid" if flags["validate_only"] else "created"
    click.echo("\n".join(f"{done} {name}" for name in topics))


@command.command("describe")
@click.argument("topics", nargs=-1)
@bootstrap_option
@json_option
def describe_topics(client: dict[str, Any], topics: tuple[str, ...], as_json: bool) -> None:
    """Partitions with leader, replicas, in-sync replicas and offsets."""
    connected = admin(client)
    found = connected.list_topics(timeout=TIMEOUT_SECONDS).topics
    missing = sorted(set(topics) - set(found))
    if missing:
        raise click.ClickException(f"no such topic: {', '.join(missing)}")
    rows = []
    for name in topics or sorted(found):
        offsets = _offsets(connected, name, list(found[name].partitions))
        for partition, state in sorted(found[name].partitions.items()):
            start, end = offsets[partition]
            rows.append(
                {
                    "topic": name,
                    "partition": partition,
                    "leader": state.leader,
                    "replicas": state.replicas,
                    "in_sync": state.isrs,
                    "start_offset": start,
                    "end_offset": end,
                }
            )
    if as_json:
        print_json(rows)
    else:
        headings = ("topic", "partition", "leader", "replicas", "in sync", "start", "end")
        print_table(headings, [tuple(row.values()) for row in rows])


def _offsets(connected: Any, name: str, partitions: list[int]) -> dict[int, tuple[Any, Any]]:
    """(log start offset, high watermark) by partition; None where it has no leader."""
    from confluent_kafka import KafkaException, TopicPartition
    from confluent_kafka.admin import OffsetSpec

    answers: dict[int, list[Any]] = {partition: [] for partition in partitions}
    for spec in (OffsetSpec.earliest(), OffsetSpec.latest()):
        wanted = {TopicPartition(name, partition): spec for partition in partitions}
        for item, future in connected.list_offsets(wanted).items():
            try:
                answers[item.partition].append(future.result(TIMEOUT_SECONDS).offset)
            except KafkaException:
                answers[item.partition].append(None)
    return {partition: (found[0], found[1]) for partition, found in answers.items()}


@command.command("alter")
@click.argument("topic")
@click.option("-p", "--partitions", type=int, required=True, help="The new total.")
@bootstrap_option
def alter_topic(client: dict[str, Any], topic: str, partitions: int) -> None:
    """Grow a topic; its settings are changed by 'tidelog configs alter'."""
    from confluent_kafka.admin import NewPartitions

    connected = admin(client)
    wait_all(connected.create_partitions([NewPartitions(topic, partitions)]), "grow topic")
    click.echo(f"{topic} has {partitions} partitions")


@command.command("delete")
@click.argument("topics", nargs=-1, required=True)
@click.option("--if-exists", is_flag=True, help="A topic that is gone already is fine.")
@bootstrap_option
def delete_topics(client: dict[str, Any], topics: tuple[str, ...], if_exists: bool) -> None:
    """Delete topics and all their records."""
    connected = admin(client)
    if if_exists:
        existing = connected.list_topics(timeout=TIMEOUT_SECONDS).topics
        topics = tuple(name for name in topics if name in existing)
    if topics:
        wait_all(connected.delete_topics(list(topics)), "delete topic")
        click.echo("\n".join(f"deleted {name}" for name in topics))
