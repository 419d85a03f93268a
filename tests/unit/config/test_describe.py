"""What DescribeConfigs shows: held to recorded answers of Kafka 4.3.1, and to its special cases."""

import json
from pathlib import Path
from typing import Any

import pytest

from config.broker_config import BrokerConfig
from config.describe import (
    DEFAULT_CONFIG,
    Entry,
    Synonym,
    describe_broker,
    describe_client_metrics,
    describe_cluster_default,
    describe_group,
    describe_topic,
)

GOLDEN = Path(__file__).parents[2] / "golden" / "described-topics.jsonl"
RECORDED = [json.loads(line) for line in GOLDEN.read_text().splitlines()]


def by_name(entries: list[Entry]) -> dict[str, Entry]:
    return {entry.name: entry for entry in entries}


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: str(recorded["overrides"]))
def test_a_topic_is_shown_as_kafka_showed_it(recorded: dict[str, Any]) -> None:
    broker = BrokerConfig({"min.insync.replicas": "1"})
    broker.set_dynamic({}, {"min.insync.replicas": "1"})
    shown = [
        [
            entry.name,
            entry.value,
            entry.read_only,
            entry.source,
            entry.sensitive,
            [list(synonym) for synonym in entry.synonyms],
        ]
        for entry in describe_topic(broker, recorded["overrides"])
    ]
    assert shown == recorded["entries"]


def test_a_value_from_another_unit_has_no_synonym_and_counts_as_default() -> None:
    broker = BrokerConfig({"log.retention.hours": "100"})
    entry = by_name(describe_topic(broker, {}))["retention.ms"]
    assert (entry.value, entry.source, entry.synonyms) == ("360000000", DEFAULT_CONFIG, ())


def test_synonyms_of_other_units_stay_behind_the_asked_name() -> None:
    broker = BrokerConfig()
    broker.set_dynamic({}, {"log.retention.ms": "5000"})
    entry = by_name(describe_topic(broker, {}))["retention.ms"]
    assert (entry.value, entry.source) == ("5000", 3)
    assert entry.synonyms == (
        Synonym("log.retention.ms", "5000", 3),
        Synonym("log.retention.hours", "168", 5),
    )


def test_own_value_comes_first_then_broker_cluster_file_and_default() -> None:
    broker = BrokerConfig({"log.cleanup.policy": "compact"})
    broker.set_dynamic({"log.cleanup.policy": "delete,compact"}, {"log.cleanup.policy": "compact"})
    entry = by_name(describe_topic(broker, {"cleanup.policy": "delete"}))["cleanup.policy"]
    assert [(s.name, s.value, s.source) for s in entry.synonyms] == [
        ("cleanup.policy", "delete", 1),
        ("log.cleanup.policy", "delete,compact", 2),
        ("log.cleanup.policy", "compact", 3),
        ("log.cleanup.policy", "compact", 4),
        ("log.cleanup.policy", "delete", 5),
    ]
    assert (entry.type, entry.documentation is not None) == (7, True)


def test_an_internal_key_is_shown_only_where_it_is_set() -> None:
    names = by_name(describe_topic(BrokerConfig(), {}))
    assert len(names) == 33
    shown = by_name(describe_topic(BrokerConfig(), {"internal.segment.bytes": "100"}))
    assert shown["internal.segment.bytes"].value == "100"


def test_only_the_asked_names_are_shown_and_unknown_ones_left_out() -> None:
    assert [e.name for e in describe_topic(BrokerConfig(), {}, {"retention.ms", "no"})] == [
        "retention.ms"
    ]
    assert [e.name for e in describe_broker(BrokerConfig(), {"node.id", "no"})] == ["node.id"]
    assert len(describe_topic(BrokerConfig(), {}, frozenset())) == 33


def test_a_broker_shows_all_it_lists_its_number_and_what_is_dynamic() -> None:
    broker = BrokerConfig({"broker.id": "1", "log.dirs": "/a,/b"})
    shown = by_name(describe_broker(broker))
    kafkas = {n for n in shown if not n.startswith("tidelog.")}
    assert len(kafkas - {"metrics.dialects", "metrics.partition.limit"}) == 340
    assert (shown["node.id"].value, shown["node.id"].read_only) == ("1", True)
    assert (shown["log.dirs"].value, shown["log.dirs"].source) == ("/a,/b", 4)
    assert shown["num.io.threads"].read_only is False
    assert "log.initial.task.delay.ms" not in shown
    assert "leader.replication.throttled.rate" not in shown


def test_a_throttle_is_shown_once_it_is_set() -> None:
    broker = BrokerConfig()
    broker.set_dynamic({"leader.replication.throttled.rate": "5"}, {})
    entry = by_name(describe_broker(broker))["leader.replication.throttled.rate"]
    assert (entry.value, entry.source, entry.type) == ("5", 2, 5)


def test_secrets_and_names_nobody_knows_are_never_shown() -> None:
    broker = BrokerConfig({"my.plugin": "x", "ssl.key.password": "y"})
    shown = by_name(describe_broker(broker))
    for name, type_ in (("my.plugin", 0), ("ssl.key.password", 9)):
        entry = shown[name]
        assert (entry.value, entry.sensitive, entry.type) == (None, True, type_)
        assert entry.synonyms == (Synonym(name, None, 4),)
    assert shown["my.plugin"].read_only is True
    assert shown["my.plugin"].documentation is None


def test_a_listener_setting_names_its_plain_one_behind_it() -> None:
    broker = BrokerConfig({"ssl.client.auth": "none"})
    name = "listener.name.in.ssl.client.auth"
    broker.set_dynamic({name: "required"}, {})
    entry = by_name(describe_broker(broker))[name]
    assert entry.value == "required"
    assert entry.synonyms == (
        Synonym(name, "required", 2),
        Synonym("ssl.client.auth", "none", 4),
        Synonym("ssl.client.auth", "none", 5),
    )


def test_the_default_of_all_brokers_shows_only_what_was_set_for_all() -> None:
    broker = BrokerConfig({"log.retention.ms": "9", "max.connections": "1"})
    broker.set_dynamic({"max.connections": "2"}, {"log.retention.ms": "5"})
    assert describe_cluster_default(broker) == [
        by_name(describe_broker(broker))["log.retention.ms"]._replace(
            synonyms=(Synonym("log.retention.ms", "5", 3),)
        )
    ]
    assert describe_cluster_default(broker, {"max.connections"}) == []


def test_a_groups_value_follows_the_brokers_while_it_runs() -> None:
    broker = BrokerConfig({"group.consumer.session.timeout.ms": "46000"})
    broker.set_dynamic({}, {"group.consumer.assignment.interval.ms": "7"})
    entries = by_name(describe_group(broker, {"share.isolation.level": "read_committed"}))
    assert (entries["consumer.session.timeout.ms"].value, len(entries)) == ("46000", 17)
    assert entries["consumer.session.timeout.ms"].source == 4
    assert entries["consumer.assignment.interval.ms"].synonyms == (
        Synonym("group.consumer.assignment.interval.ms", "7", 3),
        Synonym("group.consumer.assignment.interval.ms", "1000", 5),
    )
    assert entries["share.isolation.level"].synonyms == (
        Synonym("share.isolation.level", "read_committed", 8),
        Synonym("share.isolation.level", "read_uncommitted", 5),
    )
    few = describe_group(broker, {}, ["share.isolation.level", "nobody"])
    assert [entry.name for entry in few] == ["share.isolation.level"]


def test_a_subscriptions_lists_are_joined() -> None:
    (entry,) = describe_client_metrics({"metrics": " a. , b."}, ["metrics"])
    assert (entry.value, entry.source, entry.type) == ("a.,b.", 7, 7)
    assert entry.synonyms == (Synonym("metrics", "a.,b.", 7),)
