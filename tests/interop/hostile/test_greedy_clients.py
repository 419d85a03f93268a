"""Clients that take time, memory, connections or files: what each costs is bounded, and theirs.

Latency bounds are far above what is measured (a millisecond), for machines that do other work; the
damage they guard against was seconds.
"""

import os
import resource
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from protocol.errors import ErrorCode
from protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from protocol.messages.incremental_alter_configs import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.records.builder import build_batch
from protocol.records.compression import Codec
from protocol.records.record import Record
from protocol.schema.message import Request
from pytest_tidelog.broker import Broker
from pytest_tidelog.client import create_topic
from tests.interop.hostile.wire import (
    Wire,
    batch,
    encoded,
    fetch_request,
    forget_peak,
    metric,
    now_ms,
    open_files,
    peak_bytes,
    produce_request,
    resident_bytes,
    until,
)

TOPIC = "target"
MEGABYTE = 1 << 20
LATENCY_S = 1.5
PATIENT_MS = 60_000


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    running = Broker(
        tmp_path_factory.mktemp("greedy") / "data",
        {"queued.max.request.bytes": 150 * MEGABYTE, "socket.listen.backlog.size": 1024},
    ).start()
    create_topic(running.bootstrap_servers, TOPIC)
    yield running
    assert running.stop() == 0


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Callable[..., Broker]]:
    """Starts a broker of the test's own, with these settings."""
    running: list[Broker] = []

    def start(**settings: object) -> Broker:
        overrides = {key.replace("_", "."): value for key, value in settings.items()}
        running.append(Broker(tmp_path / "data", overrides).start())
        create_topic(running[0].bootstrap_servers, TOPIC)
        return running[0]

    yield start
    for one in running:
        one.close()


@pytest.fixture
def neighbour(broker: Broker) -> Iterator[Wire]:
    """Another client, served before and after."""
    with Wire(broker.bootstrap_servers) as wire:
        assert wire.ping() < LATENCY_S
        yield wire
        assert wire.ping() < LATENCY_S
        assert wire.produce(TOPIC, batch(b"after")).error_code == 0


def crowd(stack: ExitStack, broker: Broker, count: int) -> list[Wire]:
    return [stack.enter_context(Wire(broker.bootstrap_servers)) for _ in range(count)]


# Time.


def test_a_client_that_sends_byte_by_byte_is_served_and_delays_nobody(
    broker: Broker, neighbour: Wire
) -> None:
    with Wire(broker.bootstrap_servers) as slow:
        for byte in encoded(produce_request(TOPIC, batch(b"slow")), 9):
            slow.send(bytes((byte,)))
            assert neighbour.ping() < LATENCY_S
        assert slow.receive_frame()


LARGE: dict[str, tuple[Request, int]] = {
    "metadata of unknown topics": (
        MetadataRequest(
            topics=[MetadataRequestTopic(name=f"no-{n}") for n in range(49_000)],
            allow_auto_topic_creation=False,
        ),
        9,
    ),
    "offsets of unknown partitions": (
        ListOffsetsRequest(
            replica_id=-1,
            topics=[
                ListOffsetsTopic(
                    name=TOPIC,
                    partitions=[
                        ListOffsetsPartition(partition_index=n, timestamp=-1) for n in range(49_000)
                    ],
                )
            ],
        ),
        7,
    ),
    "settings of one topic again and again": (
        DescribeConfigsRequest(
            resources=[DescribeConfigsResource(resource_type=2, resource_name=TOPIC)] * 49_000,
            include_documentation=True,
            include_synonyms=True,
        ),
        4,
    ),
    "changes of unknown topics": (
        IncrementalAlterConfigsRequest(
            resources=[
                AlterConfigsResource(resource_type=2, resource_name=f"no-{n}", configs=[])
                for n in range(49_000)
            ],
            validate_only=True,
        ),
        1,
    ),
}


@pytest.mark.parametrize(("request_", "version"), LARGE.values(), ids=LARGE)
def test_a_request_of_as_many_items_as_are_allowed_costs_bounded_time_and_memory(
    broker: Broker, neighbour: Wire, request_: Request, version: int
) -> None:
    forget_peak(broker)
    before = resident_bytes(broker)
    with Wire(broker.bootstrap_servers) as wire:
        wire.send(encoded(request_, version))
        assert neighbour.ping() < 2 * LATENCY_S
        assert len(wire.receive_frame()) < 20 * MEGABYTE
    assert peak_bytes(broker) < before + 150 * MEGABYTE


def test_a_time_is_found_among_a_million_records_without_making_them(
    broker: Broker, neighbour: Wire
) -> None:
    create_topic(broker.bootstrap_servers, "crowded")
    records = [Record(0, now_ms(), None, None, [])] * 300_000
    crowded = build_batch(records, codec=Codec.ZSTD)
    wanted = ListOffsetsPartition(partition_index=0, timestamp=1)
    topic = ListOffsetsTopic(name="crowded", partitions=[wanted])
    with Wire(broker.bootstrap_servers) as wire:
        assert wire.produce("crowded", crowded).error_code == 0
        forget_peak(broker)
        before = resident_bytes(broker)
        answer = wire.ask(ListOffsetsRequest(replica_id=-1, topics=[topic]), 7)
        assert answer.topics[0].partitions[0].offset == 0
    assert peak_bytes(broker) < before + 25 * MEGABYTE


# Memory.


def test_half_of_fifty_large_frames_cost_what_requests_may_hold(
    broker: Broker, neighbour: Wire
) -> None:
    before = resident_bytes(broker)
    forget_peak(broker)
    half = struct.pack(">i", 100 * 1024 * 1024) + bytes(50 * MEGABYTE)
    with ExitStack() as stack:
        for wire in crowd(stack, broker, 50):
            wire.send_what_fits(half, quiet_s=0.02)
            assert neighbour.ping() < LATENCY_S
        # The cap, one frame beyond it, moved as it grows, and a turn's bytes of each connection.
        assert peak_bytes(broker) < before + (150 + 100 + 100 + 50) * MEGABYTE
    until(lambda: resident_bytes(broker) < before + 60 * MEGABYTE)


def test_claims_of_large_frames_cost_nothing(broker: Broker, neighbour: Wire) -> None:
    before = resident_bytes(broker)
    forget_peak(broker)
    with ExitStack() as stack:
        for wire in crowd(stack, broker, 300):
            wire.send(struct.pack(">i", 100 * 1024 * 1024) + b"\0\0\0\x09")
        neighbour.ping()
        assert peak_bytes(broker) < before + 15 * MEGABYTE


def test_what_piles_up_behind_a_waiting_request_stays_with_the_client(
    broker: Broker, neighbour: Wire
) -> None:
    before = resident_bytes(broker)
    forget_peak(broker)
    waiting = encoded(fetch_request(TOPIC, neighbour.end_offset(TOPIC), max_wait_ms=PATIENT_MS), 12)
    ask = encoded(MetadataRequest(topics=[]), 9)
    pile = waiting + ask * (8 * MEGABYTE // len(ask))
    with ExitStack() as stack:
        for wire in crowd(stack, broker, 20):
            wire.send_what_fits(pile, quiet_s=0.02)
            assert neighbour.ping() < LATENCY_S
        assert peak_bytes(broker) < before + 30 * MEGABYTE
        assert neighbour.produce(TOPIC, batch(b"wakes them")).error_code == 0


def test_readers_that_never_read_cost_no_memory(broker: Broker, neighbour: Wire) -> None:
    """Each asks for a gigabyte, a hundred times over what the socket takes."""
    create_topic(broker.bootstrap_servers, "large")
    value = os.urandom(1_000_000)
    for _ in range(30):
        assert neighbour.produce("large", batch(value)).error_code == 0
    before = resident_bytes(broker)
    forget_peak(broker)
    wanted = encoded(fetch_request("large", 0, max_bytes=1 << 30), 12)
    with ExitStack() as stack:
        for _ in range(20):
            wire = Wire(broker.bootstrap_servers, receive_buffer_bytes=4096)
            stack.enter_context(wire)
            wire.send(wanted * 35)
        for _ in range(20):
            assert neighbour.ping() < LATENCY_S
        assert peak_bytes(broker) < before + 15 * MEGABYTE
    files = open_files(broker)
    until(lambda: open_files(broker) <= files)


def test_fetch_sessions_of_partitions_that_do_not_exist_fill_no_memory(
    broker: Broker, neighbour: Wire
) -> None:
    before = resident_bytes(broker)
    request = fetch_request("no-such-topic", 0)
    request.session_epoch = 0
    first = request.topics[0].partitions[0]
    for index in range(1, 20_000):
        wanted = type(first)(partition=index, fetch_offset=0, partition_max_bytes=1)
        request.topics[0].partitions.append(wanted)
    data = encoded(request, 12)
    for _ in range(12):
        with Wire(broker.bootstrap_servers) as wire:
            wire.send(data)
            wire.receive_frame()
    # Two hundred thousand are kept: ten such sessions.
    assert resident_bytes(broker) < before + 110 * MEGABYTE


# Connections.


def test_thousands_of_connections_opened_and_dropped_leave_nothing(
    broker: Broker, neighbour: Wire
) -> None:
    files = open_files(broker)
    before = resident_bytes(broker)
    room = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100
    at_once = min(500, room)
    for _ in range(5000 // at_once):
        with ExitStack() as stack:
            crowd(stack, broker, at_once)
            assert neighbour.ping() < LATENCY_S
    until(lambda: open_files(broker) <= files)
    assert resident_bytes(broker) < before + 30 * MEGABYTE


def test_more_connections_than_allowed_wait_until_one_leaves(
    small: Callable[..., Broker],
) -> None:
    broker = small(max_connections=3)
    with ExitStack() as stack:
        first = crowd(stack, broker, 3)
        for wire in first:
            wire.ping()
        late = stack.enter_context(Wire(broker.bootstrap_servers))
        late.send(encoded(MetadataRequest(topics=[]), 9))
        for wire in first:
            wire.ping()
        first[0].socket.close()
        assert late.receive_frame()


def test_more_connections_of_one_address_than_allowed_are_closed(
    small: Callable[..., Broker],
) -> None:
    broker = small(**{"max.connections.per.ip": 2})
    with ExitStack() as stack:
        first = crowd(stack, broker, 2)
        for wire in first:
            wire.ping()
        for wire in crowd(stack, broker, 3):
            assert wire.closed()
        assert until(lambda: metric(broker, "tidelog_connections_refused_total")) == 3
        first[0].ping()


def test_idle_connections_are_closed_and_waiting_ones_are_not(
    small: Callable[..., Broker],
) -> None:
    broker = small(**{"connections.max.idle.ms": 300})
    with ExitStack() as stack:
        idle, waiting = crowd(stack, broker, 2)
        idle.ping()
        waiting.send(encoded(fetch_request(TOPIC, 0, max_wait_ms=900), 12))
        assert idle.closed()
        assert waiting.receive_frame()


STOPPED_READER = """
import socket, sys, time
host, port, data = sys.argv[1], int(sys.argv[2]), bytes.fromhex(sys.argv[3])
sock = socket.socket()
sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
sock.connect((host, port))
sock.sendall(data)
sys.stdout.write("asked")
sys.stdout.flush()
time.sleep(60)
"""


def test_a_stopped_client_gives_back_its_connection_and_its_files(
    small: Callable[..., Broker],
) -> None:
    """SIGSTOP: its kernel keeps the connection, nobody reads. As idle as one that says nothing."""
    broker = small(**{"connections.max.idle.ms": 500})
    with Wire(broker.bootstrap_servers) as other:
        for _ in range(8):
            assert other.produce(TOPIC, batch(os.urandom(1_000_000))).error_code == 0
    until(lambda: metric(broker, "tidelog_connections") == 0)
    files = open_files(broker)
    host, _, port = broker.bootstrap_servers.rpartition(":")
    wanted = encoded(fetch_request(TOPIC, 0, max_bytes=1 << 30), 12).hex()
    client = subprocess.Popen(
        [sys.executable, "-c", STOPPED_READER, host, port, wanted], stdout=subprocess.PIPE
    )
    try:
        assert client.stdout is not None
        assert client.stdout.read(5) == b"asked"
        client.send_signal(signal.SIGSTOP)
        until(lambda: open_files(broker) <= files)
        with Wire(broker.bootstrap_servers) as other:
            assert other.fetch(TOPIC, 0).error_code == ErrorCode.NONE
    finally:
        client.kill()
        client.wait()
        assert client.stdout is not None
        client.stdout.close()
