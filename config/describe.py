"""Settings as DescribeConfigs shows them: value, where it came from, and what else speaks for it.

A synonym is a name under which the value was looked for, in the order of the search: the resource's
own value, then for each layer (this broker's, all brokers', file, defaults) each of the names. What
stands before the first entry under the asked name is dropped, and the source is that of the first
left, else "default" - so a `retention.ms` that follows from `log.retention.hours` shows its value
without a synonym. Source: `ConfigHelper.scala`, `DynamicBrokerConfig.scala` of Kafka 4.3.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from config.broker_config import BrokerConfig
from config.catalogue import KEYS, LISTENER_PREFIX, find_key, strip_listener
from config.client_metrics_config import CLIENT_METRICS_KEYS
from config.definition import READ_ONLY, Key, to_text
from config.group_config import GROUP_KEYS, GROUP_WORDS, group_value, parse_group_overrides
from config.topic_config import BROKER_WORDS, TOPIC_KEYS, broker_value, parse_overrides

# Where a value came from, by its number in the protocol.
TOPIC_CONFIG = 1
DYNAMIC_BROKER_CONFIG = 2
DYNAMIC_DEFAULT_BROKER_CONFIG = 3
STATIC_BROKER_CONFIG = 4
DEFAULT_CONFIG = 5
DYNAMIC_BROKER_LOGGER_CONFIG = 6
CLIENT_METRICS_CONFIG = 7
GROUP_CONFIG = 8

UNKNOWN_TYPE = 0
TYPES = {
    "boolean": 1,
    "string": 2,
    "int": 3,
    "short": 4,
    "long": 5,
    "double": 6,
    "list": 7,
    "class": 8,
    "password": 9,
}

_FAMILIES = (
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
)
_SYNONYMS: dict[str, tuple[str, ...]] = {name: family for family in _FAMILIES for name in family}
_SYNONYMS["log.flush.interval.ms"] = ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")

# Declared, but listed by Kafka only once somebody set them.
_SHOWN_WHEN_SET = frozenset(
    (
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    )
)


class Synonym(NamedTuple):
    """One place that speaks for a value."""

    name: str
    value: str | None
    source: int


class Entry(NamedTuple):
    """One setting of one resource; `synonyms` are complete, whether asked for or not."""

    name: str
    value: str | None
    read_only: bool
    source: int
    sensitive: bool
    synonyms: tuple[Synonym, ...]
    type: int
    documentation: str | None


def describe_topic(
    broker: BrokerConfig, overrides: Mapping[str, str], names: Collection[str] | None = None
) -> list[Entry]:
    """The settings of a topic that sets `overrides`, by name; of `names` only, if any are given."""
    own = parse_overrides(overrides)
    return [
        _topic_entry(broker, key, overrides, own)
        for name, key in sorted(TOPIC_KEYS.items())
        if (not names or name in names) and (not key.internal or name in overrides)
    ]


def describe_broker(broker: BrokerConfig, names: Collection[str] | None = None) -> list[Entry]:
    """The settings of this broker, names no Kafka knows included, by name."""
    listed = {name for name, key in KEYS.items() if not key.internal} - _SHOWN_WHEN_SET
    listed.update(broker.static, broker.cluster_default, broker.per_broker)
    return [
        _broker_entry(name, _broker_text(broker, name), _synonyms(broker, name, search_order(name)))
        for name in sorted(listed)
        if not names or name in names
    ]


def describe_group(
    broker: BrokerConfig, overrides: Mapping[str, str], names: Collection[str] | None = None
) -> list[Entry]:
    """The settings of a group that sets `overrides`, by name."""
    own = parse_group_overrides(overrides)
    entries = []
    for name, key in sorted(GROUP_KEYS.items()):
        if names and name not in names:
            continue
        word = GROUP_WORDS[name]
        synonyms = (
            [Synonym(name, to_text(key.default), DEFAULT_CONFIG)]
            if word is None
            else _synonyms(broker, word, (word,))
        )
        if name in own:
            synonyms.insert(0, Synonym(name, to_text(own[name]), GROUP_CONFIG))
        value = own[name] if name in own else group_value(broker, name)
        entries.append(_resource_entry(key, value, synonyms))
    return entries


def describe_client_metrics(
    overrides: Mapping[str, str], names: Collection[str] | None = None
) -> list[Entry]:
    """The settings of a subscription that sets `overrides`, by name."""
    entries = []
    for name, key in sorted(CLIENT_METRICS_KEYS.items()):
        if names and name not in names:
            continue
        value = key.parse(overrides[name]) if name in overrides else key.default
        own = [Synonym(name, to_text(value), CLIENT_METRICS_CONFIG)] if name in overrides else []
        entries.append(_resource_entry(key, value, own))
    return entries


def describe_cluster_default(
    broker: BrokerConfig, names: Collection[str] | None = None
) -> list[Entry]:
    """The settings made for all brokers while they run: nothing else, by name."""
    return [
        _broker_entry(
            name,
            text,
            [
                synonym
                for synonym in _synonyms(broker, name, search_order(name))
                if synonym.source == DYNAMIC_DEFAULT_BROKER_CONFIG
            ],
        )
        for name, text in sorted(broker.cluster_default.items())
        if not names or name in names
    ]


def search_order(name: str) -> tuple[str, ...]:
    """The names under which the broker setting `name` is looked for."""
    if name.startswith(LISTENER_PREFIX):
        return (name, strip_listener(name))
    return _SYNONYMS.get(name, (name,))


def _topic_entry(
    broker: BrokerConfig, key: Key[Any], overrides: Mapping[str, str], own: Mapping[str, Any]
) -> Entry:
    name = key.name
    words = tuple(word for word, _unit in BROKER_WORDS.get(name, ()))
    synonyms = _synonyms(broker, words[0], words) if words else []
    if name in own:
        synonyms.insert(0, Synonym(name, overrides[name], TOPIC_CONFIG))
    value = own[name] if name in own else broker_value(broker, name)
    return _resource_entry(key, value, synonyms)


def _resource_entry(key: Key[Any], value: Any, synonyms: list[Synonym]) -> Entry:
    """A setting of anything but a broker: never secret, always to be changed."""
    return Entry(
        name=key.name,
        value=to_text(value),
        read_only=False,
        source=synonyms[0].source if synonyms else DEFAULT_CONFIG,
        sensitive=False,
        synonyms=tuple(synonyms),
        type=TYPES[key.type],
        documentation=key.doc,
    )


def _broker_entry(name: str, text: str | None, synonyms: list[Synonym]) -> Entry:
    key = find_key(name)
    sensitive = key is None or key.sensitive
    return Entry(
        name=name,
        value=None if sensitive else text,
        read_only=key is None or key.dynamic == READ_ONLY,
        source=synonyms[0].source if synonyms else DEFAULT_CONFIG,
        sensitive=sensitive,
        synonyms=tuple(synonyms),
        type=UNKNOWN_TYPE if key is None else TYPES[key.type],
        documentation=None if key is None else key.doc,
    )


def _broker_text(broker: BrokerConfig, name: str) -> str | None:
    """The effective value of `name` as text, also of a name behind a listener or unknown."""
    if name in KEYS:
        return to_text(broker.value(name))
    for layer in (broker.per_broker, broker.cluster_default, broker.static):
        if name in layer:
            return layer[name]
    return None


def _synonyms(broker: BrokerConfig, asked: str, names: tuple[str, ...]) -> list[Synonym]:
    found = list(_all_synonyms(broker, names))
    for position, synonym in enumerate(found):
        if synonym.name == asked:
            return found[position:]
    return []


def _all_synonyms(broker: BrokerConfig, names: tuple[str, ...]) -> Iterator[Synonym]:
    layers = (
        (broker.per_broker, DYNAMIC_BROKER_CONFIG),
        (broker.cluster_default, DYNAMIC_DEFAULT_BROKER_CONFIG),
        (broker.static, STATIC_BROKER_CONFIG),
    )
    for layer, source in layers:
        for name in names:
            if name in layer:
                key = find_key(name)
                hidden = key is None or key.sensitive
                yield Synonym(name, None if hidden else layer[name], source)
    for name in names:
        key = KEYS.get(name)
        if key is not None and key.default is not None:
            yield Synonym(name, to_text(key.default), DEFAULT_CONFIG)
