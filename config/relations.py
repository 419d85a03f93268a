"""Rules that tie settings to each other, checked on the merged values.

Source: `KafkaConfig.validateValues`, `GroupCoordinatorConfig`, `CleanerConfig` of Kafka 4.3.
"""

from collections.abc import Iterator

from config.broker_config import BrokerConfig
from config.catalogue import KEYS
from config.definition import ConfigError
from config.keys import log, network
from config.listeners import check_advertised, check_listeners

MIB = 1048576


def _group_pairs() -> Iterator[tuple[str, str]]:
    for kind in ("consumer", "streams", "share"):
        for subject in ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms"):
            yield f"group.{kind}.min.{subject}", f"group.{kind}.{subject}"
            yield f"group.{kind}.{subject}", f"group.{kind}.max.{subject}"
        yield f"group.{kind}.heartbeat.interval.ms", f"group.{kind}.session.timeout.ms"
    for subject in (
        "delivery.count.limit",
        "record.lock.duration.ms",
        "partition.max.record.locks",
    ):
        yield f"group.share.min.{subject}", f"group.share.{subject}"
        yield f"group.share.{subject}", f"group.share.max.{subject}"


# The first of each pair must not exceed the second.
ORDERED: tuple[tuple[str, str], ...] = (
    ("log.cleaner.min.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms"),
    ("replica.fetch.wait.max.ms", "replica.socket.timeout.ms"),
    ("replica.fetch.wait.max.ms", "replica.lag.time.max.ms"),
    ("group.streams.num.standby.replicas", "group.streams.max.standby.replicas"),
    *_group_pairs(),
)


def check_relations(config: BrokerConfig) -> None:
    """Raise ConfigError for the first pair or group of settings that cannot hold together."""
    for low, high in ORDERED:
        if config.value(low) > config.value(high):
            raise ConfigError(
                low,
                str(config.value(low)),
                f"must not be greater than {high}, which is {config.value(high)}",
            )
    _check_times(config)
    _check_sizes(config)
    _check_connections(config)
    _check_endpoints(config)


def _fail(name: str, config: BrokerConfig, rule: str) -> None:
    text = KEYS[name].text(config.value(name))
    raise ConfigError(name, text, rule, message=f"{name}={text}: {rule}")


def _check_times(config: BrokerConfig) -> None:
    for name in ("log.retention.ms", "log.retention.minutes", "log.retention.hours"):
        if config.value(name) == 0 or (config.value(name) or 1) < -1:
            _fail(name, config, "must be unlimited (-1) or, greater than or equal to 1")
    for name, least in (("log.roll.ms", 1), ("log.roll.jitter.ms", 0)):
        value = config.value(name)
        if value is not None and value < least:
            _fail(name, config, f"must be greater than or equal to {least}")
    idle = config[network.CONNECTIONS_MAX_IDLE_MS]
    if 0 < idle <= config[network.CONNECTION_FAILED_AUTHENTICATION_DELAY_MS]:
        _fail(
            network.CONNECTION_FAILED_AUTHENTICATION_DELAY_MS.name,
            config,
            f"should always be less than connections.max.idle.ms={idle}",
        )


def _check_sizes(config: BrokerConfig) -> None:
    if not config.log_dirs:
        _fail(
            log.LOG_DIRS.name,
            config,
            "At least one log directory must be defined via log.dirs or log.dir.",
        )
    threads = config[log.LOG_CLEANER_THREADS]
    if threads and config[log.LOG_CLEANER_DEDUPE_BUFFER_SIZE] // threads <= MIB:
        _fail(
            log.LOG_CLEANER_DEDUPE_BUFFER_SIZE.name,
            config,
            "must be at least 1MB per cleaner thread.",
        )
    queued = config[network.QUEUED_MAX_REQUEST_BYTES]
    if 0 < queued < config[network.SOCKET_REQUEST_MAX_BYTES]:
        _fail(
            network.QUEUED_MAX_REQUEST_BYTES.name,
            config,
            "must be larger or equal to socket.request.max.bytes",
        )


def _check_connections(config: BrokerConfig) -> None:
    overrides = config.connections_by_address
    if config[network.MAX_CONNECTIONS_PER_IP] == 0 and not overrides:
        _fail(
            network.MAX_CONNECTIONS_PER_IP.name,
            config,
            "can be set to zero only if max.connections.per.ip.overrides property is set.",
        )
    _ = config.metrics_address  # Parses, or raises.


def _check_endpoints(config: BrokerConfig) -> None:
    listeners = config.listeners
    check_listeners(network.LISTENERS.name, listeners, config.protocols)
    advertised = config.advertised_listeners
    written = network.ADVERTISED_LISTENERS if config[network.ADVERTISED_LISTENERS] else None
    check_advertised((written or network.LISTENERS).name, advertised, listeners)
    name = config[network.INTER_BROKER_LISTENER_NAME]
    if name and name.upper() not in {endpoint.name for endpoint in advertised}:
        valid = ",".join(sorted(endpoint.name for endpoint in advertised))
        _fail(
            network.INTER_BROKER_LISTENER_NAME.name,
            config,
            f"must be a listener name defined in advertised.listeners: {valid}",
        )
