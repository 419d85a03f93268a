"""Who this broker is, and what a single node understands of the quorum Kafka keeps metadata in."""

from config.checks import members
from config.definition import CLUSTER_WIDE, KEPT, MAX_LONG, NO_EFFECT, Area

AREA = Area("Node and roles")

NODE_ID = AREA.integer(
    "node.id",
    None,
    "The number of this broker in its cluster; without it that of meta.properties, else 1.",
    low=0,
)
BROKER_ID = AREA.integer(
    "broker.id", -1, "The older name of `node.id`; when both are set they must agree."
)
BROKER_RACK = AREA.string(
    "broker.rack",
    None,
    "The rack or zone of this broker, told to clients and used to spread replicas.",
)
PROCESS_ROLES = AREA.optional_names(
    "process.roles",
    "Taken from Kafka's single-node files: this process is broker and controller in one.",
    check=members("broker", "controller"),
)
CONTROLLER_LISTENER_NAMES = AREA.optional_names(
    "controller.listener.names",
    "Listeners of Kafka's own quorum: dropped here with one warning, the controller needs no port.",
    check=members(),
)
CONTROLLER_QUORUM_VOTERS = AREA.names(
    "controller.quorum.voters",
    (),
    "Taken when it names this node alone, as `id@host:port`.",
    check=members(),
)
CONTROLLER_QUORUM_BOOTSTRAP_SERVERS = AREA.names(
    "controller.quorum.bootstrap.servers",
    (),
    "Taken when it names one server, this node itself.",
    check=members(),
)
AREA.boolean(
    "controller.quorum.auto.join.enable",
    False,
    "Joining a quorum by itself.",
    remedy="the metadata of a single broker has no quorum to join: remove this line",
)
AREA.integer(
    "controller.quorum.append.linger.ms",
    25,
    "How long a quorum leader gathers records before it writes them.",
    low=0,
    status=NO_EFFECT,
)
AREA.integer(
    "controller.quorum.election.backoff.max.ms",
    1000,
    "The longest pause before another quorum election.",
    low=0,
    status=NO_EFFECT,
)
AREA.integer(
    "controller.quorum.election.timeout.ms",
    1000,
    "How long to wait for a quorum leader before standing for election.",
    low=0,
    status=NO_EFFECT,
)
AREA.integer(
    "controller.quorum.fetch.max.bytes",
    1048576,
    "The most bytes one quorum fetch returns.",
    low=1,
    status=NO_EFFECT,
)
AREA.integer(
    "controller.quorum.fetch.snapshot.max.bytes",
    1048576,
    "The most bytes one quorum snapshot fetch returns.",
    low=1,
    status=NO_EFFECT,
)
AREA.integer(
    "controller.quorum.fetch.timeout.ms",
    2000,
    "How long a quorum follower waits for its leader.",
    low=0,
    status=NO_EFFECT,
)
AREA.integer(
    "controller.quorum.request.timeout.ms",
    2000,
    "How long a quorum request may take.",
    low=0,
    status=NO_EFFECT,
)
AREA.integer(
    "controller.quorum.retry.backoff.ms",
    20,
    "The pause before a quorum request is tried again.",
    low=0,
    status=NO_EFFECT,
)
AREA.integer(
    "controller.socket.timeout.ms",
    30000,
    "How long a request from the controller to a broker may take.",
    status=NO_EFFECT,
)
AREA.integer(
    "broker.heartbeat.interval.ms",
    2000,
    "How often a broker reports to a quorum.",
    status=NO_EFFECT,
)
AREA.integer(
    "broker.session.timeout.ms",
    9000,
    "How long a quorum waits for a broker's report.",
    status=NO_EFFECT,
)
AREA.integer(
    "initial.broker.registration.timeout.ms",
    60000,
    "How long a first registration with a quorum may take.",
    status=NO_EFFECT,
)
AREA.string(
    "metadata.log.dir",
    None,
    "Where Kafka keeps its metadata log; here metadata lives in the first log directory.",
    status=NO_EFFECT,
)
AREA.long(
    "metadata.log.max.record.bytes.between.snapshots",
    20971520,
    "How much metadata log makes a new snapshot.",
    low=1,
    status=NO_EFFECT,
)
AREA.long(
    "metadata.log.max.snapshot.interval.ms",
    3600000,
    "How old a metadata snapshot may get.",
    low=0,
    status=NO_EFFECT,
)
AREA.integer(
    "metadata.log.segment.bytes",
    1073741824,
    "The size of one metadata log file.",
    low=8388608,
    status=NO_EFFECT,
)
AREA.long(
    "metadata.log.segment.ms",
    604800000,
    "The age at which a metadata log file is closed.",
    status=NO_EFFECT,
)
AREA.integer(
    "metadata.max.idle.interval.ms",
    500,
    "How often an idle quorum leader writes a record.",
    low=0,
    status=NO_EFFECT,
)
AREA.long(
    "metadata.max.retention.bytes", 104857600, "How much metadata log is kept.", status=NO_EFFECT
)
AREA.long(
    "metadata.max.retention.ms", 604800000, "How long metadata log is kept.", status=NO_EFFECT
)
CONTROLLED_SHUTDOWN_ENABLE = AREA.boolean(
    "controlled.shutdown.enable",
    True,
    "Whether leadership is handed over before a broker stops.",
    status=KEPT,
)
AREA.names(
    "config.providers",
    (),
    "Classes that fetch settings from elsewhere.",
    check=members(),
    dynamic=CLUSTER_WIDE,
    remedy="write the value itself, or pass it as an environment variable",
)
AREA.long(
    "server.max.startup.time.ms",
    MAX_LONG,
    "How long a start may take.",
    internal=True,
    status=NO_EFFECT,
)
