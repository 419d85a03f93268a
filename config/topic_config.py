"""What a topic's settings mean to its logs, and how they follow from the broker's.

A `LogConfig` is one immutable answer to "how is this topic kept": storage reads its plain fields on
every append. Its defaults are those of Kafka 4.3 (`LogConfig.java`), the broker's words for a topic
key those of `ServerTopicConfigSynonyms.java`.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from config.broker_config import BrokerConfig
from config.definition import MAX_LONG, ConfigError, Key
from config.keys import topics

TOPIC_KEYS: dict[str, Key[Any]] = {key.name: key for key in topics.AREA.keys}

HOUR_MS, MINUTE_MS = 3600000, 60000

# The broker settings that speak for a topic key, first set one wins, each with its unit.
BROKER_WORDS: dict[str, tuple[tuple[str, int], ...]] = {
    "cleanup.policy": (("log.cleanup.policy", 1),),
    "compression.gzip.level": (("compression.gzip.level", 1),),
    "compression.lz4.level": (("compression.lz4.level", 1),),
    "compression.type": (("compression.type", 1),),
    "compression.zstd.level": (("compression.zstd.level", 1),),
    "delete.retention.ms": (("log.cleaner.delete.retention.ms", 1),),
    "file.delete.delay.ms": (("log.segment.delete.delay.ms", 1),),
    "flush.messages": (("log.flush.interval.messages", 1),),
    "flush.ms": (("log.flush.interval.ms", 1), ("log.flush.scheduler.interval.ms", 1)),
    "index.interval.bytes": (("log.index.interval.bytes", 1),),
    "local.retention.bytes": (("log.local.retention.bytes", 1),),
    "local.retention.ms": (("log.local.retention.ms", 1),),
    "max.compaction.lag.ms": (("log.cleaner.max.compaction.lag.ms", 1),),
    "max.message.bytes": (("message.max.bytes", 1),),
    "message.timestamp.after.max.ms": (("log.message.timestamp.after.max.ms", 1),),
    "message.timestamp.before.max.ms": (("log.message.timestamp.before.max.ms", 1),),
    "message.timestamp.type": (("log.message.timestamp.type", 1),),
    "min.cleanable.dirty.ratio": (("log.cleaner.min.cleanable.ratio", 1),),
    "min.compaction.lag.ms": (("log.cleaner.min.compaction.lag.ms", 1),),
    "min.insync.replicas": (("min.insync.replicas", 1),),
    "preallocate": (("log.preallocate", 1),),
    "retention.bytes": (("log.retention.bytes", 1),),
    "retention.ms": (
        ("log.retention.ms", 1),
        ("log.retention.minutes", MINUTE_MS),
        ("log.retention.hours", HOUR_MS),
    ),
    "segment.bytes": (("log.segment.bytes", 1),),
    "segment.index.bytes": (("log.index.size.max.bytes", 1),),
    "segment.jitter.ms": (("log.roll.jitter.ms", 1), ("log.roll.jitter.hours", HOUR_MS)),
    "segment.ms": (("log.roll.ms", 1), ("log.roll.hours", HOUR_MS)),
    "unclean.leader.election.enable": (("unclean.leader.election.enable", 1),),
}

# Fields that are not called as their key.
_FIELDS = {
    "message.timestamp.after.max.ms": "timestamp_after_max_ms",
    "message.timestamp.before.max.ms": "timestamp_before_max_ms",
}


class LogConfig(NamedTuple):
    """How the logs of one topic are written, rolled, retained and compacted.

    Construct by keyword: `LogConfig()` is a topic nobody configured. Times are milliseconds; -1
    means no limit for both retentions. An empty `cleanup.policy` is `compact` and `delete` both
    false: such a topic is kept for ever.
    """

    segment_bytes: int = 1073741824
    segment_ms: int = 604800000
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10485760
    flush_messages: int = MAX_LONG
    flush_ms: int = MAX_LONG
    retention_bytes: int = -1
    retention_ms: int = 604800000
    max_message_bytes: int = 1048588
    index_interval_bytes: int = 4096
    delete_retention_ms: int = 86400000
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = MAX_LONG
    file_delete_delay_ms: int = 60000
    min_cleanable_dirty_ratio: float = 0.5
    compact: bool = False
    delete: bool = True
    unclean_leader_election_enable: bool = False
    min_insync_replicas: int = 1
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    preallocate: bool = False
    log_append_time: bool = False
    timestamp_before_max_ms: int = MAX_LONG
    timestamp_after_max_ms: int = 3600000
    leader_replication_throttled_replicas: tuple[str, ...] = ()
    follower_replication_throttled_replicas: tuple[str, ...] = ()
    remote_storage_enable: bool = False
    local_retention_ms: int = -2
    local_retention_bytes: int = -2
    remote_log_copy_disable: bool = False
    remote_log_delete_on_disable: bool = False


def broker_value(broker: BrokerConfig, name: str) -> Any:
    """The value of the topic key `name` for a topic that does not set it."""
    for word, unit in BROKER_WORDS.get(name, ()):
        value = broker.value(word)
        if value is not None:
            if name == "retention.ms" and value < 0:
                return -1
            return value * unit if unit != 1 else value
    return TOPIC_KEYS[name].default


def log_config(broker: BrokerConfig, overrides: Mapping[str, str]) -> LogConfig:
    """How a topic with `overrides` is kept now; one shared answer for those without.

    Names this version does not know are skipped, as a newer broker may have written them. Raises
    ConfigError for a value that does not parse.
    """
    defaults = broker.derive("log_config", lambda: _broker_log_config(broker))
    if not overrides:
        return defaults
    return defaults._replace(**_fields(parse_overrides(overrides)))


def parse_overrides(overrides: Mapping[str, str]) -> dict[str, Any]:
    """The typed values of the known names. Raises ConfigError for the first that does not parse."""
    return {
        name: key.parse(overrides[name]) for name, key in TOPIC_KEYS.items() if name in overrides
    }


def validate_topic_overrides(
    overrides: Mapping[str, str], broker: BrokerConfig | None = None
) -> None:
    """Refuse unknown names, bad values, and values that contradict each other or `broker`'s.

    Raises ConfigError; its `message` is what Kafka tells the client.
    """
    for name, text in overrides.items():
        if name not in TOPIC_KEYS:
            rule = f"Unknown topic config name: {name}"
            raise ConfigError(name, text, rule, message=rule)
    values = parse_overrides(overrides)

    def effective(name: str) -> Any:
        if name in values:
            return values[name]
        return TOPIC_KEYS[name].default if broker is None else broker_value(broker, name)

    shortest, longest = effective("min.compaction.lag.ms"), effective("max.compaction.lag.ms")
    if shortest > longest:
        rule = (
            f"conflict topic config setting min.compaction.lag.ms ({shortest}) > "
            f"max.compaction.lag.ms ({longest})"
        )
        raise ConfigError("min.compaction.lag.ms", str(shortest), rule, message=rule)
    if effective("remote.storage.enable"):
        rule = (
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )
        raise ConfigError("remote.storage.enable", "true", rule, message=rule)


def _broker_log_config(broker: BrokerConfig) -> LogConfig:
    return LogConfig(**_fields({name: broker_value(broker, name) for name in TOPIC_KEYS}))


def _fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a LogConfig that `values` decide."""
    fields = dict(values)
    result: dict[str, Any] = {}
    if "cleanup.policy" in fields:
        policy = fields.pop("cleanup.policy")
        result["compact"] = "compact" in policy
        result["delete"] = "delete" in policy
    if "message.timestamp.type" in fields:
        result["log_append_time"] = fields.pop("message.timestamp.type") == "LogAppendTime"
    segment_bytes = fields.pop("internal.segment.bytes", None)
    if segment_bytes is not None:
        fields["segment.bytes"] = segment_bytes
    for name, value in fields.items():
        result[_FIELDS.get(name) or name.replace(".", "_")] = value
    return result
