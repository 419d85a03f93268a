"""What a subscription says: Kafka's names, bounds, order of checks and words."""

import pytest

from config.client_metrics_config import (
    ClientMetricsConfig,
    InvalidSubscription,
    client_metrics_config,
)
from config.definition import ConfigError


def is_pattern(text: str) -> bool:
    return text != "("


def refused(overrides: dict[str, str]) -> tuple[type[ConfigError], str]:
    with pytest.raises(ConfigError) as caught:
        client_metrics_config(overrides, is_pattern)
    return type(caught.value), caught.value.message


def test_what_is_not_said_is_kafkas_default() -> None:
    assert client_metrics_config({}) == ClientMetricsConfig((), 300000, {})


def test_all_that_may_be_said() -> None:
    said = {
        "metrics": "a., b.c",
        "interval.ms": "100",
        "match": "client_id=app-.*, client_software_name = x|y ",
    }
    assert client_metrics_config(said, is_pattern) == ClientMetricsConfig(
        ("a.", "b.c"), 100, {"client_id": "app-.*", "client_software_name": "x|y"}
    )


@pytest.mark.parametrize(
    ("name", "text", "kind", "message"),
    [
        ("foo", "1", InvalidSubscription, "Unknown client metrics configuration: foo"),
        (
            "interval.ms",
            "99",
            InvalidSubscription,
            "Invalid value 99 for interval.ms, interval must be between 100 and 3600000 (1 hour)",
        ),
        (
            "interval.ms",
            "3600001",
            InvalidSubscription,
            "Invalid value 3600001 for interval.ms, "
            "interval must be between 100 and 3600000 (1 hour)",
        ),
        (
            "interval.ms",
            "x",
            ConfigError,
            "Invalid value x for configuration interval.ms: Not a number of type INT",
        ),
        ("metrics", "a,,b", ConfigError, "Configuration 'metrics' values must not be empty."),
    ],
)
def test_a_bad_value_is_told_in_kafkas_words(
    name: str, text: str, kind: type[ConfigError], message: str
) -> None:
    assert refused({name: text}) == (kind, message)


@pytest.mark.parametrize(
    "match",
    ["foo=1", "client_id", "client_id=", "=x", "client_id=a=b", "client_id=(", "client_id==b"],
)
def test_a_match_is_a_known_selector_and_a_pattern(match: str) -> None:
    assert refused({"match": match}) == (ConfigError, f"Illegal client matching pattern: {match}")


def test_what_is_named_twice_counts_once() -> None:
    assert client_metrics_config({"metrics": "a.,b.,a."}).metrics == ("a.", "b.")


def test_equals_signs_at_the_end_do_not_count() -> None:
    assert client_metrics_config({"match": "client_id=b="}).match == {"client_id": "b"}
