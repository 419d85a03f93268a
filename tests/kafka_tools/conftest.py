"""Kafka and Tidelog, started once, told the same, and stopped in order."""

from pathlib import Path
from typing import NamedTuple

import pytest

from bench.kafka_jars import fetch
from protocol.schema.describe import import_all
from pytest_tidelog.broker import Broker
from tests.kafka_tools import workload
from tests.kafka_tools.apache_kafka import FOLDER, WITHOUT_ELR, ApacheKafka
from tests.kafka_tools.conversation.whole import STEPS, Outcome, talk
from tests.kafka_tools.side import Side

SETTINGS = {
    # Times are those of the producers, years ago, and nothing may be deleted meanwhile.
    "log.retention.ms": -1,
    "log.initial.task.delay.ms": 600_000,
    "offsets.topic.replication.factor": 1,
}


class Closed(NamedTuple):
    """What the brokers said, and the log directories they left behind."""

    outcomes: dict[str, Outcome]
    ours: Path
    theirs: Path


@pytest.fixture(scope="session")
def jars() -> Path:
    """Apache Kafka's jars; without Java or Maven the suite fails and says what is missing."""
    try:
        return fetch(FOLDER)
    except SystemExit as missing:
        raise RuntimeError(str(missing)) from None


@pytest.fixture(scope="session")
def closed(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Closed:
    """Both brokers after the whole conversation and all appends, cleanly stopped."""
    import_all()
    folder = tmp_path_factory.mktemp("brokers")
    kafka = ApacheKafka(jars, folder / "kafka", SETTINGS, options=WITHOUT_ELR)
    tidelog = Broker(folder / "tidelog", SETTINGS, metrics=False)  # Kafka has no receiver either.
    sides: list[Side] = []
    try:
        kafka.start()
        tidelog.start()
        kafka.wait_until_answering()
        host, _, port = tidelog.bootstrap_servers.rpartition(":")
        sides += Side("tidelog", host, int(port)), Side("kafka", kafka.host, kafka.port)
        for appends in (*workload.topics(), workload.APPEND_TIME):
            for side in sides:
                workload.write(side, appends)
        outcomes = talk(STEPS, *sides)
    finally:
        for side in sides:
            side.talker.close()
        kafka.stop()
        tidelog.close()
    return Closed(outcomes, tidelog.data_dir, kafka.data_dir)
