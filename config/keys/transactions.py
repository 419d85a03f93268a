"""Producer ids, the transactions they write, and how much clients may use."""

from config.definition import CLUSTER_WIDE, HONOURED, KEPT, Area

AREA = Area("Producers, transactions and quotas", KEPT)

NO_JAVA = "this broker loads no Java classes: remove this line"

PRODUCER_ID_EXPIRATION_MS = AREA.integer(
    "producer.id.expiration.ms",
    86400000,
    "How long an idle producer's sequence numbers are remembered.",
    low=1,
    dynamic=CLUSTER_WIDE,
    status=HONOURED,
)
PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS = AREA.integer(
    "producer.id.expiration.check.interval.ms",
    600000,
    "How often idle producers are looked for.",
    low=1,
    internal=True,
    status=HONOURED,
)
TRANSACTION_MAX_TIMEOUT_MS = AREA.integer(
    "transaction.max.timeout.ms",
    900000,
    "The longest a transaction may stay open.",
    low=1,
    status=HONOURED,
)
TRANSACTIONAL_ID_EXPIRATION_MS = AREA.integer(
    "transactional.id.expiration.ms",
    604800000,
    "How long an idle transactional id is remembered.",
    low=1,
    status=HONOURED,
)
TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS = AREA.integer(
    "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    10000,
    "How often overdue transactions are looked for.",
    low=1,
    status=HONOURED,
)
TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS = AREA.integer(
    "transaction.remove.expired.transaction.cleanup.interval.ms",
    3600000,
    "How often idle transactional ids are looked for.",
    low=1,
    status=HONOURED,
)
TRANSACTION_PARTITION_VERIFICATION_ENABLE = AREA.boolean(
    "transaction.partition.verification.enable",
    True,
    "Whether a transactional append asks if its partition belongs to the transaction.",
    dynamic=CLUSTER_WIDE,
    status=HONOURED,
)
TRANSACTION_TWO_PHASE_COMMIT_ENABLE = AREA.boolean(
    "transaction.two.phase.commit.enable",
    False,
    "Whether transactions may be prepared by an outside coordinator.",
)
TRANSACTION_STATE_LOG_LOAD_BUFFER_SIZE = AREA.integer(
    "transaction.state.log.load.buffer.size",
    5242880,
    "How much of the transaction topic is read at a time at a start.",
    low=1,
)
TRANSACTION_STATE_LOG_MIN_ISR = AREA.integer(
    "transaction.state.log.min.isr",
    2,
    "How many replicas of the transaction topic must have a record.",
    low=1,
)
TRANSACTION_STATE_LOG_NUM_PARTITIONS = AREA.integer(
    "transaction.state.log.num.partitions",
    50,
    "The partitions of the transaction topic.",
    low=1,
    status=HONOURED,
)
TRANSACTION_STATE_LOG_REPLICATION_FACTOR = AREA.short(
    "transaction.state.log.replication.factor", 3, "The replicas of the transaction topic.", low=1
)
TRANSACTION_STATE_LOG_SEGMENT_BYTES = AREA.integer(
    "transaction.state.log.segment.bytes",
    104857600,
    "The file size of the transaction topic.",
    low=1,
    status=HONOURED,
)
ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MS = AREA.integer(
    "add.partitions.to.txn.retry.backoff.ms",
    20,
    "The pause before the broker asks about a partition again.",
    low=1,
    status=HONOURED,
)
ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MAX_MS = AREA.integer(
    "add.partitions.to.txn.retry.backoff.max.ms",
    100,
    "How long the broker goes on asking.",
    low=0,
    status=HONOURED,
)
QUOTA_WINDOW_NUM = AREA.integer(
    "quota.window.num", 11, "How many windows client rates are measured over.", low=1
)
QUOTA_WINDOW_SIZE_SECONDS = AREA.integer(
    "quota.window.size.seconds", 1, "The length of each.", low=1
)
REPLICATION_QUOTA_WINDOW_NUM = AREA.integer(
    "replication.quota.window.num",
    11,
    "How many windows replication rates are measured over.",
    low=1,
)
REPLICATION_QUOTA_WINDOW_SIZE_SECONDS = AREA.integer(
    "replication.quota.window.size.seconds", 1, "The length of each.", low=1
)
ALTER_LOG_DIRS_REPLICATION_QUOTA_WINDOW_NUM = AREA.integer(
    "alter.log.dirs.replication.quota.window.num",
    11,
    "How many windows moves between directories are measured over.",
    low=1,
)
ALTER_LOG_DIRS_REPLICATION_QUOTA_WINDOW_SIZE_SECONDS = AREA.integer(
    "alter.log.dirs.replication.quota.window.size.seconds", 1, "The length of each.", low=1
)
CONTROLLER_QUOTA_WINDOW_NUM = AREA.integer(
    "controller.quota.window.num", 11, "How many windows topic changes are measured over.", low=1
)
CONTROLLER_QUOTA_WINDOW_SIZE_SECONDS = AREA.integer(
    "controller.quota.window.size.seconds", 1, "The length of each.", low=1
)
AREA.plugin("client.quota.callback.class", None, "A class that decides quotas.", remedy=NO_JAVA)
