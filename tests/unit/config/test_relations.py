"""Settings that cannot hold together."""

import pytest

from config.broker_config import BrokerConfig
from config.definition import ConfigError
from config.relations import ORDERED, check_relations


def test_the_defaults_hold_together() -> None:
    check_relations(BrokerConfig())


@pytest.mark.parametrize(("low", "high"), ORDERED)
def test_every_ordered_pair_is_of_settings(low: str, high: str) -> None:
    config = BrokerConfig()
    assert config.value(low) <= config.value(high)


@pytest.mark.parametrize(
    ("static", "key", "rule"),
    [
        (
            {"group.consumer.heartbeat.interval.ms": "20000"},
            "group.consumer.heartbeat.interval.ms",
            "must not be greater than group.consumer.max.heartbeat.interval.ms, which is 15000",
        ),
        (
            {"log.cleaner.min.compaction.lag.ms": "9", "log.cleaner.max.compaction.lag.ms": "8"},
            "log.cleaner.min.compaction.lag.ms",
            "must not be greater than",
        ),
        ({"log.retention.ms": "0"}, "log.retention.ms", "must be unlimited"),
        ({"log.retention.minutes": "-2"}, "log.retention.minutes", "must be unlimited"),
        ({"log.retention.hours": "0"}, "log.retention.hours", "must be unlimited"),
        ({"log.roll.ms": "0"}, "log.roll.ms", "greater than or equal to 1"),
        ({"log.roll.jitter.ms": "-1"}, "log.roll.jitter.ms", "greater than or equal to 0"),
        (
            {"connections.max.idle.ms": "100"},
            "connection.failed.authentication.delay.ms",
            "should always be less than connections.max.idle.ms=100",
        ),
        ({"log.dirs": ""}, "log.dirs", "At least one log directory"),
        (
            {"log.cleaner.dedupe.buffer.size": "1048576"},
            "log.cleaner.dedupe.buffer.size",
            "at least 1MB per cleaner thread",
        ),
        (
            {"queued.max.request.bytes": "1000"},
            "queued.max.request.bytes",
            "larger or equal to socket.request.max.bytes",
        ),
        (
            {"max.connections.per.ip": "0"},
            "max.connections.per.ip",
            "only if max.connections.per.ip.overrides",
        ),
        ({"max.connections.per.ip.overrides": "x"}, "max.connections.per.ip.overrides", "parse"),
        ({"tidelog.metrics.listener": "x"}, "tidelog.metrics.listener", "parse"),
        ({"listeners": ""}, "listeners", "at least one listener"),
        ({"listeners": "SSL://:1"}, "listeners", "listener SSL is mapped to SSL"),
        ({"listeners": "PLAINTEXT://0.0.0.0:1"}, "listeners", "nonroutable"),
        ({"advertised.listeners": "OUT://a:1"}, "advertised.listeners", "subset"),
        (
            {"inter.broker.listener.name": "OUT"},
            "inter.broker.listener.name",
            "must be a listener name defined in advertised.listeners: PLAINTEXT",
        ),
    ],
)
def test_what_cannot_hold_together_is_refused(static: dict[str, str], key: str, rule: str) -> None:
    with pytest.raises(ConfigError, match=rule) as caught:
        check_relations(BrokerConfig(static))
    assert caught.value.key == key


@pytest.mark.parametrize(
    "static",
    [
        {"log.retention.ms": "-1"},
        {"connections.max.idle.ms": "-1"},
        {"log.cleaner.threads": "0"},
        {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "127.0.0.1:9"},
        {"queued.max.request.bytes": "104857600"},
        {
            "listeners": "IN://:1,OUT://0.0.0.0:2",
            "listener.security.protocol.map": "IN:PLAINTEXT,OUT:PLAINTEXT",
            "advertised.listeners": "IN://a:1,OUT://b:2",
            "inter.broker.listener.name": "in",
        },
    ],
)
def test_what_can_hold_together_is_taken(static: dict[str, str]) -> None:
    check_relations(BrokerConfig(static))
