"""The figures of the storage engine: cleaning, recovery, many partitions, group commit, look-ups.

Each brings its target into a state through requests, as any client could, and reads what it cost
from /proc or from the clock. Where the end of background work matters, it is read from the
checkpoint files, which Tidelog and Kafka write alike.
"""

import random
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench import latency, load
from bench.figures import (
    BATCH_1M,
    BATCH_16K,
    GB,
    TINY,
    Figure,
    fresh_topic,
    seconds_to_first_ack,
)
from bench.process import cpu_seconds, pss_mb
from bench.targets import Target, wait_until_answering
from bench.wire import (
    Connection,
    alter_topic,
    batch_of,
    keyed_batch,
    led_partitions,
    list_offsets_frame,
    produce_frame,
)

RECORDS = 1_000_000
KEYS = 100_000
VALUE_BYTES = 100
RECORDS_A_BATCH = 500
SEGMENTS = 1000
MANY = 10_000
ACKNOWLEDGED = 1_500
DEADLINE_S = 300
RECOVERY_THREADS = "num.recovery.threads.per.data.dir"


def _fill_with_keys(target: Target, topic: str) -> int:
    """A million records over a hundred thousand keys, each key ten times; the end offset."""
    connection = Connection(target.host, target.port)
    chance = random.Random(7)
    keys = [index % KEYS for index in range(RECORDS)]
    chance.shuffle(keys)
    for start in range(0, RECORDS, RECORDS_A_BATCH):
        batch = keyed_batch(keys[start : start + RECORDS_A_BATCH], VALUE_BYTES)
        connection.call(produce_frame(topic, 0, batch))
    connection.close()
    return RECORDS


def _compacted_topic(target: Target) -> str:
    """A full topic that will be cleaned as soon as its policy says so."""
    topic = fresh_topic(
        target, configs={"segment.bytes": str(4 << 20), "min.cleanable.dirty.ratio": "0.01"}
    )
    _fill_with_keys(target, topic)
    return topic


def _begin_cleaning(target: Target, topic: str) -> None:
    alter_topic(Connection(target.host, target.port), topic, {"cleanup.policy": "compact"})


def _cleaned_to(target: Target, topic: str) -> int:
    """The first dirty offset by the cleaner's checkpoint; 0 before the first cleaning."""
    try:
        lines = (target.data_dir / "cleaner-offset-checkpoint").read_text().splitlines()
    except OSError:
        return 0
    for line in lines[2:]:
        name, _, offset = line.split()
        if name == topic:
            return int(offset)
    return 0


def _wait_until_cleaned(target: Target, topic: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while _cleaned_to(target, topic) < RECORDS * 9 // 10:
        assert time.monotonic() < deadline, f"{target.name} did not clean {topic}"
        time.sleep(0.1)


def cleaning(target: Target, folder: Path) -> float:
    """Processor seconds of all the broker's processes to clean a million records."""
    topic = _compacted_topic(target)
    time.sleep(2)
    idle_from = cpu_seconds(target.pid)
    time.sleep(2)
    idle = (cpu_seconds(target.pid) - idle_from) / 2
    before, begin = cpu_seconds(target.pid), time.monotonic()
    _begin_cleaning(target, topic)
    _wait_until_cleaned(target, topic)
    return cpu_seconds(target.pid) - before - idle * (time.monotonic() - begin)


def latency_beside_cleaner(target: Target, folder: Path) -> float:
    """p99 in ms at 10,000/s while three other topics are cleaned."""
    topics = [_compacted_topic(target) for _ in range(3)]
    measured = fresh_topic(target)

    def clean_all() -> None:
        for topic in topics:
            _begin_cleaning(target, topic)

    starter = threading.Timer(2.0, clean_all)
    starter.start()
    found = latency.measure(f"{target.host}:{target.port}", measured, 10_000, 8)[1]
    starter.join()
    for topic in topics:
        assert _cleaned_to(target, topic), f"{topic} was not being cleaned meanwhile"
    return found


def _leave_unflushed(target: Target, batch: tuple[int, int], partitions: int) -> str:
    """1 GB in a topic, and the broker killed."""
    topic = fresh_topic(target, partitions=partitions)
    data = batch_of(*batch)
    for partition in range(partitions):
        requests = GB // partitions // len(data) + 1
        load.produce(
            target.host, target.port, produce_frame(topic, partition, data), requests, (1, 4)
        )
    target.stop(kill=True)
    return topic


def recovery_cpu(batch: tuple[int, int]) -> Callable[[Target, Path], float]:
    """Processor seconds of a start that recovers 1 GB, by one thread."""

    def measure(target: Target, folder: Path) -> float:
        target.configure(RECOVERY_THREADS, 1)
        topic = _leave_unflushed(target, batch, 1)
        seconds_to_first_ack(target, produce_frame(topic, 0, batch_of(*TINY)))
        return cpu_seconds(target.pid)

    return measure


def recovery_time(threads: int) -> Callable[[Target, Path], float]:
    """Seconds from exec to the first ack after kill -9, 8 × 125 MB in small batches."""

    def measure(target: Target, folder: Path) -> float:
        target.configure(RECOVERY_THREADS, threads)
        topic = _leave_unflushed(target, (4, 200), 8)
        return seconds_to_first_ack(target, produce_frame(topic, 7, batch_of(*TINY)))

    return measure


def _start_with_many(target: Target) -> tuple[float, float]:
    """(seconds of a clean start with 10,000 partitions, KB of memory for each of them)."""
    target.stop()
    target.start()
    wait_until_answering(target).close()
    empty = pss_mb(target.pid)
    topics = [fresh_topic(target, partitions=MANY // 10) for _ in range(10)]
    tiny = batch_of(*TINY)
    connection = Connection(target.host, target.port)
    for topic in topics:
        for partition in range(MANY // 10):
            connection.call(produce_frame(topic, partition, tiny))
    connection.close()
    target.stop()
    begin = time.monotonic()
    seconds_to_first_ack(target, produce_frame(topics[-1], MANY // 10 - 1, tiny))
    connection = wait_until_answering(target)
    for topic in topics:
        while led_partitions(connection, topic) < MANY // 10:
            time.sleep(0.005)
    took = time.monotonic() - begin
    connection.close()
    return took, (pss_mb(target.pid) - empty) * 1000 / MANY


def start_of_ten_thousand(target: Target, folder: Path) -> float:
    """Seconds from exec until 10,000 partitions are led and one takes a record."""
    return _start_with_many(target)[0]


def memory_of_a_partition(target: Target, folder: Path) -> float:
    """KB for each of 10,000 partitions after a clean start."""
    return _start_with_many(target)[1]


def group_commit(producers: int, **configs: str) -> Callable[[Target, Path], float]:
    """Milliseconds of the clock per acknowledgement, flush.messages=1, one request in flight
    each.
    """

    def measure(target: Target, folder: Path) -> float:
        topic = fresh_topic(target, configs={"flush.messages": "1", **configs})
        frame = produce_frame(topic, 0, batch_of(*TINY), acks=-1)
        count = ACKNOWLEDGED if producers == 1 else ACKNOWLEDGED * 8
        load.produce(target.host, target.port, frame, count // 8, (producers, 1))
        begin = time.monotonic()
        load.produce(target.host, target.port, frame, count, (producers, 1))
        return (time.monotonic() - begin) * 1000 / count

    return measure


def look_up_by_time(segments: int) -> Callable[[Target, Path], float]:
    """Processor microseconds of one ListOffsets by time, at random in so many segments."""

    def measure(target: Target, folder: Path) -> float:
        topic = fresh_topic(target, configs={"segment.bytes": str(1 << 20)})
        connection = Connection(target.host, target.port)
        base_ms = time.time_ns() // 1_000_000 - SEGMENTS * 1000
        for number in range(segments):
            for shape, late_ms in ((BATCH_1M, 0), (BATCH_16K, 500)):
                batch = batch_of(*shape, base_ms + number * 1000 + late_ms)
                connection.call(produce_frame(topic, 0, batch))
        connection.close()
        chance = random.Random(3)
        frames = [
            list_offsets_frame(topic, 0, base_ms + chance.randrange(segments) * 1000 + 500)
            for _ in range(500)
        ]
        _ask_all(target, frames)
        before = cpu_seconds(target.pid)
        for _ in range(20):
            _ask_all(target, frames)
        return (cpu_seconds(target.pid) - before) * 1e6 / (20 * len(frames))

    return measure


def _ask_all(target: Target, frames: list[bytes]) -> None:
    connection = Connection(target.host, target.port)
    for frame in frames:
        connection.call(frame)
    connection.close()


restarting = partial(Figure, needs_restart=True)

STORAGE_FIGURES = (
    restarting("cleaner, 1 M records, 100 k keys", "CPU s", cleaning),
    restarting("p99 beside the cleaner", "ms", latency_beside_cleaner),
    restarting("recovery of 1 GB, 16 KB batches", "CPU s", recovery_cpu(BATCH_16K)),
    restarting("recovery of 1 GB, 1 KB batches", "CPU s", recovery_cpu((1, 1000))),
    restarting("recovery of 8 × 125 MB, 1 thread", "s", recovery_time(1)),
    restarting("recovery of 8 × 125 MB, 2 threads", "s", recovery_time(2)),
    restarting("10,000 partitions, clean start", "s", start_of_ten_thousand),
    restarting("memory of a partition", "KB", memory_of_a_partition),
    Figure("fsynced acknowledgement, 1 producer", "ms", group_commit(1)),
    Figure("fsynced acknowledgement, 64 producers", "ms", group_commit(64)),
    Figure("fsynced acknowledgement, preallocated", "ms", group_commit(1, preallocate="true")),
    Figure("look-up by time, 1 segment", "CPU µs", look_up_by_time(1)),
    Figure("look-up by time, 1,000 segments", "CPU µs", look_up_by_time(SEGMENTS)),
)
