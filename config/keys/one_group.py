"""What one group may set for itself; what it does not set follows from the broker's `group.*`."""

from config.checks import offset_reset, one_of
from config.definition import HONOURED, KEPT, Area

AREA = Area("Settings of a group", KEPT)

AREA.integer(
    "consumer.session.timeout.ms",
    45000,
    "How long a member may be silent.",
    low=1,
    status=HONOURED,
)
AREA.integer(
    "consumer.heartbeat.interval.ms", 5000, "How often members report.", low=1, status=HONOURED
)
AREA.integer(
    "consumer.assignment.interval.ms",
    1000,
    "The pause between two assignments.",
    low=0,
    status=HONOURED,
)
AREA.integer(
    "share.session.timeout.ms", 45000, "How long a member of a share group may be silent.", low=1
)
AREA.integer(
    "share.heartbeat.interval.ms", 5000, "How often members of a share group report.", low=1
)
AREA.integer(
    "share.record.lock.duration.ms", 30000, "How long a record is lent to a member.", low=1000
)
AREA.integer(
    "share.delivery.count.limit",
    5,
    "How often a record is delivered before it is given up.",
    low=2,
)
AREA.integer(
    "share.partition.max.record.locks",
    2000,
    "How many records of a partition may be out at once.",
    low=100,
)
AREA.string(
    "share.auto.offset.reset",
    "latest",
    "Where a share group begins: earliest, latest, or so long ago.",
    check=offset_reset(),
)
AREA.string(
    "share.isolation.level",
    "read_uncommitted",
    "Whether a share group is given records of open and aborted transactions.",
    check=one_of("read_committed", "read_uncommitted"),
)
AREA.boolean(
    "share.renew.acknowledge.enable", True, "Whether a member may hold on to a record for longer."
)
AREA.integer(
    "share.assignment.interval.ms", 1000, "The pause between a share group's assignments.", low=0
)
AREA.integer(
    "streams.session.timeout.ms",
    45000,
    "How long a member of a streams group may be silent.",
    low=1,
)
AREA.integer(
    "streams.heartbeat.interval.ms", 5000, "How often members of a streams group report.", low=1
)
AREA.integer(
    "streams.num.standby.replicas", 0, "How many warm copies of each task are kept.", low=0
)
AREA.integer(
    "streams.initial.rebalance.delay.ms",
    3000,
    "How long a new streams group waits for more members.",
    low=0,
)
AREA.integer(
    "streams.assignment.interval.ms",
    1000,
    "The pause between a streams group's assignments.",
    low=0,
)
