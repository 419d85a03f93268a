"""Consumer groups, classic, new and streams, and the topic their offsets are kept in."""

from config.checks import members, one_of_in_any_case
from config.definition import CLUSTER_WIDE, HONOURED, KEPT, MAX_INT, NO_EFFECT, Area

AREA = Area("Groups and offsets", KEPT)

GROUP_MIN_SESSION_TIMEOUT_MS = AREA.integer(
    "group.min.session.timeout.ms",
    6000,
    "The shortest session a classic member may ask for.",
    status=HONOURED,
)
GROUP_MAX_SESSION_TIMEOUT_MS = AREA.integer(
    "group.max.session.timeout.ms",
    1800000,
    "The longest session a classic member may ask for.",
    status=HONOURED,
)
GROUP_INITIAL_REBALANCE_DELAY_MS = AREA.integer(
    "group.initial.rebalance.delay.ms",
    3000,
    "How long a new classic group waits for more members.",
    status=HONOURED,
)
GROUP_MAX_SIZE = AREA.integer(
    "group.max.size", MAX_INT, "The most members of a classic group.", low=1, status=HONOURED
)
GROUP_COORDINATOR_REBALANCE_PROTOCOLS = AREA.names(
    "group.coordinator.rebalance.protocols",
    ("classic", "consumer", "streams"),
    "The kinds of group that are served.",
    check=members("consumer", "classic", "share", "streams"),
    status=HONOURED,
)
AREA.integer(
    "group.coordinator.threads", 4, "Threads of Kafka's group coordinator.", low=1, status=NO_EFFECT
)
AREA.integer(
    "group.coordinator.background.threads",
    2,
    "Threads for costly work of Kafka's group coordinator.",
    low=1,
    status=NO_EFFECT,
)
GROUP_COORDINATOR_APPEND_LINGER_MS = AREA.integer(
    "group.coordinator.append.linger.ms",
    -1,
    "How long group records are gathered before they are written; -1 adapts.",
    low=-1,
)
GROUP_COORDINATOR_CACHED_BUFFER_MAX_BYTES = AREA.integer(
    "group.coordinator.cached.buffer.max.bytes",
    1048588,
    "The largest write buffer the coordinator keeps.",
    low=524288,
    dynamic=CLUSTER_WIDE,
)
GROUP_CONSUMER_SESSION_TIMEOUT_MS = AREA.integer(
    "group.consumer.session.timeout.ms",
    45000,
    "How long a member may be silent.",
    low=1,
    status=HONOURED,
)
GROUP_CONSUMER_MIN_SESSION_TIMEOUT_MS = AREA.integer(
    "group.consumer.min.session.timeout.ms",
    45000,
    "The shortest session a group may set.",
    low=1,
    status=HONOURED,
)
GROUP_CONSUMER_MAX_SESSION_TIMEOUT_MS = AREA.integer(
    "group.consumer.max.session.timeout.ms",
    60000,
    "The longest session a group may set.",
    low=1,
    status=HONOURED,
)
GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS = AREA.integer(
    "group.consumer.heartbeat.interval.ms",
    5000,
    "How often members report.",
    low=1,
    status=HONOURED,
)
GROUP_CONSUMER_MIN_HEARTBEAT_INTERVAL_MS = AREA.integer(
    "group.consumer.min.heartbeat.interval.ms",
    5000,
    "The shortest interval a group may set.",
    low=1,
    status=HONOURED,
)
GROUP_CONSUMER_MAX_HEARTBEAT_INTERVAL_MS = AREA.integer(
    "group.consumer.max.heartbeat.interval.ms",
    15000,
    "The longest interval a group may set.",
    low=1,
    status=HONOURED,
)
GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS = AREA.integer(
    "group.consumer.assignment.interval.ms",
    1000,
    "The pause between two assignments of a group.",
    low=0,
    dynamic=CLUSTER_WIDE,
    status=HONOURED,
)
GROUP_CONSUMER_MIN_ASSIGNMENT_INTERVAL_MS = AREA.integer(
    "group.consumer.min.assignment.interval.ms",
    0,
    "The shortest pause a group may set.",
    low=0,
    status=HONOURED,
)
GROUP_CONSUMER_MAX_ASSIGNMENT_INTERVAL_MS = AREA.integer(
    "group.consumer.max.assignment.interval.ms",
    15000,
    "The longest pause a group may set.",
    low=0,
    status=HONOURED,
)
GROUP_CONSUMER_MAX_SIZE = AREA.integer(
    "group.consumer.max.size", MAX_INT, "The most members of a group.", low=1, status=HONOURED
)
GROUP_CONSUMER_ASSIGNORS = AREA.names(
    "group.consumer.assignors",
    ("uniform", "range"),
    "The ways the broker can divide partitions; the first is the default.",
    check=members(),
    status=HONOURED,
)
GROUP_CONSUMER_MIGRATION_POLICY = AREA.string(
    "group.consumer.migration.policy",
    "bidirectional",
    "Whether classic and new groups may turn into each other.",
    check=one_of_in_any_case("DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"),
)
AREA.integer(
    "group.consumer.regex.refresh.interval.ms",
    600000,
    "How often subscribed patterns are matched again.",
    low=10000,
    internal=True,
    status=NO_EFFECT,
)
AREA.integer(
    "group.streams.session.timeout.ms", 45000, "How long a streams member may be silent.", low=1
)
AREA.integer(
    "group.streams.min.session.timeout.ms",
    45000,
    "The shortest session a streams group may set.",
    low=1,
)
AREA.integer(
    "group.streams.max.session.timeout.ms",
    60000,
    "The longest session a streams group may set.",
    low=1,
)
AREA.integer(
    "group.streams.heartbeat.interval.ms", 5000, "How often streams members report.", low=1
)
AREA.integer(
    "group.streams.min.heartbeat.interval.ms",
    5000,
    "The shortest interval a streams group may set.",
    low=1,
)
AREA.integer(
    "group.streams.max.heartbeat.interval.ms",
    15000,
    "The longest interval a streams group may set.",
    low=1,
)
AREA.integer(
    "group.streams.assignment.interval.ms",
    1000,
    "The pause between two assignments of a streams group.",
    low=0,
    dynamic=CLUSTER_WIDE,
)
AREA.integer(
    "group.streams.min.assignment.interval.ms",
    0,
    "The shortest pause a streams group may set.",
    low=0,
)
AREA.integer(
    "group.streams.max.assignment.interval.ms",
    15000,
    "The longest pause a streams group may set.",
    low=0,
)
AREA.integer(
    "group.streams.initial.rebalance.delay.ms",
    3000,
    "How long a new streams group waits for more members.",
    low=0,
)
AREA.integer("group.streams.max.size", MAX_INT, "The most members of a streams group.", low=1)
AREA.integer(
    "group.streams.num.standby.replicas",
    0,
    "How many warm copies of each streams task are kept.",
    low=0,
)
AREA.integer(
    "group.streams.max.standby.replicas", 2, "The most warm copies a streams group may set.", low=0
)
OFFSET_METADATA_MAX_BYTES = AREA.integer(
    "offset.metadata.max.bytes",
    4096,
    "The longest note a client may attach to a committed offset.",
    status=HONOURED,
)
OFFSETS_COMMIT_TIMEOUT_MS = AREA.integer(
    "offsets.commit.timeout.ms",
    5000,
    "How long a commit may wait for its replicas.",
    low=1,
    status=HONOURED,
)
OFFSETS_LOAD_BUFFER_SIZE = AREA.integer(
    "offsets.load.buffer.size",
    5242880,
    "How much of the offsets topic is read at a time at a start.",
    low=1,
)
OFFSETS_RETENTION_MINUTES = AREA.integer(
    "offsets.retention.minutes",
    10080,
    "How long the offsets of an empty group are kept.",
    low=1,
    status=HONOURED,
)
OFFSETS_RETENTION_CHECK_INTERVAL_MS = AREA.long(
    "offsets.retention.check.interval.ms",
    600000,
    "How often expired offsets are looked for.",
    low=1,
    status=HONOURED,
)
OFFSETS_TOPIC_COMPRESSION_CODEC = AREA.integer(
    "offsets.topic.compression.codec", 0, "The codec of the offsets topic, by number."
)
OFFSETS_TOPIC_NUM_PARTITIONS = AREA.integer(
    "offsets.topic.num.partitions",
    50,
    "The partitions of the offsets topic.",
    low=1,
    status=HONOURED,
)
OFFSETS_TOPIC_REPLICATION_FACTOR = AREA.short(
    "offsets.topic.replication.factor", 3, "The replicas of the offsets topic.", low=1
)
OFFSETS_TOPIC_SEGMENT_BYTES = AREA.integer(
    "offsets.topic.segment.bytes",
    104857600,
    "The file size of the offsets topic.",
    low=1,
    status=HONOURED,
)
