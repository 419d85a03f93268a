"""What a subscription to the metrics of clients asks for (KIP-714).

    match = client_id=app-.*,client_software_name=librdkafka       all must match, each as a whole

Source: `ClientMetricsConfigs.java` of Kafka 4.3, whose order of checks and words these are.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from config.definition import ConfigError, Key
from config.keys import client_metrics

CLIENT_METRICS_KEYS: Final[dict[str, Key[Any]]] = {
    key.name: key for key in client_metrics.AREA.keys
}
SELECTORS: Final = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)
ALL_METRICS: Final = "*"
SHORTEST_INTERVAL_MS, LONGEST_INTERVAL_MS = 100, 3600000


class ClientMetricsConfig(NamedTuple):
    """One subscription: prefixes of metrics' names, how often, and of which clients."""

    metrics: tuple[str, ...]
    interval_ms: int
    match: Mapping[str, str]
    """Selector -> pattern that it must match as a whole."""


class InvalidSubscription(ConfigError):
    """A name that no subscription has, or an interval out of range: a fault of the request."""


def client_metrics_config(
    overrides: Mapping[str, str], is_pattern: Callable[[str], bool] | None = None
) -> ClientMetricsConfig:
    """The subscription that sets `overrides`; `is_pattern` judges patterns, when they are new.

    Raises InvalidSubscription or ConfigError; the `message` is what Kafka tells the client.
    """
    for name, text in overrides.items():
        if name not in CLIENT_METRICS_KEYS:
            rule = f"Unknown client metrics configuration: {name}"
            raise InvalidSubscription(name, text, rule, message=rule)
    values = {
        name: key.parse(overrides[name]) if name in overrides else key.default
        for name, key in CLIENT_METRICS_KEYS.items()
    }
    interval_ms = values["interval.ms"]
    if not SHORTEST_INTERVAL_MS <= interval_ms <= LONGEST_INTERVAL_MS:
        rule = (
            f"Invalid value {interval_ms} for interval.ms, interval must be between "
            f"{SHORTEST_INTERVAL_MS} and {LONGEST_INTERVAL_MS} (1 hour)"
        )
        raise InvalidSubscription("interval.ms", str(interval_ms), rule, message=rule)
    return ClientMetricsConfig(
        values["metrics"], interval_ms, _parse_match(values["match"], is_pattern)
    )


def _parse_match(
    texts: tuple[str, ...], is_pattern: Callable[[str], bool] | None
) -> dict[str, str]:
    match = {}
    for text in texts:
        # What stands behind the last "=" may be empty, and does not count then.
        parts = text.rstrip("=").split("=")
        selector, pattern = parts[0].strip(), parts[-1].strip()
        is_known = len(parts) == 2 and selector in SELECTORS
        if not is_known or (is_pattern is not None and not is_pattern(pattern)):
            rule = f"Illegal client matching pattern: {text}"
            raise ConfigError("match", text, rule, message=rule)
        match[selector] = pattern
    return match
