"""How copies of a partition follow their leader, and how leaders are chosen."""

from config.definition import CLUSTER_WIDE, HONOURED, KEPT, MAX_LONG, NO_EFFECT, Area

AREA = Area("Replication", KEPT)

UNCLEAN_LEADER_ELECTION_ENABLE = AREA.boolean(
    "unclean.leader.election.enable",
    False,
    "Whether a replica that missed records may lead when no other can.",
    dynamic=CLUSTER_WIDE,
    status=HONOURED,
)
AREA.long(
    "unclean.leader.election.interval.ms",
    300000,
    "How often leaderless partitions are tried again.",
    low=1,
    internal=True,
    status=NO_EFFECT,
)
REPLICA_HIGH_WATERMARK_CHECKPOINT_INTERVAL_MS = AREA.long(
    "replica.high.watermark.checkpoint.interval.ms",
    5000,
    "How often high watermarks are written down.",
    status=HONOURED,
)
REPLICA_LAG_TIME_MAX_MS = AREA.long(
    "replica.lag.time.max.ms",
    30000,
    "How long a follower may lag before it leaves the in-sync set.",
)
REPLICA_SOCKET_TIMEOUT_MS = AREA.integer(
    "replica.socket.timeout.ms", 30000, "How long a follower's request may take."
)
REPLICA_SOCKET_RECEIVE_BUFFER_BYTES = AREA.integer(
    "replica.socket.receive.buffer.bytes", 65536, "The receive buffer of a follower's socket."
)
REPLICA_FETCH_MAX_BYTES = AREA.integer(
    "replica.fetch.max.bytes",
    1048576,
    "How many bytes of one partition a follower asks for.",
    low=0,
)
REPLICA_FETCH_WAIT_MAX_MS = AREA.integer(
    "replica.fetch.wait.max.ms", 500, "How long a follower's fetch may wait for records."
)
REPLICA_FETCH_BACKOFF_MS = AREA.integer(
    "replica.fetch.backoff.ms", 1000, "The pause after a failed fetch of a follower.", low=0
)
REPLICA_FETCH_MIN_BYTES = AREA.integer(
    "replica.fetch.min.bytes", 1, "How many bytes a follower waits for."
)
REPLICA_FETCH_RESPONSE_MAX_BYTES = AREA.integer(
    "replica.fetch.response.max.bytes",
    10485760,
    "How many bytes of all partitions a follower asks for.",
    low=0,
)
NUM_REPLICA_FETCHERS = AREA.integer(
    "num.replica.fetchers",
    1,
    "How many connections fetch from each leader.",
    low=1,
    dynamic=CLUSTER_WIDE,
)
NUM_REPLICA_ALTER_LOG_DIRS_THREADS = AREA.integer(
    "num.replica.alter.log.dirs.threads",
    None,
    "How many moves between directories run at a time; one a directory when unset.",
    status=HONOURED,
)
AREA.string(
    "replica.selector.class",
    None,
    "A class that chooses the replica a consumer reads from.",
    remedy="this broker loads no Java classes, readers are served by the leader: remove this line",
)
AUTO_LEADER_REBALANCE_ENABLE = AREA.boolean(
    "auto.leader.rebalance.enable",
    True,
    "Whether leadership returns to preferred replicas by itself.",
)
LEADER_IMBALANCE_CHECK_INTERVAL_SECONDS = AREA.long(
    "leader.imbalance.check.interval.seconds", 300, "How often that is looked at.", low=1
)
AREA.boolean(
    "follower.fetch.last.tiered.offset.enable",
    False,
    "Whether a new follower starts after what is in remote storage.",
    dynamic=CLUSTER_WIDE,
)
LEADER_REPLICATION_THROTTLED_RATE = AREA.long(
    "leader.replication.throttled.rate",
    MAX_LONG,
    "The most bytes a second sent to throttled followers.",
    dynamic=CLUSTER_WIDE,
)
FOLLOWER_REPLICATION_THROTTLED_RATE = AREA.long(
    "follower.replication.throttled.rate",
    MAX_LONG,
    "The most bytes a second fetched by throttled followers.",
    dynamic=CLUSTER_WIDE,
)
REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND = AREA.long(
    "replica.alter.log.dirs.io.max.bytes.per.second",
    MAX_LONG,
    "The most bytes a second moved between directories.",
    dynamic=CLUSTER_WIDE,
    status=HONOURED,
)
