"""Unmodified clients administer a broker, and push their own metrics to it when they are asked."""

import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_tidelog.broker import Broker

pytest.importorskip("confluent_kafka")
pytest.importorskip("kafka")

SESSION = "consumer.session.timeout.ms"
PATIENCE_S = 20


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker of its own: its features and subscriptions are changed."""
    broker = Broker(tmp_path_factory.mktemp("administration") / "data").start()
    yield broker
    broker.close()


@pytest.fixture
def librdkafka(broker: Broker) -> Any:
    from confluent_kafka.admin import AdminClient

    return AdminClient({"bootstrap.servers": broker.bootstrap_servers})


@pytest.fixture
def kafka_python(broker: Broker) -> Iterator[Any]:
    from kafka.admin import KafkaAdminClient

    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    yield admin
    admin.close()


def made(admin: Any, name: str) -> str:
    from confluent_kafka.admin import NewTopic

    for future in admin.create_topics([NewTopic(name, 2)]).values():
        future.result()
    return name


def test_librdkafka_sets_and_reads_what_a_group_has_of_its_own(librdkafka: Any) -> None:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

    def alter(value: str) -> None:
        entry = ConfigEntry(SESSION, value, incremental_operation=AlterConfigOpType.SET)
        group = ConfigResource(ResourceType.GROUP, "group/1", incremental_configs=[entry])
        for future in librdkafka.incremental_alter_configs([group]).values():
            future.result()

    alter("50000")
    with pytest.raises(KafkaException, match="must be greater than or equal to"):
        alter("5")
    group = ConfigResource(ResourceType.GROUP, "group/1")
    [future] = librdkafka.describe_configs([group]).values()
    entries = future.result()
    assert len(entries) == 17
    assert (entries[SESSION].value, entries[SESSION].is_default) == ("50000", False)


def test_librdkafka_asks_for_elections(librdkafka: Any) -> None:
    from confluent_kafka import ElectionType, TopicPartition
    from confluent_kafka.error import KafkaError

    topic = made(librdkafka, "elected")
    assert librdkafka.elect_leaders(ElectionType.PREFERRED).result() == {}
    asked = [TopicPartition(topic, 1), TopicPartition("missing", 0)]
    answers = librdkafka.elect_leaders(ElectionType.UNCLEAN, asked).result()
    assert {partition.topic: error.code() for partition, error in answers.items()} == {
        topic: KafkaError.ELECTION_NOT_NEEDED,
        "missing": KafkaError.UNKNOWN_TOPIC_OR_PART,
    }


def test_kafka_python_lists_resources_moves_and_features(
    librdkafka: Any, kafka_python: Any
) -> None:
    from kafka import TopicPartition
    from kafka.admin import ConfigResource, ConfigResourceType

    topic = made(librdkafka, "moved")
    subscription = ConfigResource(
        ConfigResourceType.CLIENT_METRICS, "named", configs={"interval.ms": "60000"}
    )
    kafka_python.alter_configs([subscription])
    assert "named" in str(kafka_python.list_config_resources(["CLIENT_METRICS"]))
    assert topic in str(kafka_python.list_config_resources())
    assert kafka_python.list_partition_reassignments() == {}
    answers = kafka_python.alter_partition_reassignments(
        {TopicPartition(topic, 0): [1], TopicPartition(topic, 1): [1, 2]}
    )
    assert answers[TopicPartition(topic, 0)] is None
    assert "InvalidReplicationAssignment" in str(answers[TopicPartition(topic, 1)])
    feature = "transaction.version"
    before = kafka_python.describe_features()[feature]
    assert (before["supported"], before["finalized"]) == ((0, 2), (2, 2))
    kafka_python.update_features({feature: ("SAFE_DOWNGRADE", 1)})
    lowered = kafka_python.describe_features()[feature]
    assert lowered["finalized"] == (1, 1)
    assert lowered["finalized_epoch"] > before["finalized_epoch"]
    kafka_python.update_features({feature: 2})


def test_librdkafka_pushes_what_it_is_asked_for(broker: Broker, kafka_python: Any) -> None:
    from confluent_kafka import Producer
    from kafka.admin import ConfigResource, ConfigResourceType

    wanted = {"metrics": "*", "interval.ms": "500", "match": "client_id=pushes"}
    kafka_python.alter_configs(
        [ConfigResource(ConfigResourceType.CLIENT_METRICS, "rdkafka", configs=wanted)]
    )
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "client.id": "pushes", "log_level": 0}
    )
    deadline = time.monotonic() + PATIENCE_S
    pushed: list[str] = []
    while not pushed and time.monotonic() < deadline:
        producer.produce("pushed-to", b"value")
        producer.flush(5)
        time.sleep(0.2)
        with urllib.request.urlopen(str(broker.metrics_url)) as page:
            lines = page.read().decode().splitlines()
        pushed = [one for one in lines if one.startswith("tidelog_client_") and "pushes" in one]
    assert any(one.startswith("tidelog_client_gauge{") for one in pushed)
    assert any('metric="org.apache.kafka.producer.' in one for one in pushed)
    assert any('client_software_name="confluent-kafka-python"' in one for one in pushed)
    del producer


def test_groups_and_subscriptions_outlive_the_broker(tmp_path: Path) -> None:
    from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

    broker = Broker(tmp_path).start()
    try:
        admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
        admin.alter_configs(
            [
                ConfigResource(ConfigResourceType.GROUP, "a b/ü", configs={SESSION: "50000"}),
                ConfigResource(ConfigResourceType.CLIENT_METRICS, "s", configs={"metrics": "*"}),
            ]
        )
        admin.update_features({"transaction.version": ("SAFE_DOWNGRADE", 1)})
        before = admin.describe_features()
        admin.close()
        broker.kill()
        broker.start()
        admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
        assert "a b/ü" in str(admin.list_config_resources(["GROUP"]))
        group = ConfigResource(ConfigResourceType.GROUP, "a b/ü")
        assert "50000" in str(admin.describe_configs([group]))
        assert admin.describe_features() == before
        admin.close()
    finally:
        broker.close()
