"""A group's own settings before the broker's, within the broker's bounds."""

import pytest

from broker.coordinator.group.consumer_settings import consumer_settings
from config.broker_config import BrokerConfig


@pytest.mark.parametrize(
    ("own", "effective"), [("50000", 50_000), ("1", 45_000), ("99999", 60_000)]
)
def test_a_groups_own_session_counts_within_the_bounds(own: str, effective: int) -> None:
    overrides = {"g": {"consumer.session.timeout.ms": own}}
    settings = consumer_settings(BrokerConfig({}), lambda group: overrides.get(group, {}), str)
    assert settings.session_timeout_ms("g") == effective
    assert settings.session_timeout_ms("other") == 45_000


def test_the_defaults_are_kafkas() -> None:
    settings = consumer_settings(BrokerConfig({}), lambda _: {}, str)
    assert settings.heartbeat_interval_ms("g") == 5000
    assert settings.assignment_interval_ms("g") == 1000
    assert settings.assignors == ("uniform", "range")
    assert settings.is_served


@pytest.mark.parametrize(
    ("configured", "names"),
    [
        ("range", ("range",)),
        (
            "org.apache.kafka.coordinator.group.assignor.RangeAssignor,uniform",
            ("range", "uniform"),
        ),
        ("com.example.Own", ("uniform",)),
    ],
)
def test_assignors_by_name_or_class_and_none_of_ones_own(
    configured: str, names: tuple[str, ...]
) -> None:
    config = BrokerConfig({"group.consumer.assignors": configured})
    assert consumer_settings(config, lambda _: {}, str).assignors == names


def test_consumer_groups_can_be_left_out() -> None:
    config = BrokerConfig({"group.coordinator.rebalance.protocols": "classic"})
    assert not consumer_settings(config, lambda _: {}, str).is_served
