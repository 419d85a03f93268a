"""What a topic's logs obey: its own settings over the broker's, in the broker's several words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.broker_config import BrokerConfig
from config.definition import ConfigError
from config.topic_config import (
    BROKER_WORDS,
    TOPIC_KEYS,
    LogConfig,
    log_config,
    validate_topic_overrides,
)

HOUR = 3600000


def test_the_defaults_are_those_of_an_untouched_broker() -> None:
    assert log_config(BrokerConfig(), {}) == LogConfig()


def test_a_topic_without_settings_shares_one_answer_until_the_broker_changes() -> None:
    broker = BrokerConfig()
    before = log_config(broker, {})
    assert log_config(broker, {}) is before
    broker.set_dynamic({"log.retention.ms": "5"}, {})
    assert log_config(broker, {}).retention_ms == 5


@pytest.mark.parametrize(
    ("static", "field", "value"),
    [
        ({"log.retention.hours": "100"}, "retention_ms", 100 * HOUR),
        ({"log.retention.hours": "-1"}, "retention_ms", -1),
        (
            {"log.retention.hours": "1", "log.retention.minutes": "2"},
            "retention_ms",
            2 * 60000,
        ),
        ({"log.retention.minutes": "2", "log.retention.ms": "3"}, "retention_ms", 3),
        ({"log.roll.hours": "2"}, "segment_ms", 2 * HOUR),
        ({"log.roll.hours": "2", "log.roll.ms": "9"}, "segment_ms", 9),
        ({"log.roll.jitter.hours": "2"}, "segment_jitter_ms", 2 * HOUR),
        ({"log.flush.scheduler.interval.ms": "7"}, "flush_ms", 7),
        (
            {"log.flush.scheduler.interval.ms": "7", "log.flush.interval.ms": "8"},
            "flush_ms",
            8,
        ),
        ({"message.max.bytes": "99"}, "max_message_bytes", 99),
        ({"log.message.timestamp.type": "LogAppendTime"}, "log_append_time", True),
        ({"log.message.timestamp.after.max.ms": "4"}, "timestamp_after_max_ms", 4),
        ({"log.cleanup.policy": "compact"}, "delete", False),
        ({"log.cleanup.policy": "compact"}, "compact", True),
        ({"log.segment.delete.delay.ms": "4"}, "file_delete_delay_ms", 4),
    ],
)
def test_the_broker_speaks_for_a_topic(static: dict[str, str], field: str, value: object) -> None:
    assert getattr(log_config(BrokerConfig(static), {}), field) == value


def test_a_topics_own_value_wins_over_the_brokers() -> None:
    broker = BrokerConfig({"log.retention.ms": "5"})
    config = log_config(broker, {"retention.ms": "9", "cleanup.policy": "compact, delete"})
    assert (config.retention_ms, config.compact, config.delete) == (9, True, True)
    empty = log_config(broker, {"cleanup.policy": ""})
    assert (empty.compact, empty.delete) == (False, False)


def test_tests_may_use_segments_below_the_bound() -> None:
    config = log_config(BrokerConfig(), {"internal.segment.bytes": "100"})
    assert config.segment_bytes == 100


def test_names_of_a_newer_version_are_skipped_when_read() -> None:
    assert log_config(BrokerConfig(), {"brand.new": "1"}) == LogConfig()


@given(st.sampled_from(sorted(set(TOPIC_KEYS) - {"internal.segment.bytes"})))
def test_writing_the_default_changes_nothing(name: str) -> None:
    key = TOPIC_KEYS[name]
    text = key.text(key.default)
    assert text is not None
    assert log_config(BrokerConfig(), {name: text}) == LogConfig()


def test_every_word_of_the_broker_is_a_setting() -> None:
    broker = BrokerConfig()
    for name, words in BROKER_WORDS.items():
        assert name in TOPIC_KEYS
        for word, _unit in words:
            broker.value(word)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"foo": "1"}, "Unknown topic config name: foo"),
        (
            {"retention.ms": "x"},
            "Invalid value x for configuration retention.ms: Not a number of type LONG",
        ),
        (
            {"retention.ms": "-5"},
            "Invalid value -5 for configuration retention.ms: Value must be at least -1",
        ),
        (
            {"cleanup.policy": "foo"},
            "Invalid value foo for configuration cleanup.policy: "
            "String must be one of: compact, delete",
        ),
        (
            {"min.compaction.lag.ms": "100", "max.compaction.lag.ms": "10"},
            "conflict topic config setting min.compaction.lag.ms (100) > "
            "max.compaction.lag.ms (10)",
        ),
        (
            {"remote.storage.enable": "true"},
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage.",
        ),
    ],
)
def test_bad_topic_settings_are_refused_in_kafkas_words(
    overrides: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        validate_topic_overrides(overrides)
    assert caught.value.message == message


def test_an_unknown_name_is_told_before_a_bad_value() -> None:
    with pytest.raises(ConfigError, match="Unknown topic config name"):
        validate_topic_overrides({"retention.ms": "x", "foo": "1"})


def test_lags_are_compared_with_the_brokers_where_the_topic_is_silent() -> None:
    broker = BrokerConfig({"log.cleaner.max.compaction.lag.ms": "10"})
    validate_topic_overrides({"min.compaction.lag.ms": "100"})
    with pytest.raises(ConfigError, match="conflict"):
        validate_topic_overrides({"min.compaction.lag.ms": "100"}, broker)
