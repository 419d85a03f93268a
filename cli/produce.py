"""tidelog produce: lines, JSON lines or generated load into a topic."""

import json
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import click

from cli.connection import admin, bootstrap_option, kafka_error
from cli.output import progress_bar

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


class Outgoing(NamedTuple):
    """One record to send; partition and timestamp are None where the broker or client chooses."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    partition: int | None = None
    timestamp: int | None = None


def parse_line(line: str, key_separator: str | None, null: str | None) -> Outgoing:
    """A plain line: `key<separator>value` with a separator, else the value alone."""
    key: str | None = None
    value: str | None = line
    if key_separator is not None:
        head, found, tail = line.partition(key_separator)
        if not found:
            raise ValueError(f"no key separator {key_separator!r} in it")
        key, value = head, tail
    return Outgoing(_bytes(key, null), _bytes(value, null), [])


def parse_json_line(line: str) -> Outgoing:
    """A JSON object with value and, as wanted, key, headers, partition, timestamp.

    Keys and values that are strings are sent as they are, null as null, all else as JSON text.
    """
    item = json.loads(line)
    if not isinstance(item, dict):
        raise ValueError("not a JSON object")
    unknown = item.keys() - {"key", "value", "headers", "partition", "timestamp", "offset", "topic"}
    if unknown:
        raise ValueError(f"unknown field {sorted(unknown)[0]!r}")
    headers = item.get("headers") or {}
    pairs = headers.items() if isinstance(headers, dict) else headers
    return Outgoing(
        _json_bytes(item.get("key")),
        _json_bytes(item.get("value")),
        [(str(name), _json_bytes(value)) for name, value in pairs],
        item.get("partition"),
        item.get("timestamp"),
    )


def _bytes(text: str | None, null: str | None) -> bytes | None:
    return None if text is None or text == null else text.encode("utf-8", "surrogateescape")


def _json_bytes(value: Any) -> bytes | None:
    if value is None:
        return None
    return (value if isinstance(value, str) else json.dumps(value)).encode()


def generated(count: int, size: int) -> Iterator[Outgoing]:
    """Records of `size` random bytes; one block is reused, so that making them costs nothing."""
    block = os.urandom(size)
    for number in range(count):
        yield Outgoing(str(number).encode(), block, [])


def parsed_lines(lines: Iterable[str], parse: Any) -> Iterator[Outgoing]:
    """Each line parsed; the first bad one ends the command with its number."""
    for number, line in enumerate(lines, 1):
        try:
            yield parse(line.rstrip("\n"))
        except ValueError as error:
            raise click.ClickException(f"line {number} of the input: {error}") from None


class Sender:
    """Sends records through one librdkafka producer and counts what became of them."""

    def __init__(self, client: dict[str, Any], topic: str, advance: Any) -> None:
        from confluent_kafka import Producer

        self.acknowledged = 0
        self.first_error: str | None = None
        self._topic = topic
        self._advance = advance
        self._producer = Producer(client)

    def send(self, record: Outgoing, headers: list[tuple[str, bytes | None]]) -> None:
        """Queue one record; waits while librdkafka's queue is full."""
        optional = {
            name: value
            for name, value in (("partition", record.partition), ("timestamp", record.timestamp))
            if value is not None
        }
        while True:
            try:
                self._producer.produce(
                    self._topic,
                    record.value,
                    record.key,
                    headers=[*headers, *record.headers],
                    on_delivery=self._delivered,
                    **optional,
                )
                break
            except BufferError:
                self._producer.poll(0.1)
        self._producer.poll(0)

    def finish(self) -> None:
        """Wait for every answer; one line and exit code 1 when a record was refused."""
        self._producer.flush()
        if self.first_error is not None:
            raise click.ClickException(
                f"not all records were accepted ({self.acknowledged} were): {self.first_error}"
            )

    def _delivered(self, error: Any, _message: Any) -> None:
        if error is None:
            self.acknowledged += 1
            self._advance(1)
        elif self.first_error is None:
            self.first_error = f"{error.name()}: {error.str()}"


def paced(records: Iterator[Outgoing], per_second: float | None) -> Iterator[Outgoing]:
    """The records at no more than the wanted rate, in steps of 10 ms."""
    if per_second is None:
        yield from records
        return
    never = threading.Event()
    allowance = 0.0
    for record in records:
        while allowance < 1:
            never.wait(0.01)
            allowance += per_second / 100
        allowance -= 1
        yield record


@click.command(name="produce")
@click.argument("topic")
@click.option("-K", "--key-separator", metavar="TEXT", help="Split each line into key and value.")
@click.option("-H", "--header", multiple=True, metavar="NAME=VALUE", help="On every record.")
@click.option("--null", metavar="TEXT", help="A key or value equal to this is null (a tombstone).")
@click.option("--json-lines", is_flag=True, help="Each line is {key, value, headers, partition}.")
@click.option("-p", "--partition", type=int, help="Default: chosen by the key.")
@click.option("-z", "--compression", type=click.Choice(CODECS), default="none", show_default=True)
@click.option("--acks", type=click.Choice(["0", "1", "all"]), default="all", show_default=True)
@click.option("--idempotent/--no-idempotent", default=True, show_default=True)
@click.option("--count", type=int, help="Make so many records instead of reading lines.")
@click.option("--size", type=int, default=100, show_default=True, help="Bytes of a made record.")
@click.option("--rate", type=float, help="At most so many records a second.")
@bootstrap_option
def command(client: dict[str, Any], topic: str, **options: Any) -> None:
    """Produce lines from standard input, or made records with --count.

    \b
    printf 'k1:hello\\nk2:world\\n' | tidelog produce greetings -K :
    tidelog produce load --count 100000 --size 200 --rate 20000 -z zstd
    """
    from confluent_kafka import KafkaException

    admin(client)  # a broker that nobody runs is told at once, not after five minutes of retries
    settings = client | {
        "compression.type": options["compression"],
        "acks": options["acks"],
        "enable.idempotence": options["idempotent"] and options["acks"] == "all",
        "queue.buffering.max.messages": 200_000,
    }
    headers = [
        (name, value.encode()) for name, _, value in (h.partition("=") for h in options["header"])
    ]
    with progress_bar(f"produce {topic}", options["count"], "records") as advance:
        try:
            sender = Sender(settings, topic, advance)
            for record in paced(_records(options), options["rate"]):
                if record.partition is None:
                    record = record._replace(partition=options["partition"])
                sender.send(record, headers)
            sender.finish()
        except KafkaException as error:
            raise click.ClickException(f"cannot produce: {kafka_error(error).str()}") from None
    click.echo(f"{sender.acknowledged} records acknowledged", err=True)


def _records(options: dict[str, Any]) -> Iterator[Outgoing]:
    if options["count"] is not None:
        return generated(options["count"], options["size"])
    if options["json_lines"]:
        return parsed_lines(sys.stdin, parse_json_line)
    separator, null = options["key_separator"], options["null"]
    return parsed_lines(sys.stdin, lambda line: parse_line(line, separator, null))
