"""What a topic's settings mean to its logs, and how they follow from the broker's.

A `LogConfig` is one immutable answer to "how is this topic kept": storage reads its plain fields on
every append. Its defaults are those of Kafka 4.3 (`LogConfig.java`).
"""

from typing import NamedTuple

MAX_LONG = 9223372036854775807


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
