"""A whole broker in this process: started, asked over a socket, stopped, started again."""

import asyncio
import errno
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from struct import Struct
from typing import Protocol, TypeVar

import pytest

from broker.assembly import Platform
from broker.data_directories import StartFailed
from broker.load_progress import LoadInterrupted
from broker.server import RUNNING, STOPPING, Server, serve
from config.broker_config import BrokerConfig
from config.catalogue import KEYS
from config.definition import READ_ONLY, REFUSED
from config.loading import load
from config.topic_config import BROKER_WORDS, log_config
from protocol.errors import ErrorCode
from protocol.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from protocol.model import ResourceType, TopicPartition
from protocol.schema.message import Request, Response
from runtime.clock import SystemClock
from runtime.disk import Disk, OsDisk
from runtime.metrics import Summary
from tests.support.replicas import log_of, records_of

SIZE = Struct(">i")
HEADER = Struct(">hhi")
R = TypeVar("R", bound=Response)


class FullDisk(OsDisk):
    """Lets files of one kind be written to a limit."""

    full = False

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().pwrite(fd, data, position)


def settings(tmp_path: Path, *more: str) -> BrokerConfig:
    return load(
        None,
        {},
        [
            "listeners=PLAINTEXT://127.0.0.1:0",
            f"log.dirs={tmp_path / 'data'}",
            "tidelog.metrics.listener=off",
            *more,
        ],
    )


def platform(disk: Disk | None = None) -> Platform:
    return Platform(SystemClock(), disk or OsDisk(), Summary())


class Start(Protocol):
    """Starts a broker on the test's directory."""

    def __call__(self, *more: str, disk: Disk | None = None) -> Awaitable[Server]:
        """As `platform` and `settings` take them."""


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    running: list[Server] = []

    async def begin(*more: str, disk: Disk | None = None) -> Server:
        server = Server(settings(tmp_path, *more), platform(disk))
        await server.start()
        running.append(server)
        return server

    yield begin
    for server in running:
        if server.state == RUNNING:
            await server.stop()


def address_of(server: Server, listener: str) -> tuple[str, str]:
    """Host and port that are told to clients."""
    listeners = server.ready_event()["listeners"]
    assert isinstance(listeners, dict)
    host, port = listeners[listener].split(":")
    return host, port


class Client:
    """One connection that asks one thing at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def to(cls, server: Server) -> "Client":
        host, port = address_of(server, "PLAINTEXT")
        return cls(*await asyncio.open_connection(host, int(port)))

    async def ask(self, request: Request, version: int, response_type: type[R]) -> R:
        flexible = request.is_flexible(version)
        header = HEADER.pack(request.api_key, version, 7) + b"\0\x04test" + b"\0" * flexible
        body = header + request.encode(version)
        self.writer.write(SIZE.pack(len(body)) + body)
        (size,) = SIZE.unpack(await self.reader.readexactly(4))
        answer = await self.reader.readexactly(size)
        return response_type.decode(answer, version, 4 + flexible)

    async def close(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()


async def create_topic(client: Client, name: str = "t") -> int:
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=5000)
    response = await client.ask(request, 5, CreateTopicsResponse)
    return response.topics[0].error_code


async def produce(client: Client, name: str = "t") -> tuple[int, int]:
    import time

    now_ms = time.time_ns() // 1_000_000
    partition = PartitionProduceData(index=0, records=records_of(b"value", now_ms=now_ms))
    data = TopicProduceData(name=name, partition_data=[partition])
    request = ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[data])
    response = await client.ask(request, 9, ProduceResponse)
    answer = response.responses[0].partition_responses[0]
    return answer.error_code, answer.base_offset


async def fetch(client: Client, max_wait_ms: int = 0) -> PartitionData:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    topic = FetchTopic(topic="t", partitions=[partition])
    request = FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, max_bytes=1 << 20, topics=[topic])
    response = await client.ask(request, 12, FetchResponse)
    return response.responses[0].partitions[0]


def bytes_of(data: PartitionData) -> bytes:
    assert isinstance(data.records, memoryview)
    return bytes(data.records)


async def test_records_are_served_and_survive_a_clean_restart(start: Start, tmp_path: Path) -> None:
    server = await start()
    client = await Client.to(server)
    assert await create_topic(client) == 0
    assert await produce(client) == (0, 0)
    assert b"value" in bytes_of(await fetch(client))
    await client.close()
    await server.stop()
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()
    again = await start()
    assert again.cluster_id == server.cluster_id
    client = await Client.to(again)
    assert (await fetch(client)).high_watermark == 1
    assert await produce(client) == (0, 1)
    await client.close()


async def test_flush_before_ack_syncs_before_it_answers(start: Start) -> None:
    server = await start("log.flush.interval.messages=1")
    client = await Client.to(server)
    await create_topic(client)
    assert await produce(client) == (0, 0)
    log = log_of(server.replicas.partitions[TopicPartition("t", 0)])
    assert log.flushed_end_offset == 1
    await client.close()


async def test_a_waiting_fetch_is_woken_by_another_connections_produce(start: Start) -> None:
    server = await start()
    reader, writer = await Client.to(server), await Client.to(server)
    await create_topic(writer)
    waiting = asyncio.ensure_future(fetch(reader, max_wait_ms=20_000))
    while not server.replicas.purgatories.readers.size:
        await asyncio.sleep(0)
    await produce(writer)
    assert (await waiting).high_watermark == 1
    for client in (reader, writer):
        await client.close()


async def test_stopping_answers_what_waits(start: Start) -> None:
    server = await start()
    client = await Client.to(server)
    await create_topic(client)
    waiting = asyncio.ensure_future(fetch(client, max_wait_ms=60_000))
    while not server.replicas.purgatories.readers.size:
        await asyncio.sleep(0)
    await server.stop()
    assert server.state == STOPPING
    assert (await waiting).records == b""
    await client.close()


async def test_settings_follow_the_store_live(start: Start) -> None:
    server = await start()
    client = await Client.to(server)
    await create_topic(client)
    log = log_of(server.replicas.partitions[TopicPartition("t", 0)])
    controller = server.services.controller
    await controller.set_configs("brokers", "<default>", {"log.retention.ms": "12345"})
    assert log.config.retention_ms == 12345
    await controller.set_configs("topics", "t", {"retention.ms": "777"})
    assert log.config.retention_ms == 777
    await controller.set_configs("brokers", "1", {"log.retention.ms": "5"})
    assert log.config.retention_ms == 777
    await client.close()


BROKER_DEFAULTS = {
    "log.cleanup.policy": "compact",
    "compression.gzip.level": "2",
    "compression.lz4.level": "2",
    "compression.type": "lz4",
    "compression.zstd.level": "2",
    "log.cleaner.delete.retention.ms": "2000",
    "log.segment.delete.delay.ms": "2000",
    "log.flush.interval.messages": "2000",
    "log.flush.interval.ms": "2000",
    "log.index.interval.bytes": "2000",
    "log.cleaner.max.compaction.lag.ms": "2000",
    "message.max.bytes": "2000",
    "log.message.timestamp.after.max.ms": "2000",
    "log.message.timestamp.before.max.ms": "2000",
    "log.message.timestamp.type": "LogAppendTime",
    "log.cleaner.min.cleanable.ratio": "0.25",
    "log.cleaner.min.compaction.lag.ms": "200",
    "min.insync.replicas": "2",
    "log.preallocate": "true",
    "log.retention.bytes": "2000",
    "log.retention.ms": "2000",
    "log.segment.bytes": "2000000",
    "log.index.size.max.bytes": "2000",
    "log.roll.jitter.ms": "200",
    "log.roll.ms": "2000",
    "unclean.leader.election.enable": "true",
}


async def alter(client: Client, name: str, operation: int, configs: dict[str, str]) -> int:
    resource = AlterConfigsResource(
        resource_type=ResourceType.BROKER,
        resource_name=name,
        configs=[
            AlterableConfig(
                name=key, config_operation=operation, value=value if operation == 0 else None
            )
            for key, value in configs.items()
        ],
    )
    request = IncrementalAlterConfigsRequest(resources=[resource])
    response = await client.ask(request, 1, IncrementalAlterConfigsResponse)
    assert response.responses[0].error_message is None
    return response.responses[0].error_code


def dynamic_words() -> set[str]:
    """The broker settings that speak for topic keys and may change while it runs."""
    words = {word for words in BROKER_WORDS.values() for word, _ in words}
    return {
        word for word in words if KEYS[word].dynamic != READ_ONLY and KEYS[word].status != REFUSED
    }


@pytest.mark.parametrize("name", ["", "1"])
async def test_every_broker_default_that_a_client_sets_reaches_open_logs(
    start: Start, name: str
) -> None:
    server = await start()
    client = await Client.to(server)
    await create_topic(client)
    log = log_of(server.replicas.partitions[TopicPartition("t", 0)])
    untouched = log.config
    assert set(BROKER_DEFAULTS) == dynamic_words()
    for word, value in BROKER_DEFAULTS.items():
        assert await alter(client, name, 0, {word: value}) == 0
        wanted = log_config(BrokerConfig({word: value}), {})
        assert log.config == wanted != untouched, word
        assert await alter(client, name, 1, {word: value}) == 0
        assert log.config == untouched, word
    assert await alter(client, name, 0, {"message.max.bytes": "60"}) == 0
    assert (await produce(client))[0] == ErrorCode.MESSAGE_TOO_LARGE
    assert await alter(client, name, 1, {"message.max.bytes": ""}) == 0
    assert (await produce(client))[0] == ErrorCode.NONE
    await client.close()


async def test_the_last_log_directory_failing_ends_the_broker(start: Start) -> None:
    disk = FullDisk()
    server = await start(disk=disk)
    client = await Client.to(server)
    await create_topic(client)
    disk.full = True
    assert (await produce(client))[0] == 56
    await asyncio.wait_for(server.failed, 10)
    disk.full = False
    await client.close()


async def test_one_of_two_directories_failing_leaves_the_other_serving(
    start: Start, tmp_path: Path
) -> None:
    disk = FullDisk()
    server = await start(f"log.dirs={tmp_path / 'data'},{tmp_path / 'more'}", disk=disk)
    client = await Client.to(server)
    await create_topic(client, "a")
    await create_topic(client, "b")
    disk.full = True
    assert (await produce(client, name="a"))[0] == 56
    disk.full = False
    assert (await produce(client, name="b"))[0] == 0
    assert not server.failed.done()
    await client.close()


async def test_metrics_are_served_and_tell_readiness(start: Start) -> None:
    server = await start("tidelog.metrics.listener=127.0.0.1:0")
    host, port = str(server.ready_event()["metrics"]).split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"GET /readyz HTTP/1.1\r\n\r\n")
    assert (await reader.read()).startswith(b"HTTP/1.1 200")
    writer.close()
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
    page = await reader.read()
    writer.close()
    for name in (b"brokerstate 3", b"tidelog_loop_lag_seconds", b"process_cpu_seconds_total"):
        assert name in page


class GatedDisk(OsDisk):
    """Lets nobody look into one partition's log before `gate` is open."""

    def __init__(self, name: str = "t-0") -> None:
        self.gate = threading.Event()
        self.reached = threading.Event()
        self.name = name

    def listdir(self, path: str) -> list[str]:
        if path.endswith(self.name):
            self.reached.set()
            assert self.gate.wait(20)
        return super().listdir(path)


async def ask_http(address: str | None, path: bytes) -> bytes:
    assert address is not None
    host, port = address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"GET %s HTTP/1.1\r\n\r\n" % path)
    page = await reader.read()
    writer.close()
    return page


async def leave_topics(start: Start, names: str) -> None:
    """A data directory of a broker that ran, made these topics and was stopped."""
    server = await start()
    client = await Client.to(server)
    for name in names:
        await create_topic(client, name)
    await client.close()
    await server.stop()


async def test_a_recovery_can_be_watched(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await leave_topics(start, "t")
    (tmp_path / "data" / ".kafka_cleanshutdown").unlink()
    monkeypatch.setattr("broker.server.LONG_LOAD_S", 0)
    disk = GatedDisk()
    server = Server(settings(tmp_path, "tidelog.metrics.listener=127.0.0.1:0"), platform(disk))
    starting = asyncio.ensure_future(server.start())
    while not disk.reached.is_set():
        await asyncio.sleep(0)
    assert (await ask_http(server.metrics_address, b"/readyz")).startswith(b"HTTP/1.1 503")
    assert (await ask_http(server.metrics_address, b"/healthz")).startswith(b"HTTP/1.1 200")
    page = await ask_http(server.metrics_address, b"/metrics")
    for line in (
        b"brokerstate 2.0",
        b"tidelog_recovery_logs 1.0",
        b"tidelog_recovery_logs_loaded 0.0",
        b'remaininglogstorecover{dir="%s"} ' % str(tmp_path / "data").encode(),
    ):
        assert line in page
    disk.gate.set()
    await starting
    assert (await ask_http(server.metrics_address, b"/readyz")).startswith(b"HTTP/1.1 200")
    await server.stop()


ONE_THREAD = "num.recovery.threads.per.data.dir=1"


@pytest.mark.parametrize("clean", [True, False])
async def test_a_start_interrupted_while_logs_load_ends_before_the_next(
    start: Start, tmp_path: Path, clean: bool
) -> None:
    await leave_topics(start, "tuvw")
    mark = tmp_path / "data" / ".kafka_cleanshutdown"
    if not clean:
        mark.unlink()
    disk = GatedDisk()
    server = Server(settings(tmp_path, ONE_THREAD), platform(disk))
    starting = asyncio.ensure_future(server.start())
    while not disk.reached.is_set():
        await asyncio.sleep(0)
    server.interrupt_start()
    disk.gate.set()
    with pytest.raises(LoadInterrupted):
        await starting
    assert server.load_progress.done == int(clean), "a recovery ends in its midst"
    assert mark.exists() is clean
    server = await start()
    assert len(server.logs.all_logs()) == 4


async def test_serving_ends_with_zero_on_a_signal_while_logs_load(
    start: Start, tmp_path: Path
) -> None:
    await leave_topics(start, "tu")
    disk = GatedDisk()
    loop = asyncio.get_running_loop()
    announced: list[dict[str, object]] = []
    serving = asyncio.ensure_future(
        serve(settings(tmp_path, ONE_THREAD), platform(disk), announced.append)
    )
    try:
        while not disk.reached.is_set():
            await asyncio.sleep(0)
        os.kill(os.getpid(), signal.SIGTERM)
        loop.call_later(0.05, disk.gate.set)
        assert await serving == 0
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
    assert announced == []


async def test_a_taken_metrics_port_refuses_the_start_before_anything_is_touched(
    start: Start, tmp_path: Path
) -> None:
    await leave_topics(start, "t")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = Server(
            settings(tmp_path, f"tidelog.metrics.listener=127.0.0.1:{port}"), platform()
        )
        with pytest.raises(StartFailed, match=r"tidelog\.metrics\.listener"):
            await server.start()
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


async def test_a_refused_start_gives_ports_and_locks_back(tmp_path: Path, start: Start) -> None:
    data = tmp_path / "data" / "t-0"
    data.mkdir(parents=True)
    server = Server(settings(tmp_path), platform())
    with pytest.raises(StartFailed, match="metadata store"):
        await server.start()
    assert sorted(os.listdir(tmp_path / "data")) == [".lock", "t-0"]
    data.rmdir()
    await start()


async def test_serving_ends_with_zero_on_a_signal(tmp_path: Path) -> None:
    announced: list[dict[str, object]] = []

    def announce(event: dict[str, object]) -> None:
        announced.append(event)
        os.kill(os.getpid(), signal.SIGTERM)

    loop = asyncio.get_running_loop()
    try:
        assert await serve(settings(tmp_path), platform(), announce) == 0
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
    assert announced[0]["event"] == "ready"
