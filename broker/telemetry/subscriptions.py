"""Which metrics a client is asked for: the union of all subscriptions that match it.

    subscriptions   metrics a., b. every 60 s of client_id=app-.*   |   metrics b., c. every 10 s
    app-1           a., b., c. every 10 s
    other           b., c. every 10 s

A client that none matches is asked for nothing, and told to ask again after five minutes. Patterns
match a whole attribute, in time that grows with its length alone. Source: KIP-714;
`ClientMetricsManager`, `ClientMetricsInstanceMetadata` of Kafka 4.3.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from config.client_metrics_config import ALL_METRICS, client_metrics_config
from config.keys.client_metrics import INTERVAL_MS
from protocol.crc32c import crc32c

if TYPE_CHECKING:
    from broker.coordinator.group.regex_subscriptions import TopicPattern

Attributes = Mapping[str, str]
"""What is known of a client, by selector."""


class Asked(NamedTuple):
    """What one client is asked for; the id changes whenever this does."""

    metrics: tuple[str, ...]
    interval_ms: int
    subscription_id: int


class Subscription:
    """One subscription, its patterns ready to be asked."""

    def __init__(self, configs: Mapping[str, str]) -> None:
        self._config = client_metrics_config(configs)
        self.interval_ms = self._config.interval_ms
        self.metrics = self._config.metrics
        self._patterns = [
            (selector, _compiled(pattern)) for selector, pattern in self._config.match.items()
        ]

    def matches(self, client: Attributes) -> bool:
        """Whether every pattern matches the whole of its attribute."""
        return all(
            selector in client and pattern.matches(client[selector])
            for selector, pattern in self._patterns
        )


def asked_of(
    client_instance_id: bytes, client: Attributes, subscriptions: Iterable[Subscription]
) -> Asked:
    """What the subscriptions ask of a client together."""
    matching = [one for one in subscriptions if one.matches(client)]
    metrics = {name for one in matching for name in one.metrics}
    names = (ALL_METRICS,) if ALL_METRICS in metrics else tuple(sorted(metrics))
    interval_ms = min([INTERVAL_MS.default, *(one.interval_ms for one in matching)])
    text = f"{','.join(names)} {interval_ms}".encode()
    number = crc32c(text) ^ crc32c(client_instance_id)
    return Asked(names, interval_ms, number - (1 << 32) if number >> 31 else number)


def is_pattern(text: str) -> bool:
    """Whether `text` can be matched against."""
    from broker.coordinator.group.regex_syntax import InvalidPattern

    try:
        _compiled(text)
    except InvalidPattern:
        return False
    return True


def _compiled(text: str) -> "TopicPattern":
    from broker.coordinator.group.regex_subscriptions import TopicPattern  # few have patterns

    return TopicPattern(text)
