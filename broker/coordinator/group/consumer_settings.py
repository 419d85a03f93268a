"""What the configuration says of consumer groups, a group's own settings first.

A group's setting that was stored while the broker allowed it, and does not any more, counts as the
nearest value that is allowed. Source: GroupConfig, GroupCoordinatorConfig (4.3), KIP-1263.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from config.broker_config import BrokerConfig
from config.keys import groups

_logger = logging.getLogger(__name__)

SESSION_TIMEOUT_MS: Final = "consumer.session.timeout.ms"
HEARTBEAT_INTERVAL_MS: Final = "consumer.heartbeat.interval.ms"
ASSIGNMENT_INTERVAL_MS: Final = "consumer.assignment.interval.ms"
CONSUMER_PROTOCOL: Final = "consumer"
UNIFORM: Final = "uniform"
_NAMES: Final = {
    UNIFORM: UNIFORM,
    "range": "range",
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": UNIFORM,
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
}
"""Assignors, by the names and the classes of Kafka that they are configured by."""

Overrides = Callable[[str], Mapping[str, str]]
"""Group id -> what is set for that group."""


class Bounded(NamedTuple):
    """A broker's value, and between which a group may set its own."""

    default: Callable[[], int]
    lowest: Callable[[], int]
    highest: Callable[[], int]

    def value(self, override: str | None) -> int:
        """The group's value, if it has one, brought within the bounds."""
        if override is None:
            return self.default()
        return max(self.lowest(), min(int(override), self.highest()))


class ConsumerSettings(NamedTuple):
    """Live values, and a source of ids that nobody had before."""

    session_timeout: Bounded
    heartbeat_interval: Bounded
    assignment_interval: Bounded
    max_size: Callable[[], int]
    assignors: tuple[str, ...]
    protocols: Callable[[], tuple[str, ...]]
    overrides: Overrides
    unique: Callable[[], str]

    def session_timeout_ms(self, group_id: str) -> int:
        """How long a member of this group may be silent."""
        return self.session_timeout.value(self.overrides(group_id).get(SESSION_TIMEOUT_MS))

    def heartbeat_interval_ms(self, group_id: str) -> int:
        """How often a member of this group reports."""
        return self.heartbeat_interval.value(self.overrides(group_id).get(HEARTBEAT_INTERVAL_MS))

    def assignment_interval_ms(self, group_id: str) -> int:
        """The pause between two targets of this group."""
        return self.assignment_interval.value(self.overrides(group_id).get(ASSIGNMENT_INTERVAL_MS))

    @property
    def is_served(self) -> bool:
        """Whether members of this kind are served at all."""
        return CONSUMER_PROTOCOL in self.protocols()


def consumer_settings(
    config: BrokerConfig, overrides: Overrides, unique: Callable[[], str]
) -> ConsumerSettings:
    """Those of a broker."""
    live = config.live
    return ConsumerSettings(
        Bounded(
            live(groups.GROUP_CONSUMER_SESSION_TIMEOUT_MS),
            live(groups.GROUP_CONSUMER_MIN_SESSION_TIMEOUT_MS),
            live(groups.GROUP_CONSUMER_MAX_SESSION_TIMEOUT_MS),
        ),
        Bounded(
            live(groups.GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS),
            live(groups.GROUP_CONSUMER_MIN_HEARTBEAT_INTERVAL_MS),
            live(groups.GROUP_CONSUMER_MAX_HEARTBEAT_INTERVAL_MS),
        ),
        Bounded(
            live(groups.GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS),
            live(groups.GROUP_CONSUMER_MIN_ASSIGNMENT_INTERVAL_MS),
            live(groups.GROUP_CONSUMER_MAX_ASSIGNMENT_INTERVAL_MS),
        ),
        live(groups.GROUP_CONSUMER_MAX_SIZE),
        _assignors(config[groups.GROUP_CONSUMER_ASSIGNORS]),
        live(groups.GROUP_COORDINATOR_REBALANCE_PROTOCOLS),
        overrides,
        unique,
    )


def _assignors(configured: tuple[str, ...]) -> tuple[str, ...]:
    """The names of those there are; a class of somebody's own cannot be run here."""
    for name in configured:
        if name not in _NAMES:
            _logger.warning("Leaving out the assignor %s, which is not known here", name)
    return tuple(_NAMES[name] for name in configured if name in _NAMES) or (UNIFORM,)
