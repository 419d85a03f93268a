"""Every metric, declared once: name, kind, labels, help and the dialect it belongs to.

Dashboards made for Kafka read what jmx_exporter made of Kafka's MBeans, in two dialects: A turns
`…PerSec` into `…_total` (jmx_exporter's example file, Strimzi), B keeps `…persec` (Confluent,
Grafana Cloud). Gauges are the same in both. C is what kafka_exporter calls things. Our own are
under `tidelog_` and belong to no dialect. docs/metrics.md is rendered from here.
"""

from typing import Final, Literal, NamedTuple

Kind = Literal["gauge", "counter", "summary", "unknown"]
Dialect = Literal["a", "b", "c", ""]
"""Empty: always shown."""

QUANTILES: Final = (0.5, 0.75, 0.95, 0.98, 0.99, 0.999)
QUANTILE_LABELS: Final = ("0.50", "0.75", "0.95", "0.98", "0.99", "0.999")
"""As jmx_exporter writes them; dashboards compare the text."""


class Declared(NamedTuple):
    """One metric family; counters are named without the `_total` they appear with."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    help: str
    dialects: frozenset[str] = frozenset()

    @property
    def shown_name(self) -> str:
        """The name a query uses."""
        return f"{self.name}_total" if self.kind == "counter" else self.name


DECLARED: Final[dict[str, Declared]] = {}
_AB: Final = frozenset("ab")
_C: Final = frozenset("c")
_PARTITION: Final = ("topic", "partition")


def _declare(
    name: str, kind: Kind, help_: str, labels: tuple[str, ...] = (), dialects: frozenset[str] = _AB
) -> Declared:
    declared = DECLARED[name] = Declared(name, kind, labels, help_, dialects)
    return declared


def _gauge(
    name: str, help_: str, labels: tuple[str, ...] = (), dialects: frozenset[str] = _AB
) -> Declared:
    return _declare(name, "gauge", help_, labels, dialects)


class Pair(NamedTuple):
    """One count under its names in dialects A and B."""

    a: Declared
    b: Declared


def _counter(base: str, help_: str, labels: tuple[str, ...] = ()) -> Pair:
    return Pair(
        _declare(base, "counter", help_, labels, frozenset("a")),
        _declare(f"{base}persec", "unknown", help_, labels, frozenset("b")),
    )


# The broker as a whole.
BROKER_STATE = _gauge(
    "kafka_server_kafkaserver_brokerstate", "3: running, 2: recovering, 7: stopping."
)
PARTITION_COUNT = _gauge("kafka_server_replicamanager_partitioncount", "Partitions hosted here.")
LEADER_COUNT = _gauge("kafka_server_replicamanager_leadercount", "Partitions led by this broker.")
UNDER_REPLICATED = _gauge(
    "kafka_server_replicamanager_underreplicatedpartitions",
    "Led partitions with fewer in-sync replicas than replicas.",
)
UNDER_MIN_ISR = _gauge(
    "kafka_server_replicamanager_underminisrpartitioncount",
    "Led partitions with fewer in-sync replicas than min.insync.replicas.",
)
AT_MIN_ISR = _gauge(
    "kafka_server_replicamanager_atminisrpartitioncount",
    "Led partitions with exactly min.insync.replicas in-sync replicas.",
)
OFFLINE_REPLICAS = _gauge(
    "kafka_server_replicamanager_offlinereplicacount", "Replicas in log directories that failed."
)
ACTIVE_CONTROLLER = _gauge(
    "kafka_controller_kafkacontroller_activecontrollercount", "1 on the controller, 0 elsewhere."
)
OFFLINE_PARTITIONS = _gauge(
    "kafka_controller_kafkacontroller_offlinepartitionscount", "Partitions without a leader."
)
PREFERRED_IMBALANCE = _gauge(
    "kafka_controller_kafkacontroller_preferredreplicaimbalancecount",
    "Partitions not led by their first replica.",
)
GLOBAL_TOPICS = _gauge(
    "kafka_controller_kafkacontroller_globaltopiccount", "Topics of the cluster."
)
GLOBAL_PARTITIONS = _gauge(
    "kafka_controller_kafkacontroller_globalpartitioncount", "Partitions of the cluster."
)
ACTIVE_BROKERS = _gauge("kafka_controller_kafkacontroller_activebrokercount", "Brokers alive.")
FENCED_BROKERS = _gauge("kafka_controller_kafkacontroller_fencedbrokercount", "Brokers fenced.")
OFFLINE_DIRECTORIES = _gauge(
    "kafka_log_logmanager_offlinelogdirectorycount", "Log directories that failed."
)
REMAINING_LOGS = _gauge(
    "kafka_log_logmanager_remaininglogstorecover", "Logs that a start has to recover yet.", ("dir",)
)
REMAINING_SEGMENTS = _gauge(
    "kafka_log_logmanager_remainingsegmentstorecover",
    "Segments that a start has to recover yet.",
    ("dir",),
)
# The log cleaner.
CLEANER_DIRT = _gauge(
    "kafka_log_logcleanermanager_max_dirty_percent",
    "How much of the dirtiest compacted log is not compacted.",
)
CLEANER_LAST_RUN = _gauge(
    "kafka_log_logcleanermanager_time_since_last_run_ms",
    "How long ago the log cleaner last looked for work.",
)
CLEANER_UNCLEANABLE = _gauge(
    "kafka_log_logcleanermanager_uncleanable_partitions_count",
    "Partitions that are not compacted until restart, for something is wrong with them.",
    ("logDirectory",),
)
CLEANER_UNCLEANABLE_BYTES = _gauge(
    "kafka_log_logcleanermanager_uncleanable_bytes",
    "What could be compacted of these partitions.",
    ("logDirectory",),
)
CLEANER_RECOPY = _gauge(
    "kafka_log_logcleaner_cleaner_recopy_percent",
    "What part of the bytes read by the last cleanings was written again.",
)
CLEANER_TIME = _gauge(
    "kafka_log_logcleaner_max_clean_time_secs", "The longest of the last cleanings."
)
CLEANER_DELAY = _gauge(
    "kafka_log_logcleaner_max_compaction_delay_secs",
    "How long after max.compaction.lag.ms the most overdue log waits to be compacted.",
)
CLEANER_BUFFER = _gauge(
    "kafka_log_logcleaner_max_buffer_utilization_percent",
    "How full the fullest map of keys of the last cleanings was.",
)
CLEANER_DEAD = _gauge(
    "kafka_log_logcleaner_deadthreadcount", "Cleaner processes that died and were not replaced yet."
)
FETCH_SESSIONS = _gauge(
    "kafka_server_fetchsessioncache_numincrementalfetchsessions", "Incremental fetch sessions kept."
)
FETCH_SESSION_PARTITIONS = _gauge(
    "kafka_server_fetchsessioncache_numincrementalfetchpartitionscached",
    "Partitions in these sessions.",
)
PURGATORY_SIZE = _gauge(
    "kafka_server_delayedoperationpurgatory_purgatorysize",
    "Requests that wait for something.",
    ("delayedOperation",),
)
NETWORK_IDLE = (
    _gauge(
        "kafka_network_socketserver_networkprocessoravgidle_percent",
        "Share of time the event loop's thread was idle, 0 to 1.",
        dialects=frozenset("a"),
    ),
    _gauge(
        "kafka_network_socketserver_networkprocessoravgidlepercent",
        "Share of time the event loop's thread was idle, 0 to 1.",
        dialects=frozenset("b"),
    ),
    _gauge(
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
        "The same thread handles requests: the same share.",
        dialects=frozenset("a"),
    ),
    _gauge(
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent",
        "The same thread handles requests: the same share.",
        dialects=frozenset("b"),
    ),
)
CONNECTION_COUNT = (
    _gauge(
        "kafka_server_socket_server_metrics_connection_count",
        "Open connections.",
        ("listener", "networkProcessor"),
        frozenset("a"),
    ),
    _gauge(
        "kafka_server_socketservermetrics_connection_count",
        "Open connections.",
        ("listener", "networkprocessor"),
        frozenset("b"),
    ),
)

# Traffic: one series a topic and one without the label, as Kafka has it.
TOPIC_COUNTERS: Final[dict[str, Pair]] = {
    "messages_in": _counter(
        "kafka_server_brokertopicmetrics_messagesin", "Records appended.", ("topic",)
    ),
    "bytes_in": _counter(
        "kafka_server_brokertopicmetrics_bytesin", "Bytes of batches appended.", ("topic",)
    ),
    "bytes_out": _counter(
        "kafka_server_brokertopicmetrics_bytesout", "Bytes of batches sent to readers.", ("topic",)
    ),
    "bytes_rejected": _counter(
        "kafka_server_brokertopicmetrics_bytesrejected", "Bytes of batches too large.", ("topic",)
    ),
    "total_produce_requests": _counter(
        "kafka_server_brokertopicmetrics_totalproducerequests",
        "Appends asked for, one a partition.",
        ("topic",),
    ),
    "failed_produce_requests": _counter(
        "kafka_server_brokertopicmetrics_failedproducerequests",
        "Appends that failed through no fault the protocol expects.",
        ("topic",),
    ),
    "total_fetch_requests": _counter(
        "kafka_server_brokertopicmetrics_totalfetchrequests",
        "Reads asked for, one a partition.",
        ("topic",),
    ),
    "failed_fetch_requests": _counter(
        "kafka_server_brokertopicmetrics_failedfetchrequests",
        "Reads that failed through no fault the protocol expects.",
        ("topic",),
    ),
    "produce_message_conversions": _counter(
        "kafka_server_brokertopicmetrics_producemessageconversions",
        "Records written otherwise than they came, for compression.type.",
        ("topic",),
    ),
}

# Requests by API.
REQUESTS = _counter(
    "kafka_network_requestmetrics_requests", "Requests answered.", ("request", "version")
)
REQUEST_ERRORS = _counter(
    "kafka_network_requestmetrics_errors", "Answers by error, NONE included.", ("request", "error")
)
REQUEST_PHASES: Final[dict[str, Declared]] = {
    phase: _declare(
        f"kafka_network_requestmetrics_{name}", "summary", help_, ("request", "quantile")
    )
    for phase, name, help_ in (
        ("total", "totaltimems", "Milliseconds from arrival to the last byte sent."),
        ("queue", "requestqueuetimems", "Milliseconds behind frames that arrived together."),
        ("local", "localtimems", "Milliseconds in the handler."),
        ("remote", "remotetimems", "Milliseconds parked: long polls, acks=all, workers."),
        ("send", "responsesendtimems", "Milliseconds until the socket took the answer."),
    )
}

# Partitions.
LOG_SIZE = _gauge("kafka_log_log_size", "Bytes of the log's segments.", _PARTITION)
LOG_START = _gauge("kafka_log_log_logstartoffset", "First offset readable.", _PARTITION)
LOG_END = _gauge("kafka_log_log_logendoffset", "Offset the next record gets.", _PARTITION)
LOG_SEGMENTS = _gauge("kafka_log_log_numlogsegments", "Segments of the log.", _PARTITION)
PARTITION_UNDER_MIN_ISR = _gauge(
    "kafka_cluster_partition_underminisr", "1 with too few in-sync replicas.", _PARTITION
)
PARTITION_AT_MIN_ISR = _gauge(
    "kafka_cluster_partition_atminisr", "1 with just enough in-sync replicas.", _PARTITION
)
PARTITION_UNDER_REPLICATED = _gauge(
    "kafka_cluster_partition_underreplicated", "1 when a replica is not in sync.", _PARTITION
)
PARTITION_REPLICAS = _gauge(
    "kafka_cluster_partition_replicascount", "Replicas assigned.", _PARTITION
)

# Dialect C.
C_BROKERS = _gauge("kafka_brokers", "Brokers of the cluster.", dialects=_C)
C_BROKER_INFO = _gauge("kafka_broker_info", "1 for each broker.", ("id", "address"), _C)
C_TOPIC_PARTITIONS = _gauge("kafka_topic_partitions", "Partitions of a topic.", ("topic",), _C)
C_CURRENT = _gauge("kafka_topic_partition_current_offset", "High watermark.", _PARTITION, _C)
C_OLDEST = _gauge("kafka_topic_partition_oldest_offset", "Log start offset.", _PARTITION, _C)
C_LEADER = _gauge("kafka_topic_partition_leader", "Id of the leader.", _PARTITION, _C)
C_PREFERRED = _gauge(
    "kafka_topic_partition_leader_is_preferred", "1 when the first replica leads.", _PARTITION, _C
)
C_REPLICAS = _gauge("kafka_topic_partition_replicas", "Replicas assigned.", _PARTITION, _C)
C_IN_SYNC = _gauge("kafka_topic_partition_in_sync_replica", "Replicas in sync.", _PARTITION, _C)
C_UNDER_REPLICATED = _gauge(
    "kafka_topic_partition_under_replicated_partition",
    "1 when a replica is not in sync.",
    _PARTITION,
    _C,
)

# Our own.
_OWN: Final[frozenset[str]] = frozenset()
LOOP_LAG = _declare(
    "tidelog_loop_lag_seconds", "summary", "How late the event loop wakes.", ("quantile",), _OWN
)
FSYNC = _declare(
    "tidelog_fsync_seconds", "summary", "Time of an fsync of a log.", ("quantile",), _OWN
)
CONNECTIONS = _gauge("tidelog_connections", "Open connections.", ("listener",), _OWN)
CONNECTIONS_REFUSED = _declare(
    "tidelog_connections_refused", "counter", "Connections closed for a limit.", (), _OWN
)
BYTES_HELD = _gauge(
    "tidelog_request_bytes_held", "Bytes of requests being received or handled.", (), _OWN
)
BAD_FRAMES = _declare(
    "tidelog_bad_frames", "counter", "Frames that were not Kafka's, or not served.", (), _OWN
)
HANDLER_FAILURES = _declare(
    "tidelog_handler_failures", "counter", "Requests that met a bug.", (), _OWN
)
JOB_FAILURES = _declare(
    "tidelog_job_failures", "counter", "Scheduled jobs and tasks that failed.", (), _OWN
)
RECOVERY_LOGS = _gauge("tidelog_recovery_logs", "Logs there were to load at start.", (), _OWN)
RECOVERED_LOGS = _gauge("tidelog_recovery_logs_loaded", "Logs loaded so far.", (), _OWN)
DAMAGED_LOGS = _gauge(
    "tidelog_damaged_logs",
    "Logs not served, because records that were durable are not what they were.",
    (),
    _OWN,
)
# Metrics that clients push (KIP-714), and the books of that under the names Kafka's would have.
CLIENT_INSTANCES = _gauge(
    "kafka_server_client_metrics_instance_count", "Clients that push metrics, or were asked to."
)
CLIENT_UNKNOWN_SUBSCRIPTIONS = _gauge(
    "kafka_server_client_metrics_unknown_subscription_request_count",
    "Pushes refused because subscriptions had changed.",
)
CLIENT_THROTTLED = _gauge(
    "kafka_server_client_metrics_throttle_count", "Requests refused for coming before their time."
)
CLIENT_EXPORTED = _gauge(
    "kafka_server_client_metrics_plugin_export_count", "Pushes that are shown."
)
CLIENT_FAILED = _gauge(
    "kafka_server_client_metrics_plugin_error_count", "Pushes that could not be read."
)
CLIENT_INFO = _gauge(
    "tidelog_client_info",
    "1 for each client that pushes metrics; its labels are what it says of itself.",
    ("client_instance_id", "client_id", "client_software_name", "…"),
    _OWN,
)
CLIENT_GAUGE = _gauge(
    "tidelog_client_gauge",
    "What a client measured last, under the name it has for the metric.",
    ("metric", "client_id", "client_instance_id", "…"),
    _OWN,
)
CLIENT_COUNTER = _declare(
    "tidelog_client_counter",
    "counter",
    "What a client counted while it was heard of, under the name it has for the metric.",
    ("metric", "client_id", "client_instance_id", "…"),
    _OWN,
)
CLIENT_DROPPED = _declare(
    "tidelog_client_points_dropped",
    "counter",
    "Points of clients' metrics that are not shown: too many, too long, or too much at a time.",
    (),
    _OWN,
)
PARTITIONS_HIDDEN = _gauge(
    "tidelog_metrics_partitions_hidden",
    "Partitions not shown one by one, for metrics.partition.limit.",
    (),
    _OWN,
)

# Groups.
_GROUPS: Final = "kafka_coordinator_group_groupmetadatamanager_numgroups"
GROUPS = _gauge(_GROUPS, "Classic groups coordinated here.")
GROUPS_STABLE = _gauge(f"{_GROUPS}stable", "Classic groups with their assignment.")
GROUPS_PREPARING = _gauge(f"{_GROUPS}preparingrebalance", "Classic groups that gather members.")
GROUPS_COMPLETING = _gauge(
    f"{_GROUPS}completingrebalance", "Classic groups that wait for their leader to assign."
)
GROUPS_EMPTY = _gauge(f"{_GROUPS}empty", "Classic groups without members.")
GROUPS_DEAD = _gauge(f"{_GROUPS}dead", "None: a group that is gone is not kept.")
_OF_GROUP: Final = ("consumergroup", "topic")
C_GROUP_OFFSET = _gauge(
    "kafka_consumergroup_current_offset", "Committed offset.", (*_OF_GROUP, "partition"), _C
)
C_GROUP_OFFSET_SUM = _gauge(
    "kafka_consumergroup_current_offset_sum", "Committed offsets of a topic.", _OF_GROUP, _C
)
C_GROUP_LAG = _gauge(
    "kafka_consumergroup_lag",
    "Records between the committed offset and the high watermark.",
    (*_OF_GROUP, "partition"),
    _C,
)
C_GROUP_LAG_SUM = _gauge("kafka_consumergroup_lag_sum", "Lag of a topic.", _OF_GROUP, _C)
C_GROUP_MEMBERS = _gauge(
    "kafka_consumergroup_members", "Members of a classic group.", ("consumergroup",), _C
)
REBALANCES = _declare(
    "tidelog_group_rebalances",
    "counter",
    "Rebalances of classic groups, by what they were for.",
    ("reason",),
    _OWN,
)
