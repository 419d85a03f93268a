"""What a group may set for itself, and between which bounds the broker lets it.

A group is checked as a whole: what it sets over what the broker says for the rest, so a session
must outlast a heartbeat wherever each comes from. The group need not exist, and its settings
outlive it. Source: KIP-848, KIP-932, KIP-1071; `GroupConfig.java` of Kafka 4.3, whose order of
checks and words these are.
"""

from collections.abc import Mapping
from typing import Any, Final

from config.broker_config import BrokerConfig
from config.definition import ConfigError, Key
from config.keys import one_group

GROUP_KEYS: Final[dict[str, Key[Any]]] = {key.name: key for key in one_group.AREA.keys}
_OWN_DEFAULT: Final = (
    "share.auto.offset.reset",
    "share.isolation.level",
    "share.renew.acknowledge.enable",
)
GROUP_WORDS: Final = {
    name: None if name in _OWN_DEFAULT else f"group.{name}" for name in GROUP_KEYS
}
"""The broker setting that speaks for a key of a group; None where the key's own default does."""
_BOUNDED: Final = (
    "consumer.heartbeat.interval.ms",
    "consumer.session.timeout.ms",
    "consumer.assignment.interval.ms",
    "share.heartbeat.interval.ms",
    "share.session.timeout.ms",
    "share.record.lock.duration.ms",
    "share.delivery.count.limit",
    "share.partition.max.record.locks",
    "share.assignment.interval.ms",
    "streams.heartbeat.interval.ms",
    "streams.session.timeout.ms",
    "streams.num.standby.replicas",
    "streams.assignment.interval.ms",
)
_WITHOUT_OVERRIDE_UNCHECKED: Final = ".assignment.interval.ms"
_HIGHEST_CALLED_OTHERWISE: Final = {
    "streams.num.standby.replicas": "group.streams.max.standby.replicas"
}


def group_value(broker: BrokerConfig, name: str) -> Any:
    """The value of the key `name` for a group that does not set it."""
    word = GROUP_WORDS[name]
    return GROUP_KEYS[name].default if word is None else broker.value(word)


def parse_group_overrides(overrides: Mapping[str, str]) -> dict[str, Any]:
    """The typed values of the known names. Raises ConfigError for the first that does not parse."""
    return {
        name: key.parse(overrides[name]) for name, key in GROUP_KEYS.items() if name in overrides
    }


def validate_group_overrides(overrides: Mapping[str, str], broker: BrokerConfig) -> None:
    """Refuse unknown names, bad values, and values outside `broker`'s bounds.

    Raises ConfigError; its `message` is what Kafka tells the client.
    """
    for name, text in overrides.items():
        if name not in GROUP_KEYS:
            _refuse(name, text, f"Unknown group config name: {name}")
    values = {name: group_value(broker, name) for name in GROUP_KEYS}
    values |= parse_group_overrides(overrides)
    for name in _BOUNDED:
        if name in overrides or not name.endswith(_WITHOUT_OVERRIDE_UNCHECKED):
            _check_bounds(broker, name, values[name])
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if values[session] <= values[heartbeat]:
            _refuse(session, str(values[session]), f"{session} must be greater than {heartbeat}")


def _check_bounds(broker: BrokerConfig, name: str, value: int) -> None:
    lowest, highest = _bounds_of(name)
    if lowest is not None and value < broker.value(lowest):
        _refuse(name, str(value), f"{name} must be greater than or equal to {lowest}")
    if value > broker.value(highest):
        _refuse(name, str(value), f"{name} must be less than or equal to {highest}")


def _bounds_of(name: str) -> tuple[str | None, str]:
    """The broker settings that bound a key; standby replicas have no lower one."""
    if name in _HIGHEST_CALLED_OTHERWISE:
        return None, _HIGHEST_CALLED_OTHERWISE[name]
    kind, _, rest = name.partition(".")
    return f"group.{kind}.min.{rest}", f"group.{kind}.max.{rest}"


def _refuse(name: str, text: str, rule: str) -> None:
    raise ConfigError(name, text, rule, message=rule)
