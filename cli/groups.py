"""tidelog groups: list, describe, reset-offsets, delete."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from cli.connection import (
    TIMEOUT_SECONDS,
    admin,
    bootstrap_option,
    json_option,
    kafka_error,
    wait_all,
)
from cli.offset_reset import Place, Reset, parse_duration, parse_scope, parse_time
from cli.output import print_json, print_table
from runtime.clock import SystemClock

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

Partition = tuple[str, int]
NO_OFFSET = -1


@click.group(name="groups")
def command() -> None:
    """List, describe and delete consumer groups, and reset their offsets."""


@command.command("list")
@bootstrap_option
@json_option
def list_groups(client: dict[str, Any], as_json: bool) -> None:
    """Groups with their state and type."""
    connected = admin(client)  # A name of its own: an answer is lost with its client.
    found = connected.list_consumer_groups(request_timeout=TIMEOUT_SECONDS).result()
    rows = [
        {"group": one.group_id, "state": one.state.name.lower(), "type": one.type.name.lower()}
        for one in sorted(found.valid, key=lambda one: str(one.group_id))
    ]
    _print(rows, ("group", "state", "type"), as_json)


@command.command("describe")
@click.argument("groups", nargs=-1, required=True)
@click.option("--members", is_flag=True, help="Show members in place of offsets.")
@bootstrap_option
@json_option
def describe(client: dict[str, Any], groups: tuple[str, ...], members: bool, as_json: bool) -> None:
    """Offsets, lag and owner of every partition; with --members, who is in the group."""
    connected = admin(client)
    rows: list[dict[str, Any]] = []
    for group in groups:
        described = connected.describe_consumer_groups([group])[group].result(TIMEOUT_SECONDS)
        owners = {
            (one.topic, one.partition): member
            for member in described.members
            for one in (member.assignment.topic_partitions if member.assignment else ())
        }
        if members:
            rows += [_member_row(group, member) for member in described.members]
        else:
            rows += _offset_rows(connected, group, owners)
    columns = (
        ("group", "member", "instance", "client", "host", "partitions")
        if members
        else ("group", "topic", "partition", "offset", "end", "lag", "client")
    )
    _print(rows, columns, as_json)


def _member_row(group: str, member: Any) -> dict[str, Any]:
    assigned = member.assignment.topic_partitions if member.assignment else ()
    return {
        "group": group,
        "member": member.member_id,
        "instance": member.group_instance_id,
        "client": member.client_id,
        "host": member.host,
        "partitions": len(assigned),
    }


def _offset_rows(
    connected: "AdminClient", group: str, owners: dict[Partition, Any]
) -> list[dict[str, Any]]:
    committed = _committed(connected, group)
    places = sorted(committed.keys() | owners.keys())
    ends = _offsets_at(connected, places, "latest")
    rows = []
    for place in places:
        offset, end = committed.get(place), ends.get(place)
        rows.append(
            {
                "group": group,
                "topic": place[0],
                "partition": place[1],
                "offset": offset,
                "end": end,
                "lag": None if offset is None or end is None else max(0, end - offset),
                "client": owners[place].client_id if place in owners else None,
            }
        )
    return rows


@command.command("delete")
@click.argument("groups", nargs=-1, required=True)
@bootstrap_option
def delete(client: dict[str, Any], groups: tuple[str, ...]) -> None:
    """Forget groups without members, and their offsets."""
    connected = admin(client)
    wait_all(connected.delete_consumer_groups(list(groups)), "delete")
    for group in groups:
        click.echo(f"deleted {group}")


@command.command("reset-offsets")
@click.argument("group")
@click.option("-t", "--topic", "topics", multiple=True, metavar="TOPIC[:0,1]", help="Repeatable.")
@click.option("--all-topics", is_flag=True, help="Every topic the group has offsets in.")
@click.option("--to-earliest", "mode", flag_value="earliest", help="To the first record.")
@click.option("--to-latest", "mode", flag_value="latest", help="Behind the last record.")
@click.option("--to-current", "mode", flag_value="current", help="To where the group is.")
@click.option("--to-offset", type=int, metavar="N")
@click.option("--shift-by", type=int, metavar="N", help="So many on, or back if negative.")
@click.option("--to-datetime", metavar="TIME", help="To the first record since an ISO time.")
@click.option("--by-duration", metavar="DURATION", help="Since so long ago, as P1DT2H.")
@click.option("--execute", is_flag=True, help="Commit them; otherwise they are only shown.")
@bootstrap_option
@json_option
def reset_offsets(
    client: dict[str, Any], group: str, topics: tuple[str, ...], all_topics: bool, **rest: Any
) -> None:
    """Say where a group without members is to go on reading."""
    reset, scope = _asked_for(rest), _scope(topics, all_topics)
    connected = admin(client)
    committed = _committed(connected, group)
    places = sorted(_places(connected, scope, committed))
    targets = _targets(connected, reset, places, committed)
    if rest["execute"]:
        _commit(connected, group, targets)
    rows = [
        {
            "topic": topic,
            "partition": partition,
            "offset": committed.get((topic, partition)),
            "new_offset": offset,
        }
        for (topic, partition), offset in targets.items()
    ]
    _print(rows, ("topic", "partition", "offset", "new offset"), rest["as_json"])
    if not rest["execute"] and not rest["as_json"]:
        click.echo("nothing was changed; --execute commits these offsets")


def _asked_for(options: dict[str, Any]) -> Reset:
    """The one mode that was named."""
    resets = [] if options["mode"] is None else [Reset(options["mode"])]
    try:
        if options["to_offset"] is not None:
            resets.append(Reset("offset", options["to_offset"]))
        if options["shift_by"] is not None:
            resets.append(Reset("shift", options["shift_by"]))
        if options["to_datetime"] is not None:
            resets.append(Reset("time", parse_time(options["to_datetime"])))
        if options["by_duration"] is not None:
            ago_ms = parse_duration(options["by_duration"])
            resets.append(Reset("time", SystemClock().now_ms() - ago_ms))
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if len(resets) != 1:
        raise click.UsageError("say where to, in one way: --to-earliest, --to-offset, …")
    return resets[0]


def _scope(topics: tuple[str, ...], all_topics: bool) -> dict[str, set[int] | None] | None:
    """The partitions to reset, None for all the group has offsets in."""
    if all_topics == bool(topics):
        raise click.UsageError("name topics with -t, or say --all-topics")
    try:
        return parse_scope(topics) if topics else None
    except ValueError:
        raise click.UsageError("partitions are numbers: -t TOPIC:0,1") from None


def _places(
    connected: "AdminClient",
    scope: dict[str, set[int] | None] | None,
    committed: dict[Partition, int],
) -> Iterable[Partition]:
    if scope is None:
        return committed
    known = connected.list_topics(timeout=TIMEOUT_SECONDS).topics
    places = []
    for topic, numbers in scope.items():
        if topic not in known:
            raise click.ClickException(f"no such topic: {topic}")
        there = set(known[topic].partitions)
        if numbers is not None and numbers - there:
            raise click.ClickException(f"no such partition: {topic}-{min(numbers - there)}")
        places += [(topic, number) for number in (there if numbers is None else numbers)]
    return places


def _targets(
    connected: "AdminClient", reset: Reset, places: list[Partition], committed: dict[Partition, int]
) -> dict[Partition, int]:
    earliest = _offsets_at(connected, places, "earliest")
    latest = _offsets_at(connected, places, "latest")
    at_time = _offsets_at(connected, places, reset.number) if reset.needs_time else {}
    return {
        place: reset.target(
            Place(earliest[place], latest[place], committed.get(place), at_time.get(place))
        )
        for place in places
        if place in earliest and place in latest
    }


def _committed(connected: "AdminClient", group: str) -> dict[Partition, int]:
    """Every offset the group has."""
    from confluent_kafka import ConsumerGroupTopicPartitions

    wanted = [ConsumerGroupTopicPartitions(group, None)]
    answer = connected.list_consumer_group_offsets(wanted)[group].result(TIMEOUT_SECONDS)
    return {
        (one.topic, one.partition): one.offset
        for one in answer.topic_partitions
        if one.offset > NO_OFFSET
    }


def _offsets_at(
    connected: "AdminClient", places: Iterable[Partition], where: str | int
) -> dict[Partition, int]:
    """An end of each partition, or its first offset at a time; none for what is not there."""
    from confluent_kafka import KafkaException, TopicPartition
    from confluent_kafka.admin import OffsetSpec

    specs = {"earliest": OffsetSpec.earliest, "latest": OffsetSpec.latest}
    spec = OffsetSpec.for_timestamp(where) if isinstance(where, int) else specs[where]()
    wanted = {TopicPartition(*place): spec for place in places}
    offsets = {}
    for place, future in (connected.list_offsets(wanted) if wanted else {}).items():
        try:
            offset = future.result(TIMEOUT_SECONDS).offset
        except KafkaException:
            continue
        if offset > NO_OFFSET:
            offsets[place.topic, place.partition] = offset
    return offsets


def _commit(connected: "AdminClient", group: str, targets: dict[Partition, int]) -> None:
    from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition

    offsets = [TopicPartition(*place, offset) for place, offset in targets.items()]
    request = [ConsumerGroupTopicPartitions(group, offsets)]
    try:
        answer = connected.alter_consumer_group_offsets(request)[group].result(TIMEOUT_SECONDS)
    except KafkaException as error:
        inner = kafka_error(error)
        raise click.ClickException(f"cannot reset {group}: {inner.name()}: {inner.str()}") from None
    for one in answer.topic_partitions:
        if one.error is not None:
            place = f"{one.topic}-{one.partition}"
            raise click.ClickException(f"cannot reset {group} in {place}: {one.error.str()}")


def _print(rows: list[dict[str, Any]], columns: tuple[str, ...], as_json: bool) -> None:
    if as_json:
        print_json(rows)
    else:
        print_table(columns, [tuple(row.values()) for row in rows])
