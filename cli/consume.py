"""tidelog consume: records of a topic's partitions, from where one likes to where one likes.

Partitions are assigned, no group is joined: reading leaves no trace on the broker.
"""

import datetime
import json
from collections.abc import Iterator
from typing import Any

import click

from cli.connection import (
    TIMEOUT_SECONDS,
    bootstrap_option,
    check_reachable,
    kafka_error,
    unreachable,
)
from cli.output import progress_bar, text_of

POLL_SECONDS = 0.2
FORMATS = ("value", "key-value", "json")


def parse_start(text: str) -> tuple[str, int]:
    """("offset", n) or ("time", milliseconds) from beginning, end, a number or an ISO time.

    Negative numbers are librdkafka's: -2 the beginning, -1 the end.
    """
    if text in ("beginning", "end"):
        return "offset", -2 if text == "beginning" else -1
    if text.isdigit():
        return "offset", int(text)
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(
            f"'{text}' is neither beginning, end, an offset nor a time such as"
            " 2026-11-21T08:00:00+01:00",
            param_hint="--from",
        ) from None
    return "time", int(moment.timestamp() * 1000)


def format_record(message: Any, layout: str, separator: str) -> str:
    """One line for one record."""
    if layout == "value":
        return text_of(message.value()) or ""
    if layout == "key-value":
        return f"{text_of(message.key()) or ''}{separator}{text_of(message.value()) or ''}"
    kind, timestamp = message.timestamp()
    return json.dumps(
        {
            "topic": message.topic(),
            "partition": message.partition(),
            "offset": message.offset(),
            "timestamp": timestamp if kind else None,
            "key": text_of(message.key()),
            "value": text_of(message.value()),
            "headers": [[name, text_of(value)] for name, value in message.headers() or []],
        },
        ensure_ascii=False,
    )


class Reader:
    """Reads assigned partitions of one topic up to where each ended when reading began."""

    def __init__(self, client: dict[str, Any], topic: str, partitions: tuple[int, ...]) -> None:
        from confluent_kafka import Consumer, KafkaException

        check_reachable(client)
        self._consumer = Consumer(
            # librdkafka wants the name of a group even where none is joined.
            {"group.id": "tidelog-consume", "enable.auto.commit": False, **client}
        )
        try:
            found = self._consumer.list_topics(topic, timeout=10).topics[topic]
        except KafkaException as error:
            raise unreachable(client, kafka_error(error).str()) from None
        if found.error is not None:
            raise click.ClickException(f"cannot consume {topic}: {found.error.str()}")
        unknown = sorted(set(partitions) - set(found.partitions))
        if unknown:
            raise click.ClickException(f"{topic} has no partition {unknown[0]}")
        self._topic = topic
        self._partitions = sorted(partitions or found.partitions)
        self._ends: dict[int, int] = {}
        self._remaining: dict[int, int] = {}

    def start(self, kind: str, position: int) -> dict[int, int]:
        """Assign the partitions at a position; how many offsets lie between it and each end."""
        from confluent_kafka import TopicPartition

        wanted = [TopicPartition(self._topic, p, position) for p in self._partitions]
        if kind == "time":
            wanted = self._consumer.offsets_for_times(wanted, TIMEOUT_SECONDS)
        for item in wanted:
            low, high = self._consumer.get_watermark_offsets(item, TIMEOUT_SECONDS)
            first = {-2: low, -1: high}.get(item.offset, max(item.offset, low))
            self._remaining[item.partition] = max(0, high - first)
            self._ends[item.partition] = high
        self._consumer.assign(wanted)
        return self._remaining

    def records(self, follow: bool) -> Iterator[Any]:
        """Records as they come; without `follow` each partition stops at its end."""
        from confluent_kafka import TopicPartition

        open_partitions = {p for p in self._partitions if follow or self._remaining[p] > 0}
        while open_partitions:
            message = self._consumer.poll(POLL_SECONDS)
            if message is None:
                if not follow:
                    # Transaction markers and compaction leave ends that no record has.
                    asked = [TopicPartition(self._topic, p) for p in sorted(open_partitions)]
                    for item in self._consumer.position(asked):
                        if item.offset >= self._ends[item.partition]:
                            open_partitions.discard(item.partition)
                continue
            if message.error() is not None:
                raise click.ClickException(f"cannot consume: {message.error().str()}")
            if not follow and message.offset() + 1 >= self._ends[message.partition()]:
                open_partitions.discard(message.partition())
            yield message

    def close(self) -> None:
        """Leave the cluster."""
        self._consumer.close()


@click.command(name="consume")
@click.argument("topic")
@click.option("-p", "--partition", multiple=True, type=int, help="Default: all; may be repeated.")
@click.option(
    "--from", "start", default="beginning", show_default=True, help="beginning, end, offset, time."
)
@click.option("-f", "--follow", is_flag=True, help="Go on at the end instead of stopping there.")
@click.option("-n", "--count", type=int, help="Stop after so many records.")
@click.option("--format", "layout", type=click.Choice(FORMATS), default="value", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("-K", "--key-separator", default="\t", metavar="TEXT", help="For key-value.")
@click.option("--read-uncommitted", is_flag=True, help="Records of open transactions too.")
@bootstrap_option
def command(
    client: dict[str, Any], topic: str, partition: tuple[int, ...], start: str, **options: Any
) -> None:
    """Consume records of a topic, one a line, and stop at its end.

    \b
    tidelog consume greetings --format key-value
    tidelog consume greetings --from 2026-11-21T08:00:00+00:00 --json
    """
    from confluent_kafka import KafkaException

    isolation = "read_uncommitted" if options["read_uncommitted"] else "read_committed"
    layout = "json" if options["as_json"] else options["layout"]
    limit = options["count"]
    kind, position = parse_start(start)
    reader = Reader({"isolation.level": isolation, **client}, topic, partition)
    try:
        expected = sum(reader.start(kind, position).values())
        total = None if options["follow"] else min(expected, limit or expected)
        with progress_bar(f"consume {topic}", total, "records") as advance:
            for number, message in enumerate(reader.records(options["follow"]), 1):
                click.echo(format_record(message, layout, options["key_separator"]))
                advance(1)
                if number == limit:
                    break
    except KafkaException as error:
        raise click.ClickException(f"cannot consume: {kafka_error(error).str()}") from None
    finally:
        reader.close()
