"""Kafka's own tools administer Tidelog, and Kafka's clients push their metrics to it."""

import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_tidelog.broker import Broker
from tests.kafka_tools.apache_kafka import run_tool

CONFIGS = "kafka.admin.ConfigCommand"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"
PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"


class Tools:
    """The tools, told where the broker is."""

    def __init__(self, jars: Path, broker: Broker) -> None:
        self._jars = jars
        self.broker = broker

    def run(self, main_class: str, *arguments: str) -> str:
        server = ("--bootstrap-server", self.broker.bootstrap_servers)
        return run_tool(self._jars, main_class, *server, *arguments)

    def produce(self, topic: str, count: int, client_id: str) -> str:
        """Records at some 10,000 a second, with a client of that name."""
        return run_tool(
            self._jars,
            PERFORMANCE,
            *("--topic", topic, "--num-records", str(count), "--record-size", "50"),
            *("--throughput", "10000", "--command-property"),
            *(f"bootstrap.servers={self.broker.bootstrap_servers}", f"client.id={client_id}"),
        )


@pytest.fixture(scope="module")
def tools(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    broker = Broker(tmp_path_factory.mktemp("admin") / "data")
    broker.start()
    tools = Tools(jars, broker)
    tools.run(TOPICS, "--create", "--topic", "t", "--partitions", "2")
    yield tools
    broker.close()


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("kind", "setting", "synonym"),
    [
        ("groups", "consumer.session.timeout.ms=50000", "DYNAMIC_GROUP_CONFIG"),
        ("client-metrics", "interval.ms=2000", "DYNAMIC_CLIENT_METRICS_CONFIG"),
        ("topics", "retention.ms=5000", "DYNAMIC_TOPIC_CONFIG"),
    ],
)
def test_configs_are_set_shown_and_deleted(
    tools: Tools, kind: str, setting: str, synonym: str
) -> None:
    entity = ("--entity-type", kind, "--entity-name", "t")
    tools.run(CONFIGS, "--alter", *entity, "--add-config", setting)
    shown = tools.run(CONFIGS, "--describe", *entity)
    assert f"{setting} sensitive=false synonyms={{{synonym}:{setting}" in shown
    assert "t are:" in tools.run(CONFIGS, "--describe", "--entity-type", kind)
    tools.run(CONFIGS, "--alter", *entity, "--delete-config", setting.partition("=")[0])
    assert setting not in tools.run(CONFIGS, "--describe", *entity)


@pytest.mark.timeout(120)
def test_features_are_shown_lowered_and_raised(tools: Tools) -> None:
    for command, level in ((), "2"), (("downgrade",), "1"), (("upgrade",), "2"):
        if command:
            tools.run(FEATURES, *command, "--feature", f"transaction.version={level}")
        shown = tools.run(FEATURES, "describe")
        [line] = [line for line in shown.splitlines() if "transaction.version" in line]
        assert f"FinalizedVersionLevel: {level}" in line
        assert "SupportedMaxVersion: 2" in line


@pytest.mark.timeout(120)
def test_leaders_are_elected_where_they_must_and_nothing_is_moved(tools: Tools) -> None:
    election = "org.apache.kafka.tools.LeaderElectionCommand"
    assert tools.run(election, "--election-type", "preferred", "--all-topic-partitions") == ""
    one = ("--topic", "t", "--partition", "1")
    assert "Valid replica already elected" in tools.run(
        election, "--election-type", "unclean", *one
    )
    reassign = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
    assert "No partition reassignments found." in tools.run(reassign, "--list")


@pytest.mark.timeout(120)
def test_offsets_are_told_after_records(tools: Tools) -> None:
    tools.produce("t", 100, "offsets")
    shown = tools.run("org.apache.kafka.tools.GetOffsetShell", "--topic", "t").split()
    assert sum(int(line.rpartition(":")[2]) for line in shown) == 100


@pytest.mark.timeout(120)
def test_what_javas_clients_push_is_shown(tools: Tools) -> None:
    entity = ("--entity-type", "client-metrics", "--entity-name", "producers")
    wanted = "metrics=[org.apache.kafka.producer.],interval.ms=500,match=[client_id=pushing-.*]"
    tools.run(CONFIGS, "--alter", *entity, "--add-config", wanted)
    tools.produce("t", 30_000, "pushing-1")
    tools.produce("t", 1000, "silent-1")
    with urllib.request.urlopen(str(tools.broker.metrics_url)) as page:
        lines = page.read().decode().splitlines()
    pushed = [line for line in lines if line.startswith("tidelog_client_") and "pushing-1" in line]
    metric = 'metric="org.apache.kafka.producer.record.send.total"'
    [sent] = [line for line in pushed if metric in line]
    assert sent.startswith("tidelog_client_counter_total{")
    assert 0 < float(sent.rpartition(" ")[2]) <= 30_000
    gauge = 'metric="org.apache.kafka.producer.request.latency.avg"'
    assert any(line.startswith("tidelog_client_gauge{") and gauge in line for line in pushed)
    assert any('client_software_name="apache-kafka-java"' in line for line in pushed)
    assert not any("org.apache.kafka.app" in line for line in pushed)
    assert not any("silent-1" in line for line in lines)
    assert "kafka_server_client_metrics_plugin_error_count 0.0" in lines
