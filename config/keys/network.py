"""Where clients reach the broker, how many of them, and how much one request may carry."""

from config.checks import members, one_of
from config.definition import CLUSTER_WIDE, KEPT, MAX_INT, NO_EFFECT, PER_BROKER, Area

AREA = Area("Listeners, connections and requests")

LISTENERS = AREA.names(
    "listeners",
    ("PLAINTEXT://:9092",),
    "Where to listen, as `NAME://host:port`; no host is every interface, port 0 a free one.",
    check=members(),
    dynamic=PER_BROKER,
)
ADVERTISED_LISTENERS = AREA.optional_names(
    "advertised.listeners",
    "What clients are told to connect to, by listener name; what is listened on when unset.",
    check=members(),
)
LISTENER_SECURITY_PROTOCOL_MAP = AREA.string(
    "listener.security.protocol.map",
    "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
    "The protocol of each listener name.",
    dynamic=PER_BROKER,
)
INTER_BROKER_LISTENER_NAME = AREA.string(
    "inter.broker.listener.name", None, "The listener over which brokers talk to each other."
)
SECURITY_INTER_BROKER_PROTOCOL = AREA.string(
    "security.inter.broker.protocol",
    "PLAINTEXT",
    "The protocol between brokers, when no listener is named for them.",
    check=one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    remedy="TLS and SASL are not built yet: leave it at PLAINTEXT",
)
AREA.optional_names(
    "early.start.listeners",
    "Listeners opened before a broker's metadata is ready.",
    check=members(),
    status=NO_EFFECT,
)
SOCKET_SEND_BUFFER_BYTES = AREA.integer(
    "socket.send.buffer.bytes",
    102400,
    "The send buffer of each client socket; -1 leaves it to the system.",
)
SOCKET_RECEIVE_BUFFER_BYTES = AREA.integer(
    "socket.receive.buffer.bytes",
    # Kafka has 100 KiB: a request of 1 MB then takes eight system calls and twice the CPU.
    1048576,
    "The receive buffer of each client socket; -1 leaves it to the system.",
)
SOCKET_REQUEST_MAX_BYTES = AREA.integer(
    "socket.request.max.bytes",
    104857600,
    "The largest request accepted; a longer one closes its connection.",
    low=1,
)
SOCKET_LISTEN_BACKLOG_SIZE = AREA.integer(
    "socket.listen.backlog.size", 50, "How many connections may wait to be accepted.", low=1
)
AREA.long(
    "socket.connection.setup.timeout.ms",
    10000,
    "How long connecting to another broker may take at first.",
    status=NO_EFFECT,
)
AREA.long(
    "socket.connection.setup.timeout.max.ms",
    30000,
    "How long connecting to another broker may take at most.",
    status=NO_EFFECT,
)
MAX_CONNECTIONS = AREA.integer(
    "max.connections",
    MAX_INT,
    "The most connections this broker holds.",
    low=0,
    dynamic=CLUSTER_WIDE,
)
MAX_CONNECTIONS_PER_IP = AREA.integer(
    "max.connections.per.ip",
    MAX_INT,
    "The most connections from one address.",
    low=0,
    dynamic=CLUSTER_WIDE,
)
MAX_CONNECTIONS_PER_IP_OVERRIDES = AREA.string(
    "max.connections.per.ip.overrides",
    "",
    "Other limits for named addresses, as `address:count`.",
    dynamic=CLUSTER_WIDE,
)
MAX_CONNECTION_CREATION_RATE = AREA.integer(
    "max.connection.creation.rate",
    MAX_INT,
    "The most connections accepted a second.",
    low=0,
    dynamic=CLUSTER_WIDE,
    remedy="limiting the rate of new connections is not built yet: remove this line",
)
CONNECTIONS_MAX_IDLE_MS = AREA.long(
    "connections.max.idle.ms", 600000, "A connection silent for this long is closed."
)
CONNECTION_FAILED_AUTHENTICATION_DELAY_MS = AREA.integer(
    "connection.failed.authentication.delay.ms",
    100,
    "How long the refusal of a failed login is held back.",
    low=0,
    status=KEPT,
)
AREA.integer(
    "queued.max.requests", 500, "How many requests may wait for a thread.", low=1, status=NO_EFFECT
)
QUEUED_MAX_REQUEST_BYTES = AREA.long(
    "queued.max.request.bytes",
    -1,
    "The most bytes requests in flight hold; -1 is twice `socket.request.max.bytes`.",
)
AREA.integer(
    "num.network.threads",
    3,
    "Threads that move bytes; one event loop does here.",
    low=1,
    dynamic=CLUSTER_WIDE,
    status=NO_EFFECT,
)
AREA.integer(
    "num.io.threads",
    8,
    "Threads that answer requests; one event loop does here.",
    low=1,
    dynamic=CLUSTER_WIDE,
    status=NO_EFFECT,
)
BACKGROUND_THREADS = AREA.integer(
    "background.threads",
    10,
    "Worker threads for syncing, recovering and deleting files.",
    low=1,
    dynamic=CLUSTER_WIDE,
)
REQUEST_TIMEOUT_MS = AREA.integer(
    "request.timeout.ms", 30000, "How long a request to another broker may take.", status=KEPT
)
FETCH_MAX_BYTES = AREA.integer(
    "fetch.max.bytes",
    57671680,
    "The most bytes one fetch returns, whatever the client asks.",
    low=1024,
)
MAX_INCREMENTAL_FETCH_SESSION_CACHE_SLOTS = AREA.integer(
    "max.incremental.fetch.session.cache.slots",
    1000,
    "How many incremental fetch sessions are remembered.",
    low=0,
)
MAX_REQUEST_PARTITION_SIZE_LIMIT = AREA.integer(
    "max.request.partition.size.limit",
    2000,
    "The most partitions one DescribeTopicPartitions answer holds.",
    low=1,
)
AREA.integer(
    "fetch.purgatory.purge.interval.requests",
    1000,
    "How many waiting fetches make Kafka sweep finished ones.",
    status=NO_EFFECT,
)
AREA.integer(
    "producer.purgatory.purge.interval.requests",
    1000,
    "How many waiting produces make Kafka sweep finished ones.",
    status=NO_EFFECT,
)
AREA.integer(
    "delete.records.purgatory.purge.interval.requests",
    1,
    "How many waiting record deletions make Kafka sweep finished ones.",
    status=NO_EFFECT,
)
AREA.integer(
    "share.fetch.purgatory.purge.interval.requests",
    1000,
    "How many waiting share fetches make Kafka sweep finished ones.",
    status=NO_EFFECT,
)
AREA.boolean(
    "unstable.api.versions.enable",
    False,
    "Serving unfinished versions of the protocol.",
    internal=True,
    remedy="this broker serves no unfinished versions: remove this line",
)
AREA.boolean(
    "unstable.feature.versions.enable",
    False,
    "Allowing unfinished feature levels.",
    internal=True,
    remedy="this broker has no unfinished features: remove this line",
)
