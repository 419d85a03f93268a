"""Settings reach the coordinator live."""

from broker.coordinator.group.settings import group_settings
from config.broker_config import BrokerConfig


def test_values_are_kafkas_defaults() -> None:
    settings = group_settings(BrokerConfig({}), lambda: "unique")
    assert [value() for value in settings] == [
        6000,
        1_800_000,
        3000,
        2**31 - 1,
        4096,
        10_080,
        600_000,
        "unique",
    ]
