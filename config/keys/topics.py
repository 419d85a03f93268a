"""What can be set for one topic, over what the broker says."""

from config.checks import gzip_level, members, one_of, throttled_replicas
from config.definition import KEPT, MAX_INT, MAX_LONG, REFUSED, Area

AREA = Area("Topics")

CLEANUP_POLICY = AREA.names(
    "cleanup.policy",
    ("delete",),
    "Whether old records are deleted, compacted, or both.",
    check=members("compact", "delete"),
)
COMPRESSION_TYPE = AREA.string(
    "compression.type",
    "producer",
    "The codec batches are stored in; `producer` keeps that of the producer.",
    check=one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
)
COMPRESSION_GZIP_LEVEL = AREA.integer(
    "compression.gzip.level",
    -1,
    "How hard gzip tries when batches are compressed here; -1 is gzip's own choice.",
    check=gzip_level(),
)
COMPRESSION_LZ4_LEVEL = AREA.integer(
    "compression.lz4.level",
    9,
    "How hard lz4 tries when batches are compressed here.",
    low=1,
    high=17,
)
COMPRESSION_ZSTD_LEVEL = AREA.integer(
    "compression.zstd.level",
    3,
    "How hard zstd tries when batches are compressed here.",
    low=-131072,
    high=22,
)
DELETE_RETENTION_MS = AREA.long(
    "delete.retention.ms", 86400000, "How long the mark of a deleted key is kept.", low=0
)
FILE_DELETE_DELAY_MS = AREA.long(
    "file.delete.delay.ms",
    60000,
    "How long a removed file stays on disk for its last readers.",
    low=0,
)
FLUSH_MESSAGES = AREA.long(
    "flush.messages",
    MAX_LONG,
    "After how many records the log is forced to disk; 1 is before every acknowledgement.",
    low=1,
)
FLUSH_MS = AREA.long("flush.ms", MAX_LONG, "How long a record may stay unforced.", low=0)
FOLLOWER_REPLICATION_THROTTLED_REPLICAS = AREA.names(
    "follower.replication.throttled.replicas",
    (),
    "The replicas whose fetching is slowed, as `partition:broker`, or `*`.",
    check=throttled_replicas(),
    status=KEPT,
)
LEADER_REPLICATION_THROTTLED_REPLICAS = AREA.names(
    "leader.replication.throttled.replicas",
    (),
    "The replicas whose sending is slowed, as `partition:broker`, or `*`.",
    check=throttled_replicas(),
    status=KEPT,
)
INDEX_INTERVAL_BYTES = AREA.integer(
    "index.interval.bytes",
    4096,
    "How many bytes of log pass between two index entries.",
    low=0,
)
MAX_COMPACTION_LAG_MS = AREA.long(
    "max.compaction.lag.ms", MAX_LONG, "How long a record stays uncompacted at most.", low=1
)
MAX_MESSAGE_BYTES = AREA.integer(
    "max.message.bytes",
    1048588,
    "The largest batch of records accepted, after compression.",
    low=0,
)
MESSAGE_TIMESTAMP_AFTER_MAX_MS = AREA.long(
    "message.timestamp.after.max.ms",
    3600000,
    "How far a record's time may lie in the future.",
    low=0,
)
MESSAGE_TIMESTAMP_BEFORE_MAX_MS = AREA.long(
    "message.timestamp.before.max.ms",
    MAX_LONG,
    "How far a record's time may lie in the past.",
    low=0,
)
MESSAGE_TIMESTAMP_TYPE = AREA.string(
    "message.timestamp.type",
    "CreateTime",
    "Whether a record carries the producer's time or that of its appending.",
    check=one_of("CreateTime", "LogAppendTime"),
)
MIN_CLEANABLE_DIRTY_RATIO = AREA.double(
    "min.cleanable.dirty.ratio",
    0.5,
    "How much of a log must be uncompacted before it is compacted.",
    low=0,
    high=1,
)
MIN_COMPACTION_LAG_MS = AREA.long(
    "min.compaction.lag.ms", 0, "How long a record stays uncompacted at least.", low=0
)
MIN_INSYNC_REPLICAS = AREA.integer(
    "min.insync.replicas",
    1,
    "How many replicas must have a record before acks=all is answered.",
    low=1,
)
PREALLOCATE = AREA.boolean(
    "preallocate", False, "Whether a new log file takes its whole size at once."
)
RETENTION_BYTES = AREA.long(
    "retention.bytes",
    -1,
    "How large a partition may grow before its oldest files go; -1 without bound.",
)
RETENTION_MS = AREA.long(
    "retention.ms", 604800000, "How long records are kept; -1 for ever.", low=-1
)
SEGMENT_BYTES = AREA.integer(
    "segment.bytes",
    1073741824,
    "The size at which a log file is closed and the next begun.",
    low=1048576,
)
SEGMENT_INDEX_BYTES = AREA.integer(
    "segment.index.bytes", 10485760, "The largest an index file may get.", low=4
)
SEGMENT_JITTER_MS = AREA.long(
    "segment.jitter.ms", 0, "The most that is taken off `segment.ms` at random.", low=0
)
SEGMENT_MS = AREA.long(
    "segment.ms", 604800000, "The age at which a log file is closed and the next begun.", low=1
)
UNCLEAN_LEADER_ELECTION_ENABLE = AREA.boolean(
    "unclean.leader.election.enable",
    False,
    "Whether a replica that missed records may lead when no other can.",
)
INTERNAL_SEGMENT_BYTES = AREA.integer(
    "internal.segment.bytes",
    None,
    "For tests: `segment.bytes` without its lower bound.",
    low=1,
    high=MAX_INT,
    internal=True,
)
REMOTE_STORAGE_ENABLE = AREA.boolean(
    "remote.storage.enable",
    False,
    "Whether old log files go to remote storage, which is not built.",
    status=REFUSED,
)
LOCAL_RETENTION_BYTES = AREA.long(
    "local.retention.bytes",
    -2,
    "How many bytes stay local once copied away; -2 follows `retention.bytes`.",
    low=-2,
    status=KEPT,
)
LOCAL_RETENTION_MS = AREA.long(
    "local.retention.ms",
    -2,
    "How long records stay local once copied away; -2 follows `retention.ms`.",
    low=-2,
    status=KEPT,
)
REMOTE_LOG_COPY_DISABLE = AREA.boolean(
    "remote.log.copy.disable", False, "Whether copying to remote storage is stopped.", status=KEPT
)
REMOTE_LOG_DELETE_ON_DISABLE = AREA.boolean(
    "remote.log.delete.on.disable",
    False,
    "Whether remote files go when remote storage is turned off.",
    status=KEPT,
)
