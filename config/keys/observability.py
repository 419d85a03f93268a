"""What the broker tells of itself: metrics and log lines."""

from config.checks import members, one_of
from config.definition import CLUSTER_WIDE, NO_EFFECT, Area

AREA = Area("Metrics and logs")

METRICS_LISTENER = AREA.string(
    "tidelog.metrics.listener",
    "127.0.0.1:9404",
    "Where `/metrics`, `/healthz` and `/readyz` are served, as `host:port`; `off` for nowhere.",
)
METRICS_DIALECTS = AREA.names(
    "metrics.dialects",
    ("a", "b", "c"),
    "Metric names shown: `a` jmx_exporter, Strimzi; `b` Confluent, Grafana; `c` kafka_exporter.",
    check=members("a", "b", "c"),
)
METRICS_PARTITION_LIMIT = AREA.integer(
    "metrics.partition.limit",
    10000,
    "How many partitions are shown one by one, the busiest first.",
    low=0,
)
LOG_FORMAT = AREA.string(
    "tidelog.log.format",
    "text",
    "How log lines on stderr look: `text` for people, `json` for collectors.",
    check=one_of("text", "json"),
)
LOG_LEVEL = AREA.string(
    "tidelog.log.level",
    "INFO",
    "The least important lines that are logged.",
    check=one_of("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"),
)
AREA.integer(
    "metrics.num.samples",
    2,
    "How many samples Kafka's rates are computed over.",
    low=1,
    status=NO_EFFECT,
)
AREA.long("metrics.sample.window.ms", 30000, "The length of each.", low=1, status=NO_EFFECT)
AREA.string(
    "metrics.recording.level", "INFO", "How fine Kafka's internal metrics are.", status=NO_EFFECT
)
AREA.names(
    "metric.reporters",
    ("org.apache.kafka.common.metrics.JmxReporter",),
    "Classes that export metrics.",
    check=members(),
    dynamic=CLUSTER_WIDE,
    remedy="metrics are served to Prometheus at tidelog.metrics.listener: remove this line",
    tolerated=("",),
)
AREA.names(
    "kafka.metrics.reporters",
    (),
    "Classes that export older metrics.",
    check=members(),
    remedy="metrics are served to Prometheus at tidelog.metrics.listener: remove this line",
)
AREA.integer(
    "kafka.metrics.polling.interval.secs",
    10,
    "How often those classes run.",
    low=1,
    status=NO_EFFECT,
)
TELEMETRY_MAX_BYTES = AREA.integer(
    "telemetry.max.bytes",
    1048576,
    "The largest push of a client's own metrics, unfolded or not.",
    low=1,
)
CLIENT_METRICS_SERIES = AREA.integer(
    "tidelog.client.metrics.series",
    10000,
    "How many series of all clients' own metrics are shown.",
    low=0,
)
CLIENT_METRICS_SERIES_PER_CLIENT = AREA.integer(
    "tidelog.client.metrics.series.per.client",
    500,
    "How many of one client's are.",
    low=0,
)
