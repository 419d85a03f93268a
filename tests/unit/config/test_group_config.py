"""What a group may set: Kafka's names, bounds, order of checks and words."""

import pytest

from config.broker_config import BrokerConfig
from config.definition import ConfigError
from config.group_config import (
    GROUP_KEYS,
    GROUP_WORDS,
    group_value,
    parse_group_overrides,
    validate_group_overrides,
)


def refused(overrides: dict[str, str], broker: BrokerConfig | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        validate_group_overrides(overrides, broker or BrokerConfig())
    return caught.value.message


def test_nothing_and_all_defaults_are_good() -> None:
    broker = BrokerConfig()
    validate_group_overrides({}, broker)
    defaults = {name: GROUP_KEYS[name].text(group_value(broker, name)) for name in GROUP_KEYS}
    validate_group_overrides({name: str(text) for name, text in defaults.items()}, broker)


def test_the_brokers_word_speaks_for_what_a_group_does_not_say() -> None:
    broker = BrokerConfig({"group.streams.num.standby.replicas": "1"})
    assert group_value(broker, "streams.num.standby.replicas") == 1
    assert group_value(broker, "share.auto.offset.reset") == "latest"
    assert sorted(name for name, word in GROUP_WORDS.items() if word is None) == [
        "share.auto.offset.reset",
        "share.isolation.level",
        "share.renew.acknowledge.enable",
    ]


def test_only_known_names_are_parsed() -> None:
    assert parse_group_overrides({"consumer.session.timeout.ms": "5", "later": "x"}) == {
        "consumer.session.timeout.ms": 5
    }


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("foo", "1", "Unknown group config name: foo"),
        (
            "consumer.session.timeout.ms",
            "x",
            "Invalid value x for configuration consumer.session.timeout.ms: "
            "Not a number of type INT",
        ),
        (
            "consumer.session.timeout.ms",
            "0",
            "Invalid value 0 for configuration consumer.session.timeout.ms: "
            "Value must be at least 1",
        ),
        (
            "consumer.session.timeout.ms",
            "44999",
            "consumer.session.timeout.ms must be greater than or equal to "
            "group.consumer.min.session.timeout.ms",
        ),
        (
            "consumer.heartbeat.interval.ms",
            "15001",
            "consumer.heartbeat.interval.ms must be less than or equal to "
            "group.consumer.max.heartbeat.interval.ms",
        ),
        (
            "consumer.assignment.interval.ms",
            "15001",
            "consumer.assignment.interval.ms must be less than or equal to "
            "group.consumer.max.assignment.interval.ms",
        ),
        (
            "share.delivery.count.limit",
            "11",
            "share.delivery.count.limit must be less than or equal to "
            "group.share.max.delivery.count.limit",
        ),
        (
            "share.isolation.level",
            "x",
            "Invalid value x for configuration share.isolation.level: "
            "String must be one of: read_committed, read_uncommitted",
        ),
        (
            "streams.num.standby.replicas",
            "3",
            "streams.num.standby.replicas must be less than or equal to "
            "group.streams.max.standby.replicas",
        ),
    ],
)
def test_a_bad_value_is_told_in_kafkas_words(name: str, text: str, message: str) -> None:
    assert refused({name: text}) == message


def test_a_session_outlasts_a_heartbeat_wherever_each_comes_from() -> None:
    broker = BrokerConfig(
        {
            "group.consumer.min.session.timeout.ms": "1",
            "group.consumer.min.heartbeat.interval.ms": "1",
        }
    )
    told = "consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms"
    assert refused({"consumer.session.timeout.ms": "5000"}, broker) == told
    validate_group_overrides({"consumer.session.timeout.ms": "5001"}, broker)
    assert (
        refused(
            {"consumer.session.timeout.ms": "15000", "consumer.heartbeat.interval.ms": "15000"},
            broker,
        )
        == told
    )


def test_an_interval_that_no_group_sets_is_the_brokers_own_affair() -> None:
    broker = BrokerConfig()
    broker.set_dynamic({}, {"group.consumer.assignment.interval.ms": "20000"})
    validate_group_overrides({}, broker)
