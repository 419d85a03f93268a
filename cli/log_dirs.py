"""tidelog log-dirs: what lies in which log directory of which broker, and moving it to another.

librdkafka has no calls for log directories, so these two requests are sent on a plain connection
of our own; a listener that wants TLS or SASL is told so.
"""

import itertools
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import click

from cli.connection import TIMEOUT_SECONDS, admin, bootstrap_option, json_option
from cli.output import print_json, print_table, progress_bar
from protocol.errors import ErrorCode
from protocol.headers import decode_response_header, encode_request
from protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from protocol.schema.message import RESPONSES, Request, Response

CLIENT_ID = "tidelog"
LOOK_AGAIN_SECONDS = 0.2
R = TypeVar("R", bound=Response)


class Connection:
    """One blocking connection to one broker, which speaks the newest versions both know."""

    def __init__(self, connected_socket: socket.socket) -> None:
        self._socket = connected_socket
        self._numbers = itertools.count(1)
        answer = self._exchange(ApiVersionsRequest(), 0, ApiVersionsResponse)
        self._newest = {int(one.api_key): int(one.max_version) for one in answer.api_keys}

    def ask(self, request: Request, response_type: type[R]) -> R:
        """The answer; one line of error where the broker does not know the request."""
        newest = self._newest.get(int(request.api_key))
        if newest is None:
            raise click.ClickException(f"this broker does not serve {request.api_key.name}")
        version = min(newest, request.valid_versions.stop - 1)
        return self._exchange(request, version, response_type)

    def _exchange(self, request: Request, version: int, response_type: type[R]) -> R:
        self._socket.sendall(encode_request(request, version, next(self._numbers), CLIENT_ID))
        (size,) = struct.unpack(">i", self._receive(4))
        answer = self._receive(size)
        _, at = decode_response_header(answer, request.api_key, version)
        decoded = RESPONSES[request.api_key].decode(answer, version, at)
        assert isinstance(decoded, response_type)
        return decoded

    def _receive(self, nbytes: int) -> bytes:
        parts = bytearray()
        while len(parts) < nbytes:
            part = self._socket.recv(nbytes - len(parts))
            if not part:
                raise click.ClickException(
                    "the broker closed the connection; does its listener want TLS or SASL?"
                )
            parts += part
        return bytes(parts)


class Broker(NamedTuple):
    """Where one broker listens."""

    number: int
    host: str
    port: int


@contextmanager
def connected(broker: Broker) -> Iterator[Connection]:
    """A connection to this broker."""
    address = broker.host, broker.port
    try:
        opened = socket.create_connection(address, TIMEOUT_SECONDS)
    except OSError as error:
        raise click.ClickException(
            f"broker {broker.number} cannot be reached at {broker.host}:{broker.port}: {error}"
        ) from None
    with opened:
        yield Connection(opened)


def brokers_of(client: dict[str, Any], wanted: int | None = None) -> list[Broker]:
    """The brokers of the cluster, or the one wanted."""
    found = admin(client).list_topics(timeout=TIMEOUT_SECONDS).brokers.values()
    brokers = sorted(Broker(one.id, one.host, one.port) for one in found)
    if wanted is None:
        return brokers
    chosen = [one for one in brokers if one.number == wanted]
    if not chosen:
        raise click.ClickException(f"no such broker: {wanted}")
    return chosen


def described(
    connection: Connection, topics: tuple[str, ...] = (), partition: int = 0
) -> list[DescribeLogDirsResult]:
    """The directories with one partition of each topic; of all topics without a name."""
    wanted = [DescribableLogDirTopic(topic=topic, partitions=[partition]) for topic in topics]
    answer = connection.ask(DescribeLogDirsRequest(topics=wanted or None), DescribeLogDirsResponse)
    if answer.error_code:
        raise click.ClickException(ErrorCode(answer.error_code).name)
    return answer.results


@click.group(name="log-dirs")
def command() -> None:
    """List log directories and move partitions between them."""


@command.command("list")
@click.argument("topics", nargs=-1)
@bootstrap_option
@json_option
def list_log_dirs(client: dict[str, Any], topics: tuple[str, ...], as_json: bool) -> None:
    """The log directories of every broker; with TOPICS, the replicas in them."""
    rows: list[dict[str, object]] = []
    for broker in brokers_of(client):
        with connected(broker) as connection:
            for result in described(connection):
                rows += replica_rows(broker, result, topics) if topics else [row(broker, result)]
    if as_json:
        print_json(rows)
    elif rows:
        print_table(tuple(rows[0]), [tuple(one.values()) for one in rows])
    else:
        click.echo(f"no replicas of {', '.join(topics)}")


def row(broker: Broker, result: DescribeLogDirsResult) -> dict[str, object]:
    """One directory."""
    replicas = [one for topic in result.topics for one in topic.partitions]
    state = ErrorCode(result.error_code).name if result.error_code else "online"
    return {
        "broker": broker.number,
        "log_dir": result.log_dir,
        "state": "cordoned" if result.is_cordoned else state,
        "replicas": sum(not one.is_future_key for one in replicas),
        "arriving": sum(one.is_future_key for one in replicas),
        "bytes": sum(one.partition_size for one in replicas),
        "free_bytes": result.usable_bytes,
        "total_bytes": result.total_bytes,
    }


def replica_rows(
    broker: Broker, result: DescribeLogDirsResult, topics: tuple[str, ...]
) -> list[dict[str, object]]:
    """The replicas of these topics in one directory."""
    return [
        {
            "broker": broker.number,
            "log_dir": result.log_dir,
            "topic": topic.name,
            "partition": one.partition_index,
            "bytes": one.partition_size,
            "lag": one.offset_lag,
            "state": "arriving" if one.is_future_key else "current",
        }
        for topic in result.topics
        if topic.name in topics
        for one in topic.partitions
    ]


@command.command("move")
@click.argument("topic")
@click.argument("partition", type=int)
@click.argument("log_dir")
@click.option("--broker", type=int, help="Whose replica; may be left out with one broker.")
@click.option("--wait/--no-wait", default=True, help="Return when it is there.")
@bootstrap_option
def move(
    client: dict[str, Any], topic: str, partition: int, log_dir: str, broker: int | None, wait: bool
) -> None:
    """Move a replica to LOG_DIR, an absolute path out of the broker's log.dirs.

    Naming the directory where it is ends a move to another one.
    """
    brokers = brokers_of(client, broker)
    if len(brokers) > 1:
        raise click.UsageError("several brokers: say whose replica with --broker")
    with connected(brokers[0]) as connection:
        wanted = AlterReplicaLogDirTopic(name=topic, partitions=[partition])
        request = AlterReplicaLogDirsRequest(
            dirs=[AlterReplicaLogDir(path=log_dir, topics=[wanted])]
        )
        answer = connection.ask(request, AlterReplicaLogDirsResponse)
        code = ErrorCode(answer.results[0].partitions[0].error_code)
        if code != ErrorCode.NONE:
            raise click.ClickException(f"cannot move {topic}-{partition}: {code.name}")
        if wait:
            watch(connection, topic, partition, log_dir)
    click.echo(f"{'moved' if wait else 'moving'} {topic}-{partition} to {log_dir}")


def watch(connection: Connection, topic: str, partition: int, log_dir: str) -> None:
    """Return when the replica is in the directory, with a bar until then."""
    shown = 0
    pause = threading.Event()
    with progress_bar(
        f"{topic}-{partition}", size_of(connection, topic, partition), "bytes"
    ) as bar:
        while True:
            places = {
                result.log_dir: one
                for result in described(connection, (topic,), partition)
                for entry in result.topics
                for one in entry.partitions
            }
            there = places.get(log_dir)
            if there is None:
                raise click.ClickException(
                    f"the move of {topic}-{partition} was ended; the broker's log says why"
                )
            bar(there.partition_size - shown)
            shown = there.partition_size
            if not there.is_future_key:
                return
            pause.wait(LOOK_AGAIN_SECONDS)


def size_of(connection: Connection, topic: str, partition: int) -> int:
    """Bytes of the replica where it is now."""
    sizes = [
        one.partition_size
        for result in described(connection, (topic,), partition)
        for entry in result.topics
        for one in entry.partitions
    ]
    return max(sizes, default=0)
