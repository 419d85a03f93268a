"""A directory is carried from Kafka to Tidelog and back, and nobody can tell.

Each journey: a Kafka writes everything it can, stops or is killed; Tidelog imports the directory,
shows the same, writes on, stops or is killed; the directory is exported, passes Kafka's own tools,
and the Kafka it came from shows the same and goes on.
"""

import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Producer

from bench import kafka_jars
from pytest_tidelog.broker import Broker
from storage.filenames import parse_partition_directory_name
from tests.kafka_tools import life
from tests.kafka_tools.apache_kafka import FOLDER, ApacheKafka, ZooKeeper
from tests.kafka_tools.dumping import check_partitions
from tests.kafka_tools.seen import Seen, led_topics, see

LAST_WITH_ZOOKEEPER = "3.9.2"
SETTINGS = {
    "log.retention.ms": -1,
    "zookeeper.session.timeout.ms": 3000,
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 2,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 2,
    "log.cleaner.backoff.ms": 100,
    "log.cleaner.dedupe.buffer.size": 4_000_000,
    "group.initial.rebalance.delay.ms": 0,
}
OUR_SETTINGS = {"log.retention.ms": -1, "log.cleaner.backoff.ms": 100}
OF_TODAY = ("x-", "y-")
"""Topics whose producers no start forgets: the others wrote as if years ago."""
INTERNAL = ("__consumer_offsets", "__transaction_state")


class Journey(NamedTuple):
    """Which Kafka, and how each of the two ends before the directory is carried on."""

    version: str
    zookeeper: bool
    kafka_is_killed: bool
    tidelog_is_killed: bool
    directories: int = 1

    def __str__(self) -> str:
        mode = "zookeeper" if self.zookeeper else "kraft"
        ends = "-".join("killed" if killed else "stopped" for killed in self[2:4])
        return f"{self.version}-{mode}-{ends}-{self.directories}"


JOURNEYS = (
    Journey(kafka_jars.VERSION, False, False, False),
    Journey(kafka_jars.VERSION, False, True, True, directories=2),
    Journey(LAST_WITH_ZOOKEEPER, False, False, True),
    Journey(LAST_WITH_ZOOKEEPER, True, False, False),
    Journey(LAST_WITH_ZOOKEEPER, True, True, True, directories=2),
)


class Stage(NamedTuple):
    """What one journey runs on; everything on it is ended with it."""

    jars: Path
    kafka: ApacheKafka
    tidelog: Broker
    zookeeper: ZooKeeper | None

    def carry(self, verb: str, *options: str) -> dict[str, Any]:
        """Run import-kafka or export-kafka; what it tells."""
        where = ["--zookeeper", f"{self.zookeeper.address}/kafka"] if self.zookeeper else []
        folders = map(str, self.kafka.data_dirs)
        command = [*self.tidelog.command, verb, *folders, "--json", *where]
        done = _run([*command, *options])
        while "is registered with" in done.stdout:  # Until the session of a killed one has ended.
            done = _run([*command, *options])
        assert done.returncode == 0, done.stdout + done.stderr
        told: dict[str, Any] = json.loads(done.stdout)
        return told


def _run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    journey: Journey = request.param
    jars = kafka_jars.fetch(FOLDER, journey.version)
    server = ZooKeeper(jars, tmp_path / "zookeeper") if journey.zookeeper else None
    address = None if server is None else f"{server.address}/kafka"
    kafka = ApacheKafka(
        jars, tmp_path / "kafka", SETTINGS, address, directories=journey.directories
    )
    log_dirs = ",".join(map(str, kafka.data_dirs))
    tidelog = Broker(Path(log_dirs), OUR_SETTINGS, metrics=False)
    try:
        if server is not None:
            server.start()
        yield Stage(jars, kafka, tidelog, server)
    finally:
        kafka.stop()
        tidelog.close()
        if server is not None:
            server.stop()


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("journey", "stage"),
    [(one, one) for one in JOURNEYS],
    indirect=["stage"],
    ids=map(str, JOURNEYS),
)
def test_a_directory_goes_to_tidelog_and_back(journey: Journey, stage: Stage) -> None:
    before, left_open = written_by_kafka(journey, stage)
    imported = stage.carry("import-kafka")
    assert imported["done"]
    assert {topic["name"] for topic in imported["topics"]} == set(before.topic_ids)
    assert not stage.carry("import-kafka")["done"], "imported twice"
    after = written_by_tidelog(journey, stage, before)
    check_partitions(stage.jars, partitions_in(stage.kafka.data_dirs))
    exported = stage.carry("export-kafka")
    assert exported["done"]
    given_back(stage, after)
    assert not [one for folder in stage.kafka.data_dirs for one in folder.glob("*-stray")]
    del left_open


def written_by_kafka(journey: Journey, stage: Stage) -> tuple[Seen, list[Producer]]:
    kafka = stage.kafka
    kafka.start()
    kafka.wait_until_answering()
    left_open = life.live_with_kafka(kafka.port, kafka.data_dirs)
    before = see(kafka.port)
    kafka.kill() if journey.kafka_is_killed else kafka.stop()
    return before, left_open


def written_by_tidelog(journey: Journey, stage: Stage, before: Seen) -> Seen:
    tidelog = stage.tidelog
    tidelog.start()
    port = int(tidelog.address.rpartition(":")[2])
    assert_same(see(port), before)
    life.go_on(port, before.producers[life.SEQUENCES, 0])
    life.produce_idempotently(port, b"tidelog")
    life.be_cleaned(port, stage.kafka.data_dirs, b"tidelog")
    if journey.zookeeper:
        life.change_topics(port)
    after = see(port)
    tidelog.kill() if journey.tidelog_is_killed else tidelog.stop()
    return after


def given_back(stage: Stage, after: Seen) -> None:
    kafka = stage.kafka
    kafka.start(log_cleaner_enable=False)
    kafka.wait_until_answering()
    life.wait_until(lambda: led_topics(kafka.port) == after.topic_ids.keys(), "topics differ")
    assert_same(see(kafka.port), after)
    assert life.committed_offset(kafka.port) == 4
    life.produce_idempotently(kafka.port, b"kafka again")
    producer = life.transactional(kafka.port, "t-open")
    producer.begin_transaction()
    producer.produce("x-transactions", b"at last", partition=0)
    producer.commit_transaction(life.WAIT_SECONDS)
    again = see(kafka.port)
    values = [record.value for record in again.committed["x-transactions", 0]]
    assert values[-2:] == [b"after the open one", b"at last"]
    for partition, records in after.uncommitted.items():
        assert again.uncommitted[partition][: len(records)] == records
        if records:
            last = again.uncommitted[partition][-1]
            assert last.leader_epoch >= records[-1].leader_epoch
    before, behind = (one.uncommitted["x-idempotent", 0][-1] for one in (after, again))
    assert behind.leader_epoch > before.leader_epoch or kafka.zookeeper, "an epoch led by two"
    ids = {one.producer_id for found in after.producers.values() for one in found}
    fresh = {one.producer_id for one in again.producers["x-idempotent", 0]} - ids
    assert len(fresh) == 1, "a producer id was given out twice"
    kafka.stop()


def assert_same(one: Seen, other: Seen) -> None:
    """All the same, but that a coordinator that came up may have added to its own topics."""
    assert one.topic_ids == other.topic_ids
    assert one.configs == other.configs
    for isolation in ("uncommitted", "committed"):
        ours, theirs = getattr(one, isolation), getattr(other, isolation)
        assert ours.keys() == theirs.keys()
        for partition, records in theirs.items():
            mine = ours[partition]
            if partition[0] in INTERNAL:
                mine = mine[: len(records)]
            assert mine == records, (isolation, partition)
    for partition, producers in other.producers.items():
        if partition[0] not in INTERNAL:
            assert one.offsets[partition] == other.offsets[partition], partition
        if partition[0].startswith(OF_TODAY):
            assert one.producers[partition] == producers, partition


def partitions_in(folders: Sequence[Path]) -> list[Path]:
    """Live partition directories; Kafka's own metadata log is not ours to check."""
    found = []
    for path in sorted(path for folder in folders for path in folder.iterdir()):
        name = parse_partition_directory_name(path.name) if path.is_dir() else None
        if name is not None and not name.state and name.topic != "__cluster_metadata":
            found.append(path)
    return found
