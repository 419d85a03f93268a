"""A topic's own value wins over the broker's, that over the cluster's; logs obey at once."""

import pytest

from broker.live_settings import LiveSettings
from config.loading import load
from tests.support.replicas import NODE, ReplicaBroker


def settings(*static: str) -> tuple[ReplicaBroker, LiveSettings]:
    broker = ReplicaBroker()
    config = load(None, {}, list(static))
    live = LiveSettings(config, broker.logs, broker.metadata, NODE)
    broker.create("t")
    broker.create("u")
    return broker, live


def retention(broker: ReplicaBroker, topic: str = "t") -> int:
    return broker.log(topic).config.retention_ms


def test_changes_reach_the_logs_in_their_order_of_precedence() -> None:
    broker, live = settings("log.retention.ms=1000")
    live.changed("brokers", "<default>", {"log.retention.ms": "2000"})
    assert retention(broker) == 2000
    live.changed("brokers", str(NODE), {"log.retention.ms": "3000"})
    assert retention(broker) == 3000
    broker.metadata.set_topic_overrides("t", {"retention.ms": "4000"})
    live.changed("topics", "t", {"retention.ms": "4000"})
    assert (retention(broker), retention(broker, "u")) == (4000, 3000)
    live.changed("brokers", str(NODE), {})
    assert (retention(broker), retention(broker, "u")) == (4000, 2000)
    assert live.of_topic("t").retention_ms == 4000


def test_logs_hear_only_of_what_is_theirs() -> None:
    broker, live = settings()
    broker.metadata.set_topic_overrides("t", {"retention.ms": "4000"})
    live.changed("topics", "t", {"retention.ms": "4000"})
    before, other = broker.log("t").config, broker.log("u").config
    live.changed("brokers", str(NODE), {"max.connections": "7"})
    assert broker.log("u").config is other
    live.changed("brokers", str(NODE), {"log.retention.ms": "5"})
    assert broker.log("t").config is before
    assert retention(broker, "u") == 5


def test_another_brokers_settings_are_none_of_ours() -> None:
    _, live = settings("log.retention.ms=1000")
    live.changed("brokers", "77", {"log.retention.ms": "5"})
    assert live.of_topic("t").retention_ms == 1000


def test_a_group_may_have_a_brokers_name() -> None:
    _, live = settings("log.retention.ms=1000")
    live.changed("groups", str(NODE), {"log.retention.ms": "5"})
    live.changed("client-metrics", "<default>", {"log.retention.ms": "5"})
    assert live.of_topic("t").retention_ms == 1000


def test_a_stored_value_that_does_not_parse_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    _, live = settings("log.retention.ms=1000")
    live.changed("brokers", str(NODE), {"log.retention.ms": "soon"})
    assert live.of_topic("t").retention_ms == 1000
    assert "left out" in caplog.text
