"""A real broker over several log directories: moves under load, and disks that fail.

Asked by our own codec, and once by kafka-python's admin client; records go through librdkafka,
whose producer is idempotent.
"""

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResult
from pytest_tidelog.broker import Broker
from tests.interop.hostile.wire import Wire
from tests.support.tiny_disk import tiny_file_system

TOPIC = "moving"
NODE = 1
VALUE = 8_000
DEADLINE_S = 60
PAUSE_S = 0.005
"""Between 400 KB of records: some tens of MB a second, so that a slow machine keeps up."""


class Lag(NamedTuple):
    """A replica in a directory, as DescribeLogDirs tells."""

    size: int
    lag: int
    is_future: bool


class Cluster:
    """One broker with three log directories, and what is asked of it."""

    def __init__(self, root: Path, **settings: object) -> None:
        self.dirs = [str(root / name) for name in ("one", "two", "three")]
        self.broker = Broker(Path(",".join(self.dirs)), settings).start()
        self.address = self.broker.bootstrap_servers

    def close(self) -> None:
        self.broker.close()

    def create(self, topic: str, partitions: int = 1, wait_s: float = 20) -> None:
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient({"bootstrap.servers": self.address})
        admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(wait_s)

    def move(self, log_dir: str, topic: str = TOPIC, partition: int = 0) -> int:
        """The error code of AlterReplicaLogDirs."""
        wanted = AlterReplicaLogDirTopic(name=topic, partitions=[partition])
        request = AlterReplicaLogDirsRequest(
            dirs=[AlterReplicaLogDir(path=log_dir, topics=[wanted])]
        )
        with Wire(self.address) as wire:
            answer = wire.ask(request, 2)
        return int(answer.results[0].partitions[0].error_code)

    def described(self) -> list[DescribeLogDirsResult]:
        with Wire(self.address) as wire:
            return list(wire.ask(DescribeLogDirsRequest(topics=None), 5).results)

    def replicas(self, topic: str = TOPIC) -> dict[tuple[str, int], Lag]:
        """By directory and partition."""
        return {
            (one.log_dir, replica.partition_index): Lag(
                replica.partition_size, replica.offset_lag, replica.is_future_key
            )
            for one in self.described()
            for entry in one.topics
            for replica in entry.partitions
            if entry.name == topic
        }

    def set(self, key: str, value: str) -> None:
        from confluent_kafka.admin import (
            AdminClient,
            AlterConfigOpType,
            ConfigEntry,
            ConfigResource,
        )

        entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(
            ConfigResource.Type.BROKER, str(NODE), incremental_configs=[entry]
        )
        admin = AdminClient({"bootstrap.servers": self.address})
        for answer in admin.incremental_alter_configs([resource]).values():
            answer.result(10)

    def lives_in(self, log_dir: str) -> bool:
        return list(self.replicas()) == [(log_dir, 0)]


def until(what: Callable[[], bool], seconds: float = DEADLINE_S) -> float:
    """Wait for it; how long that took."""
    started = time.monotonic()
    while not what():
        assert time.monotonic() - started < seconds, "this does not happen"
        time.sleep(0.02)
    return time.monotonic() - started


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path, **{"log.segment.bytes": 16 << 20, "log.segment.delete.delay.ms": 1000})
    made.create(TOPIC)
    yield made
    made.close()


class Writer(threading.Thread):
    """Produces numbered records until it is told to stop; counts what was acknowledged."""

    def __init__(self, address: str, size: int = VALUE) -> None:
        super().__init__(daemon=True)
        self.address = address
        self.size = size
        self.acknowledged = 0
        self.sent = 0
        self.errors: list[object] = []
        self.stopping = threading.Event()

    def delivered(self, error: object, _message: object) -> None:
        if error is None:
            self.acknowledged += 1
        else:
            self.errors.append(error)

    def run(self) -> None:
        from confluent_kafka import Producer

        producer = Producer(
            {
                "bootstrap.servers": self.address,
                "enable.idempotence": True,
                "linger.ms": 5,
                "log_level": 0,
                "queue.buffering.max.messages": 2000,
            }
        )
        while not self.stopping.is_set():
            try:
                producer.produce(
                    TOPIC,
                    b"%012d" % self.sent + bytes(self.size),
                    partition=0,
                    on_delivery=self.delivered,
                )
            except BufferError:
                producer.poll(0.05)
                continue
            self.sent += 1
            producer.poll(0)
            if not self.sent % 50:
                time.sleep(PAUSE_S)
        assert producer.flush(DEADLINE_S) == 0

    def __enter__(self) -> "Writer":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self.join()


class Reader(threading.Thread):
    """Reads along from the beginning: the numbers it sees."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        self.address = address
        self.seen: list[int] = []
        self.wanted: int | None = None

    def run(self) -> None:
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer(
            {"bootstrap.servers": self.address, "group.id": "none", "enable.auto.commit": False}
        )
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        deadline = time.monotonic() + DEADLINE_S
        while self.wanted is None or len(self.seen) < self.wanted:
            if time.monotonic() > deadline:
                break
            message = consumer.poll(0.5)
            if message is not None and message.error() is None:
                value = message.value()
                assert value is not None
                self.seen.append(int(value[:12]))
        consumer.close()


@pytest.mark.parametrize("megabytes", [24, pytest.param(200, marks=pytest.mark.long)])
def test_a_log_moves_while_it_is_written_and_read(cluster: Cluster, megabytes: int) -> None:
    """Twice around: each time a third more has been written before."""
    third = (megabytes << 20) // 3
    home = next(iter(cluster.replicas()))[0]
    targets = [path for path in cluster.dirs if path != home]
    reader = Reader(cluster.address)
    reader.start()
    with Writer(cluster.address) as writer:
        until(lambda: writer.acknowledged * VALUE > third)
        assert cluster.move(targets[0]) == 0
        until(lambda: cluster.lives_in(targets[0]))
        until(lambda: writer.acknowledged * VALUE > 2 * third)
        assert cluster.move(targets[1]) == 0
        until(lambda: cluster.lives_in(targets[1]))
        until(lambda: writer.acknowledged * VALUE > 3 * third)
        assert cluster.move(home) == 0
        until(lambda: cluster.lives_in(home))
    assert writer.errors == []
    reader.wanted = writer.acknowledged
    reader.join()
    assert reader.seen == list(range(writer.acknowledged))
    until(lambda: [p for p in cluster.dirs for n in os.listdir(p) if n.startswith(TOPIC)] == [home])
    assert "ERROR" not in cluster.broker.log


def test_a_move_keeps_to_its_rate_and_hears_of_another(cluster: Cluster) -> None:
    home = next(iter(cluster.replicas()))[0]
    target = next(path for path in cluster.dirs if path != home)
    with Writer(cluster.address) as writer:
        until(lambda: writer.acknowledged * VALUE > 40 << 20)
    size = cluster.replicas()[home, 0].size
    rate = size // 5
    cluster.set("replica.alter.log.dirs.io.max.bytes.per.second", str(rate))
    started = time.monotonic()
    assert cluster.move(target) == 0
    until(lambda: (target, 0) in cluster.replicas())
    first = cluster.replicas()[target, 0]
    assert first.is_future
    assert first.lag > 0
    until(lambda: time.monotonic() - started > 2)
    passed = time.monotonic() - started
    copied = cluster.replicas()[target, 0].size
    assert 0.8 * rate < copied / passed < 1.2 * rate
    cluster.set("replica.alter.log.dirs.io.max.bytes.per.second", str(1 << 40))
    assert until(lambda: cluster.lives_in(target)) < 3


def test_a_move_goes_on_after_a_kill(cluster: Cluster) -> None:
    home = next(iter(cluster.replicas()))[0]
    target = next(path for path in cluster.dirs if path != home)
    with Writer(cluster.address) as writer:
        until(lambda: writer.acknowledged * VALUE > 30 << 20)
    cluster.set("replica.alter.log.dirs.io.max.bytes.per.second", str(8 << 20))
    assert cluster.move(target) == 0
    until(
        lambda: (target, 0) in cluster.replicas() and cluster.replicas()[target, 0].size > 1 << 20
    )
    cluster.broker.kill()
    cluster.broker.start()
    cluster.set("replica.alter.log.dirs.io.max.bytes.per.second", str(1 << 40))
    until(lambda: cluster.lives_in(target))
    reader = Reader(cluster.address)
    reader.wanted = writer.acknowledged
    reader.run()
    assert reader.seen == list(range(writer.acknowledged))


def test_refusals_are_those_of_kafka(cluster: Cluster) -> None:
    home = next(iter(cluster.replicas()))[0]
    assert cluster.move("/nowhere") == 57
    assert cluster.move(home) == 0
    assert cluster.move(cluster.dirs[1], "unknown") == 3
    cluster.create("unknown")
    assert list(cluster.replicas("unknown")) == [(cluster.dirs[1], 0)]
    assert cluster.move(cluster.dirs[0], "x" * 220) == 17


def produce_to(cluster: Cluster, topic: str, partition: int) -> str | None:
    """Send one record; the name of the error that came back."""
    from confluent_kafka import Producer

    names: list[str | None] = []
    producer = Producer(
        {"bootstrap.servers": cluster.address, "message.timeout.ms": 2000, "retries": 0}
    )

    def delivered(error: Any, _message: object) -> None:
        names.append(None if error is None else error.name())

    producer.produce(topic, b"x", partition=partition, on_delivery=delivered)
    producer.flush(10)
    return names[0]


def test_a_directory_that_is_taken_away_takes_only_its_partitions(cluster: Cluster) -> None:
    """Removed as by an unmount: the next file that is made there is the one that fails."""
    cluster.create("spread", partitions=6)
    at = {partition: path for path, partition in cluster.replicas("spread")}
    lost = [partition for partition, path in at.items() if path == cluster.dirs[2]]
    kept = [partition for partition, path in at.items() if path != cluster.dirs[2]]
    assert lost
    shutil.rmtree(cluster.dirs[2])
    Path(cluster.dirs[2]).write_bytes(b"")
    cluster.create("more", partitions=3)
    until(lambda: any(one.error_code == 56 for one in cluster.described()))
    offline = [one.log_dir for one in cluster.described() if one.error_code == 56]
    assert offline == [cluster.dirs[2]]
    assert [produce_to(cluster, "spread", partition) for partition in kept] == [None] * len(kept)
    assert produce_to(cluster, "spread", lost[0]) is not None
    assert cluster.move(cluster.dirs[2]) == 56
    os.unlink(cluster.dirs[2])


def test_a_disk_that_fills_up_takes_only_its_partitions(tmp_path: Path) -> None:
    with tiny_file_system(tmp_path / "two", "24m"):
        made = Cluster(tmp_path)
        try:
            made.create(TOPIC)
            made.create("spread", partitions=5)
            home = next(iter(made.replicas()))[0]
            at = {partition: path for path, partition in made.replicas("spread")}
            with Writer(made.address) as writer:
                until(lambda: writer.acknowledged * VALUE > 20 << 20)
            assert home == made.dirs[0]
            assert made.move(made.dirs[1]) == 0
            until(lambda: (made.dirs[1], 0) not in made.replicas())
            until(lambda: "stay free for its logs" in made.broker.log)
            assert [one.error_code for one in made.described()] == [0, 0, 0]
            full = next(partition for partition, path in at.items() if path == made.dirs[1])
            fill(made, "spread", full)
            until(lambda: [one.error_code for one in made.described()] == [0, 56, 0])
            kept = [partition for partition, path in at.items() if path != made.dirs[1]]
            answers = [produce_to(made, "spread", partition) for partition in kept]
            assert answers == [None] * len(kept)
            assert made.lives_in(home)
        finally:
            made.close()


def fill(cluster: Cluster, topic: str, partition: int) -> None:
    """Send until an error comes back."""
    from confluent_kafka import Producer

    failed = threading.Event()
    producer = Producer(
        {"bootstrap.servers": cluster.address, "message.timeout.ms": 3000, "log_level": 0}
    )
    for _ in range(100):
        producer.produce(
            topic,
            bytes(900_000),
            partition=partition,
            on_delivery=lambda error, _message: failed.set() if error else None,
        )
        producer.flush(5)
        if failed.is_set():
            return
    raise AssertionError("the disk does not fill up")


def test_an_admin_client_of_others_is_understood(cluster: Cluster) -> None:
    from kafka.admin import KafkaAdminClient

    home = next(iter(cluster.replicas()))[0]
    target = next(path for path in cluster.dirs if path != home)
    admin = KafkaAdminClient(bootstrap_servers=cluster.address)
    (error,) = admin.alter_replica_log_dirs({(TOPIC, 0, NODE): target}).values()
    assert error.errno == 0
    until(lambda: cluster.lives_in(target))
    (answer,) = admin.describe_log_dirs()
    admin.close()
    assert [one["log_dir"] for one in answer["log_dirs"]] == cluster.dirs
    assert [one["log_dir"] for one in answer["log_dirs"] if one["topics"]] == [target]


def test_the_broker_ends_when_every_directory_has_failed(tmp_path: Path) -> None:
    """Unmounted one and all: each is found out when a partition is to be made there."""
    made = Cluster(tmp_path)
    made.create("before", partitions=3)
    process = made.broker._running()
    for path in made.dirs:
        os.rename(path, f"{path}.gone")
    for number in range(3):
        with contextlib.suppress(Exception):
            made.create(f"after-{number}", partitions=3, wait_s=1)
    until(lambda: process.poll() is not None)
    assert made.broker._ended() == 1
