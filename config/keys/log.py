"""Where records are kept, how files roll, flush and expire, and what a topic is born with."""

from config.checks import gzip_level, members, one_of
from config.definition import CLUSTER_WIDE, KEPT, MAX_LONG, PER_BROKER, Area

AREA = Area("Logs")

NO_JAVA = "this broker loads no Java classes: remove this line"

LOG_DIR = AREA.names(
    "log.dir",
    ("/tmp/kafka-logs",),
    "The directory of the logs, used when `log.dirs` is unset.",
    check=members(),
)
LOG_DIRS = AREA.optional_names(
    "log.dirs",
    "The directories of the logs; the first also holds the metadata.",
    check=members(),
)
CORDONED_LOG_DIRS = AREA.names(
    "cordoned.log.dirs",
    (),
    "Log directories that get no new partitions; `*` for all of them.",
    check=members(),
    dynamic=PER_BROKER,
)
LOG_DIR_FAILURE_TIMEOUT_MS = AREA.long(
    "log.dir.failure.timeout.ms",
    30000,
    "How long a failed directory may stay untold before the broker stops.",
    low=1,
    status=KEPT,
)
NUM_RECOVERY_THREADS_PER_DATA_DIR = AREA.integer(
    "num.recovery.threads.per.data.dir",
    2,
    "How many logs of one directory are recovered at a time.",
    low=1,
    dynamic=CLUSTER_WIDE,
)
LOG_INITIAL_TASK_DELAY_MS = AREA.long(
    "log.initial.task.delay.ms",
    30000,
    "How long after the start the periodic jobs on logs begin.",
    low=0,
    internal=True,
)
LOG_SEGMENT_BYTES = AREA.integer(
    "log.segment.bytes",
    1073741824,
    "The size at which a log file is closed and the next begun.",
    low=1048576,
    dynamic=CLUSTER_WIDE,
)
LOG_ROLL_MS = AREA.long(
    "log.roll.ms",
    None,
    "The age at which a log file is closed, before `log.roll.hours`.",
    dynamic=CLUSTER_WIDE,
)
LOG_ROLL_HOURS = AREA.integer(
    "log.roll.hours", 168, "The age in hours at which a log file is closed.", low=1
)
LOG_ROLL_JITTER_MS = AREA.long(
    "log.roll.jitter.ms",
    None,
    "The most that is taken off that age at random, before `log.roll.jitter.hours`.",
    dynamic=CLUSTER_WIDE,
)
LOG_ROLL_JITTER_HOURS = AREA.integer(
    "log.roll.jitter.hours", 0, "The most, in hours, that is taken off that age at random.", low=0
)
LOG_RETENTION_MS = AREA.long(
    "log.retention.ms",
    None,
    "How long records are kept, before `.minutes` and `.hours`; -1 for ever.",
    dynamic=CLUSTER_WIDE,
)
LOG_RETENTION_MINUTES = AREA.integer(
    "log.retention.minutes", None, "How many minutes records are kept, before `.hours`."
)
LOG_RETENTION_HOURS = AREA.integer("log.retention.hours", 168, "How many hours records are kept.")
LOG_RETENTION_BYTES = AREA.long(
    "log.retention.bytes",
    -1,
    "How large a partition may grow before its oldest files go; -1 without bound.",
    dynamic=CLUSTER_WIDE,
)
LOG_RETENTION_CHECK_INTERVAL_MS = AREA.long(
    "log.retention.check.interval.ms",
    300000,
    "How often logs are searched for files to delete.",
    low=1,
)
LOG_CLEANUP_POLICY = AREA.names(
    "log.cleanup.policy",
    ("delete",),
    "Whether old records are deleted, compacted, or both.",
    check=members("compact", "delete"),
    dynamic=CLUSTER_WIDE,
)
LOG_SEGMENT_DELETE_DELAY_MS = AREA.long(
    "log.segment.delete.delay.ms",
    60000,
    "How long a removed file stays on disk for its last readers.",
    low=0,
    dynamic=CLUSTER_WIDE,
)
LOG_INDEX_SIZE_MAX_BYTES = AREA.integer(
    "log.index.size.max.bytes",
    10485760,
    "The largest an index file may get.",
    low=4,
    dynamic=CLUSTER_WIDE,
)
LOG_INDEX_INTERVAL_BYTES = AREA.integer(
    "log.index.interval.bytes",
    4096,
    "How many bytes of log pass between two index entries.",
    low=0,
    dynamic=CLUSTER_WIDE,
)
LOG_PREALLOCATE = AREA.boolean(
    "log.preallocate",
    False,
    "Whether a new log file takes its whole size at once.",
    dynamic=CLUSTER_WIDE,
)
LOG_FLUSH_INTERVAL_MESSAGES = AREA.long(
    "log.flush.interval.messages",
    MAX_LONG,
    "After how many records a log is forced to disk; 1 is before every acknowledgement.",
    low=1,
    dynamic=CLUSTER_WIDE,
)
LOG_FLUSH_INTERVAL_MS = AREA.long(
    "log.flush.interval.ms",
    None,
    "How long a record may stay unforced; `log.flush.scheduler.interval.ms` when unset.",
    dynamic=CLUSTER_WIDE,
)
LOG_FLUSH_SCHEDULER_INTERVAL_MS = AREA.long(
    "log.flush.scheduler.interval.ms",
    MAX_LONG,
    "How often logs are searched for records to force to disk.",
)
LOG_FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS = AREA.integer(
    "log.flush.offset.checkpoint.interval.ms",
    60000,
    "How often the points of recovery are written down.",
    low=0,
)
LOG_FLUSH_START_OFFSET_CHECKPOINT_INTERVAL_MS = AREA.integer(
    "log.flush.start.offset.checkpoint.interval.ms",
    60000,
    "How often the first offsets of logs are written down.",
    low=0,
)
LOG_MESSAGE_TIMESTAMP_TYPE = AREA.string(
    "log.message.timestamp.type",
    "CreateTime",
    "Whether a record carries the producer's time or that of its appending.",
    check=one_of("CreateTime", "LogAppendTime"),
    dynamic=CLUSTER_WIDE,
)
LOG_MESSAGE_TIMESTAMP_BEFORE_MAX_MS = AREA.long(
    "log.message.timestamp.before.max.ms",
    MAX_LONG,
    "How far a record's time may lie in the past.",
    low=0,
    dynamic=CLUSTER_WIDE,
)
LOG_MESSAGE_TIMESTAMP_AFTER_MAX_MS = AREA.long(
    "log.message.timestamp.after.max.ms",
    3600000,
    "How far a record's time may lie in the future.",
    low=0,
    dynamic=CLUSTER_WIDE,
)
MESSAGE_MAX_BYTES = AREA.integer(
    "message.max.bytes",
    1048588,
    "The largest batch of records accepted, after compression.",
    low=0,
    dynamic=CLUSTER_WIDE,
)
COMPRESSION_TYPE = AREA.string(
    "compression.type",
    "producer",
    "The codec batches are stored in; `producer` keeps that of the producer.",
    check=one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    dynamic=CLUSTER_WIDE,
)
COMPRESSION_GZIP_LEVEL = AREA.integer(
    "compression.gzip.level",
    -1,
    "How hard gzip tries when batches are compressed here; -1 is gzip's own choice.",
    check=gzip_level(),
    dynamic=CLUSTER_WIDE,
)
COMPRESSION_LZ4_LEVEL = AREA.integer(
    "compression.lz4.level",
    9,
    "How hard lz4 tries when batches are compressed here.",
    low=1,
    high=17,
    dynamic=CLUSTER_WIDE,
)
COMPRESSION_ZSTD_LEVEL = AREA.integer(
    "compression.zstd.level",
    3,
    "How hard zstd tries when batches are compressed here.",
    low=-131072,
    high=22,
    dynamic=CLUSTER_WIDE,
)
MIN_INSYNC_REPLICAS = AREA.integer(
    "min.insync.replicas",
    1,
    "How many replicas must have a record before acks=all is answered.",
    low=1,
    dynamic=CLUSTER_WIDE,
)
NUM_PARTITIONS = AREA.integer(
    "num.partitions", 1, "The partitions of a topic created without a number.", low=1
)
DEFAULT_REPLICATION_FACTOR = AREA.integer(
    "default.replication.factor", 1, "The replicas of a topic created without a number."
)
AUTO_CREATE_TOPICS_ENABLE = AREA.boolean(
    "auto.create.topics.enable", True, "Whether asking for an absent topic creates it."
)
DELETE_TOPIC_ENABLE = AREA.boolean("delete.topic.enable", True, "Whether topics may be deleted.")
AREA.plugin(
    "create.topic.policy.class.name", None, "A class that judges new topics.", remedy=NO_JAVA
)
AREA.plugin(
    "alter.config.policy.class.name", None, "A class that judges changed settings.", remedy=NO_JAVA
)
LOG_CLEANER_ENABLE = AREA.boolean(
    "log.cleaner.enable",
    True,
    "Whether compacted topics are compacted; deprecated, leave it on.",
)
LOG_CLEANER_THREADS = AREA.integer(
    "log.cleaner.threads",
    1,
    "How many logs are compacted at a time, each by a process of its own.",
    low=0,
    dynamic=CLUSTER_WIDE,
)
LOG_CLEANER_IO_MAX_BYTES_PER_SECOND = AREA.double(
    "log.cleaner.io.max.bytes.per.second",
    1.7976931348623157e308,
    "The most bytes compaction reads and writes a second.",
    dynamic=CLUSTER_WIDE,
)
LOG_CLEANER_DEDUPE_BUFFER_SIZE = AREA.long(
    "log.cleaner.dedupe.buffer.size",
    134217728,
    "The most memory for the keys of logs being compacted, 24 bytes each; taken as needed.",
    dynamic=CLUSTER_WIDE,
)
LOG_CLEANER_IO_BUFFER_SIZE = AREA.integer(
    "log.cleaner.io.buffer.size",
    524288,
    "The memory for reading and writing while compacting.",
    low=0,
    dynamic=CLUSTER_WIDE,
)
LOG_CLEANER_IO_BUFFER_LOAD_FACTOR = AREA.double(
    "log.cleaner.io.buffer.load.factor",
    0.9,
    "How full the table of keys may get.",
    dynamic=CLUSTER_WIDE,
)
LOG_CLEANER_BACKOFF_MS = AREA.long(
    "log.cleaner.backoff.ms",
    15000,
    "How long compaction sleeps when nothing is to be done.",
    low=0,
    dynamic=CLUSTER_WIDE,
)
LOG_CLEANER_MIN_CLEANABLE_RATIO = AREA.double(
    "log.cleaner.min.cleanable.ratio",
    0.5,
    "How much of a log must be uncompacted before it is compacted.",
    low=0,
    high=1,
    dynamic=CLUSTER_WIDE,
)
LOG_CLEANER_DELETE_RETENTION_MS = AREA.long(
    "log.cleaner.delete.retention.ms",
    86400000,
    "How long the mark of a deleted key is kept.",
    low=0,
    dynamic=CLUSTER_WIDE,
)
LOG_CLEANER_MIN_COMPACTION_LAG_MS = AREA.long(
    "log.cleaner.min.compaction.lag.ms",
    0,
    "How long a record stays uncompacted at least.",
    low=0,
    dynamic=CLUSTER_WIDE,
)
LOG_CLEANER_MAX_COMPACTION_LAG_MS = AREA.long(
    "log.cleaner.max.compaction.lag.ms",
    MAX_LONG,
    "How long a record stays uncompacted at most.",
    low=1,
    dynamic=CLUSTER_WIDE,
)
