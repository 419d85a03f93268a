"""Share groups: members share partitions as queues, and a topic remembers deliveries."""

from config.checks import members
from config.definition import CLUSTER_WIDE, KEPT, NO_EFFECT, Area

AREA = Area("Share groups", KEPT)

NO_JAVA = "this broker loads no Java classes: remove this line"

AREA.integer("group.share.session.timeout.ms", 45000, "How long a member may be silent.", low=1)
AREA.integer(
    "group.share.min.session.timeout.ms", 45000, "The shortest session a group may set.", low=1
)
AREA.integer(
    "group.share.max.session.timeout.ms", 60000, "The longest session a group may set.", low=1
)
AREA.integer("group.share.heartbeat.interval.ms", 5000, "How often members report.", low=1)
AREA.integer(
    "group.share.min.heartbeat.interval.ms", 5000, "The shortest interval a group may set.", low=1
)
AREA.integer(
    "group.share.max.heartbeat.interval.ms", 15000, "The longest interval a group may set.", low=1
)
AREA.integer(
    "group.share.assignment.interval.ms",
    1000,
    "The pause between two assignments of a group.",
    low=0,
    dynamic=CLUSTER_WIDE,
)
AREA.integer(
    "group.share.min.assignment.interval.ms", 0, "The shortest pause a group may set.", low=0
)
AREA.integer(
    "group.share.max.assignment.interval.ms", 15000, "The longest pause a group may set.", low=0
)
AREA.names(
    "group.share.assignors",
    ("simple",),
    "The ways the broker can divide partitions.",
    check=members(),
)
AREA.integer("group.share.max.size", 200, "The most members of a group.", low=1, high=1000)
AREA.integer("group.share.max.share.sessions", 2000, "The most share sessions of a broker.", low=1)
AREA.integer(
    "group.share.delivery.count.limit",
    5,
    "How often a record is delivered before it is given up.",
    low=2,
    high=10,
)
AREA.integer(
    "group.share.min.delivery.count.limit",
    2,
    "The smallest delivery limit a group may set.",
    low=2,
    high=5,
)
AREA.integer(
    "group.share.max.delivery.count.limit",
    10,
    "The largest delivery limit a group may set.",
    low=5,
    high=25,
)
AREA.integer(
    "group.share.partition.max.record.locks",
    2000,
    "How many records of a partition may be out at once.",
    low=100,
    high=10000,
)
AREA.integer(
    "group.share.min.partition.max.record.locks",
    100,
    "The smallest such number a group may set.",
    low=100,
    high=2000,
)
AREA.integer(
    "group.share.max.partition.max.record.locks",
    4000,
    "The largest such number a group may set.",
    low=2000,
    high=10000,
)
AREA.integer(
    "group.share.record.lock.duration.ms",
    30000,
    "How long a record is lent to a member.",
    low=1000,
    high=3600000,
)
AREA.integer(
    "group.share.min.record.lock.duration.ms",
    15000,
    "The shortest loan a group may set.",
    low=1000,
    high=30000,
)
AREA.integer(
    "group.share.max.record.lock.duration.ms",
    60000,
    "The longest loan a group may set.",
    low=30000,
    high=3600000,
)
AREA.integer(
    "group.share.initialize.retry.interval.ms",
    30000,
    "How often failed share state is set up again.",
    low=1,
    internal=True,
    status=NO_EFFECT,
)
AREA.string(
    "group.share.persister.class.name",
    "org.apache.kafka.server.share.persister.DefaultStatePersister",
    "The class that keeps share state.",
    internal=True,
    remedy=NO_JAVA,
)
AREA.integer(
    "share.coordinator.append.linger.ms",
    -1,
    "How long share records are gathered before they are written; -1 adapts.",
    low=-1,
)
AREA.integer(
    "share.coordinator.cached.buffer.max.bytes",
    1048588,
    "The largest write buffer the coordinator keeps.",
    low=524288,
    dynamic=CLUSTER_WIDE,
)
AREA.integer(
    "share.coordinator.load.buffer.size",
    5242880,
    "How much of the share state topic is read at a time at a start.",
    low=1,
)
AREA.integer(
    "share.coordinator.snapshot.update.records.per.snapshot",
    500,
    "How many updates make a new snapshot.",
    low=0,
    high=500,
)
AREA.integer(
    "share.coordinator.state.topic.compression.codec",
    0,
    "The codec of the share state topic, by number.",
)
AREA.short(
    "share.coordinator.state.topic.min.isr",
    2,
    "How many replicas of the share state topic must have a record.",
    low=1,
)
AREA.integer(
    "share.coordinator.state.topic.num.partitions",
    50,
    "The partitions of the share state topic.",
    low=1,
)
AREA.short(
    "share.coordinator.state.topic.replication.factor",
    3,
    "The replicas of the share state topic.",
    low=1,
)
AREA.integer(
    "share.coordinator.state.topic.segment.bytes",
    104857600,
    "The file size of the share state topic.",
    low=1,
)
AREA.integer(
    "share.coordinator.threads", 1, "Threads of Kafka's share coordinator.", low=1, status=NO_EFFECT
)
AREA.integer(
    "share.coordinator.write.timeout.ms",
    5000,
    "How long a share record may wait for its replicas.",
    low=1,
)
