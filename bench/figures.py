"""The figures: each a short life of a target that ends in one number, smaller being better."""

import multiprocessing
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench import latency, load
from bench.process import cpu_seconds, pss_mb
from bench.targets import Floor, Target, wait_until_answering
from bench.wire import (
    Connection,
    alter_topic,
    batch_of,
    check_produced,
    create_topic,
    led_partitions,
    produce_frame,
)

GB = 1_000_000_000
TINY = (1, 88)
"""One record whose value makes it about 100 bytes on the wire."""
BATCH_16K = (16, 1000)
BATCH_64K = (64, 1000)
BATCH_1M = (1000, 1000)
SMALL_RECORDS_1M = (8000, 100)
LARGE_RECORDS_1M = (890, 1000)
PARTITIONS = 2000
CONNECTIONS = 1000


class Shape(NamedTuple):
    """A produce load: what a batch holds, how many requests, (connections, in flight each)."""

    batch: tuple[int, int]
    requests: int
    lanes: tuple[int, int] = (2, 4)


class Figure(NamedTuple):
    """One figure: its title, its unit, and how a target comes by it."""

    title: str
    unit: str
    measure: Callable[[Target, Path], float]
    floor: bool = False
    needs_restart: bool = False


def fresh_topic(target: Target, partitions: int = 1, configs: dict[str, str] | None = None) -> str:
    """The name of a topic nobody else has, its partitions led."""
    topic = f"bench-{random.randrange(1 << 40):x}"
    if target.name != "floor":
        connection = Connection(target.host, target.port)
        create_topic(connection, topic, partitions, configs or {})
        connection.close()
    return topic


def _produce_cpu(target: Target, folder: Path, shape: Shape) -> tuple[float, int]:
    """(processor seconds, bytes of batches) that the load took after a warm-up of an eighth."""
    batch = batch_of(*shape.batch)
    topic = fresh_topic(target)
    frame = produce_frame(topic, 0, batch)
    measured: Target = target
    if target.name == "floor":
        measured = Floor(folder, frame, batch, topic)
    try:
        load.produce(measured.host, measured.port, frame, max(1, shape.requests // 8), shape.lanes)
        before = cpu_seconds(measured.pid)
        load.produce(measured.host, measured.port, frame, shape.requests, shape.lanes)
        return cpu_seconds(measured.pid) - before, len(batch) * shape.requests
    finally:
        if measured is not target:
            measured.stop()


def produce_per_gb(shape: Shape) -> Callable[[Target, Path], float]:
    """Processor seconds per GB of batches."""

    def measure(target: Target, folder: Path) -> float:
        seconds, size = _produce_cpu(target, folder, shape)
        return seconds * GB / size

    return measure


def produce_per_request(shape: Shape) -> Callable[[Target, Path], float]:
    """Processor microseconds per request."""

    def measure(target: Target, folder: Path) -> float:
        return _produce_cpu(target, folder, shape)[0] * 1e6 / shape.requests

    return measure


def fetch_per_gb(target: Target, folder: Path) -> float:
    """Processor seconds per GB fetched, 1 MB a request, from the page cache."""
    batch = batch_of(*BATCH_64K)
    topic = fresh_topic(target)
    requests = GB // 2 // len(batch)
    load.produce(target.host, target.port, produce_frame(topic, 0, batch), requests, (2, 4))
    shape = (len(batch), BATCH_64K[0])
    size = (requests - 20) * len(batch)
    load.fetch(target.host, target.port, topic, size // 4, shape)
    before = cpu_seconds(target.pid)
    got = sum(load.fetch(target.host, target.port, topic, size, shape) for _ in range(4))
    return (cpu_seconds(target.pid) - before) * GB / got


def latency_at_10k(quantile: int) -> Callable[[Target, Path], float]:
    """Milliseconds from produce() to poll() at 10,000 records a second; 0 median, 1 the 99th."""

    def measure(target: Target, folder: Path) -> float:
        topic = fresh_topic(target)
        address = f"{target.host}:{target.port}"
        return latency.measure(address, topic, 10_000, 8)[quantile]

    return measure


def latency_beside_neighbours(target: Target, folder: Path) -> float:
    """p99 in ms at 10,000/s while 200 MB of old segments go and a cold 1 GB log is read."""
    batch = batch_of(*BATCH_1M)
    old = fresh_topic(target, configs={"segment.bytes": "1048576", "file.delete.delay.ms": "1000"})
    cold = fresh_topic(target)
    for topic, size in ((old, GB // 5), (cold, GB)):
        frame = produce_frame(topic, 0, batch)
        load.produce(target.host, target.port, frame, size // len(batch), (1, 2))
    for segment in target.data_dir.glob(f"{cold}-0/*.log"):
        forget_pages(segment)
    measured = fresh_topic(target)
    shape = (len(batch), BATCH_1M[0])
    readable = (GB // len(batch) - 2) * len(batch)
    neighbour = multiprocessing.get_context("spawn").Process(
        target=load.fetch, args=(target.host, target.port, cold, readable, shape)
    )
    alter_topic(Connection(target.host, target.port), old, {"retention.bytes": "1048576"})
    neighbour.start()
    found = latency.measure(f"{target.host}:{target.port}", measured, 10_000, 8)[1]
    neighbour.join()
    return found


def forget_pages(path: Path) -> None:
    """Write the file out and drop it from the page cache."""
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def seconds_to_first_ack(target: Target, frame: bytes) -> float:
    """From exec until a record is acknowledged; errors while it starts are tried again."""
    begin = time.monotonic()
    target.start()
    while True:
        try:
            connection = wait_until_answering(target)
            check_produced_now(connection, frame)
            return time.monotonic() - begin
        except (AssertionError, OSError):
            time.sleep(0.002)


def check_produced_now(connection: Connection, frame: bytes) -> None:
    """Produce one frame and check its answer."""
    connection.socket.sendall(frame)
    check_produced(connection.response())
    connection.close()


def start_warm(target: Target, folder: Path) -> float:
    """Seconds from exec to the first acknowledged record, a small data folder, clean."""
    frame = produce_frame(fresh_topic(target), 0, batch_of(*TINY))
    target.stop()
    return seconds_to_first_ack(target, frame)


def start_after_kill(target: Target, folder: Path) -> float:
    """The same after kill -9 with 100 partitions and 1 GB that was never flushed."""
    topic = fresh_topic(target, partitions=100)
    batch = batch_of(*BATCH_1M)
    for partition in range(100):
        frame = produce_frame(topic, partition, batch)
        load.produce(target.host, target.port, frame, GB // 100 // len(batch) + 1, (1, 2))
    target.stop(kill=True)
    return seconds_to_first_ack(target, produce_frame(topic, 99, batch_of(*TINY)))


def start_many(kill: bool) -> Callable[[Target, Path], float]:
    """Seconds from exec until 2,000 partitions are led and one takes a record."""

    def measure(target: Target, folder: Path) -> float:
        topic = fresh_topic(target, partitions=PARTITIONS)
        tiny = batch_of(*TINY)
        connection = Connection(target.host, target.port)
        for partition in range(PARTITIONS):
            connection.call(produce_frame(topic, partition, tiny))
        connection.close()
        target.stop(kill=kill)
        begin = time.monotonic()
        seconds_to_first_ack(target, produce_frame(topic, PARTITIONS - 1, tiny))
        connection = wait_until_answering(target)
        while led_partitions(connection, topic) < PARTITIONS:
            time.sleep(0.005)
        connection.close()
        return time.monotonic() - begin

    return measure


def idle_memory(target: Target, folder: Path) -> float:
    """MB after a start and ten seconds of nothing."""
    target.stop()
    target.start()
    wait_until_answering(target).close()
    time.sleep(10)
    return pss_mb(target.pid)


def memory_after_load(target: Target, folder: Path) -> float:
    """MB after 2 GB in and out."""
    _produce_cpu(target, folder, Shape(BATCH_64K, 16_000))
    _produce_cpu(target, folder, Shape(TINY, 200_000, (4, 32)))
    fetch_per_gb(target, folder)
    return pss_mb(target.pid)


def connection_memory(target: Target, folder: Path) -> float:
    """KB for each of 1,000 connections that said hello and went quiet."""
    first = Connection(target.host, target.port)
    led_partitions(first, "nobody")
    before = pss_mb(target.pid)
    idle = [Connection(target.host, target.port) for _ in range(CONNECTIONS)]
    for connection in idle:
        led_partitions(connection, "nobody")
    each = (pss_mb(target.pid) - before) * 1000 / CONNECTIONS
    for connection in (first, *idle):
        connection.close()
    return each


SERVING_FIGURES = (
    Figure(
        "produce, 64 KB batches", "CPU s/GB", produce_per_gb(Shape(BATCH_64K, 12_000)), floor=True
    ),
    Figure(
        "produce, 16 KB batches",
        "CPU s/GB",
        produce_per_gb(Shape(BATCH_16K, 24_000, (2, 8))),
        floor=True,
    ),
    Figure(
        "produce, one 100-byte record",
        "CPU µs/request",
        produce_per_request(Shape(TINY, 100_000, (4, 32))),
        floor=True,
    ),
    Figure(
        "produce, 1 MB batches",
        "CPU s/GB",
        produce_per_gb(Shape(BATCH_1M, 800, (2, 2))),
        floor=True,
    ),
    Figure(
        "produce, 8,000 × 100 B a batch",
        "CPU s/GB",
        produce_per_gb(Shape(SMALL_RECORDS_1M, 800, (2, 2))),
    ),
    Figure(
        "produce, 890 × 1 KB a batch",
        "CPU s/GB",
        produce_per_gb(Shape(LARGE_RECORDS_1M, 800, (2, 2))),
    ),
    Figure("fetch, 1 MB a request", "CPU s/GB", fetch_per_gb),
    Figure("end to end at 10,000/s, median", "ms", latency_at_10k(0)),
    Figure("end to end at 10,000/s, p99", "ms", latency_at_10k(1)),
    Figure(
        "p99 beside a cold read and deletions", "ms", latency_beside_neighbours, needs_restart=True
    ),
    Figure("memory of an idle connection", "KB", connection_memory),
    Figure("memory after load", "MB", memory_after_load),
    Figure("memory, idle", "MB", idle_memory, needs_restart=True),
    Figure("exec to first ack", "s", start_warm, needs_restart=True),
    Figure("exec to first ack after kill, 1 GB", "s", start_after_kill, needs_restart=True),
    Figure("2,000 partitions, clean start", "s", start_many(kill=False), needs_restart=True),
    Figure("2,000 partitions, after kill", "s", start_many(kill=True), needs_restart=True),
)
