"""What each part of a broker is made of: parts are handed to one another here, nowhere else.

    Base        what everybody stands on: settings, clock, loop, threads, chance
    logs        LogManager ← directories          jobs      JobRunner ← scheduler, workers
    replicas    ReplicaManager ← logs, jobs       services  what the handlers may touch
    sockets     SocketServer ← dispatcher ← handlers ← services

Every function makes one part from parts made before; what must be told the other way is a function
that `broker.server` gives. No part looks for another.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from broker.coordinator.group.consumer import ConsumerGroups
from broker.coordinator.group.consumer_settings import consumer_settings
from broker.coordinator.group.consumer_topics import GroupTopics
from broker.coordinator.group.coordinator import GroupCoordinator
from broker.coordinator.group.settings import GroupMeters, group_settings
from broker.coordinator.group.shard import GroupShard
from broker.coordinator.runtime import CoordinatorRuntime, RuntimeEnvironment
from broker.coordinator.shard import Waiter
from broker.coordinator.transaction.asking import AskingSettings, TransactionQuestions
from broker.coordinator.transaction.coordinator import TransactionCoordinator
from broker.coordinator.transaction.marker_writing import MarkerWriter
from broker.coordinator.transaction.markers import Command as TransactionCommand
from broker.coordinator.transaction.markers import MarkerSender
from broker.coordinator.transaction.shard import ShardSettings, TransactionShard
from broker.dispatch import Dispatcher
from broker.entropy import SystemEntropy
from broker.handler_table import Services, Transactions, make_handlers
from broker.jobs import JobRunner
from broker.live_settings import LiveSettings
from broker.log_cleaning import LogCleaning
from broker.log_dir_moves import LogDirMoves
from broker.network.connection_limits import ConnectionLimits
from broker.network.socket_server import ServerLimits, SocketServer
from broker.replication.fetch_session_cache import FetchSessionCache
from broker.replication.meters import BrokerTopicMeters
from broker.replication.replica_manager import ReplicaEnvironment, ReplicaManager
from broker.request_metrics import RequestMetricsRegistry
from broker.telemetry.clients import ClientTelemetry
from broker.telemetry.series import ClientSeries
from cluster.controller.auto_creation import AutoCreation, consumer_offsets, transaction_state
from cluster.controller.controller import Controller
from cluster.controller.topics import NewTopic, TopicPolicy
from cluster.features import TRANSACTION_VERSION
from cluster.metadata_cache import MetadataCache
from cluster.producer_ids import ProducerIdBlocks
from cluster.store.embedded import EmbeddedStore
from config.broker_config import BrokerConfig
from config.keys import groups, log, network, observability, replication, transactions
from config.topic_config import validate_topic_overrides
from protocol.model import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, TopicPartition
from runtime.blocking import Workers
from runtime.clock import Clock
from runtime.disk import Disk
from runtime.metrics import Summary
from runtime.scheduler import Scheduler
from runtime.supervisor import Supervisor
from storage.errors import StorageError
from storage.log.environment import LogEnvironment
from storage.log.partition_log import PartitionLog
from storage.log_directory import LogDirectory
from storage.log_jobs import JobIntervals
from storage.log_manager import LogManager
from storage.segment.file_records import FilePool

if TYPE_CHECKING:
    from broker.replication.alter_log_dirs import ReplicaAlterLogDirsManager

MOST_OPEN_FILES: Final = 20_000
"""Segments kept open, if half the process's descriptors allow it; the rest is for connections."""


class Platform(NamedTuple):
    """What the broker runs on: clock, disk, and the times of the disk's fsyncs."""

    clock: Clock
    disk: Disk
    fsync_s: Summary


class Base(NamedTuple):
    """What every part may stand on."""

    config: BrokerConfig
    platform: Platform
    loop: asyncio.AbstractEventLoop
    entropy: SystemEntropy
    scheduler: Scheduler
    supervisor: Supervisor
    workers: Workers


def make_base(config: BrokerConfig, platform: Platform, loop: asyncio.AbstractEventLoop) -> Base:
    """Nothing runs yet but the threads' pool."""
    return Base(
        config,
        platform,
        loop,
        SystemEntropy(),
        Scheduler(loop, platform.clock),
        Supervisor(loop),
        Workers(loop, config[network.BACKGROUND_THREADS]),
    )


def make_logs(base: Base, directories: Sequence[LogDirectory], file_limit: int) -> LogManager:
    """The logs over directories that are open; nothing is loaded."""
    return LogManager(
        directories,
        LogEnvironment(
            FilePool(min(file_limit // 2, MOST_OPEN_FILES)),
            base.entropy.randrange,
            base.entropy.unique,
            base.config.live(transactions.PRODUCER_ID_EXPIRATION_MS),
            base.config.live(transactions.TRANSACTION_PARTITION_VERIFICATION_ENABLE),
        ),
    )


def make_jobs(
    base: Base,
    on_storage_error: Callable[[str, StorageError], None],
    on_changed: Callable[[Sequence[PartitionLog]], None],
) -> JobRunner:
    """The runner of the logs' background work."""
    return JobRunner(
        base.scheduler, base.workers, base.platform.clock, on_storage_error, on_changed
    )


def job_intervals(config: BrokerConfig) -> JobIntervals:
    """How often the logs' periodic jobs run."""
    live = config.live
    return JobIntervals(
        live(log.LOG_RETENTION_CHECK_INTERVAL_MS),
        live(log.LOG_FLUSH_SCHEDULER_INTERVAL_MS),
        live(log.LOG_FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS),
        live(log.LOG_FLUSH_START_OFFSET_CHECKPOINT_INTERVAL_MS),
        live(replication.REPLICA_HIGH_WATERMARK_CHECKPOINT_INTERVAL_MS),
        live(log.LOG_SEGMENT_DELETE_DELAY_MS),
        live(transactions.PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS),
        config[log.LOG_INITIAL_TASK_DELAY_MS],
    )


def make_replicas(
    base: Base,
    logs: LogManager,
    metadata: MetadataCache,
    jobs: JobRunner,
    settings: LiveSettings,
    on_directory_failed: Callable[[str, Sequence[TopicPartition]], None],
) -> ReplicaManager:
    """The facade that requests go through; it leads nothing yet."""
    return ReplicaManager(
        settings.node_id,
        logs,
        metadata,
        BrokerTopicMeters(),
        ReplicaEnvironment(
            base.platform.clock,
            base.loop.call_soon,
            base.scheduler.after,
            jobs.run,
            settings.of_topic,
            on_directory_failed,
        ),
    )


def make_services(
    base: Base,
    logs: LogManager,
    replicas: ReplicaManager,
    settings: LiveSettings,
    store: EmbeddedStore,
) -> Services:
    """All that handlers may be given, the controller included."""
    config, entropy = base.config, base.entropy
    spawn = base.supervisor.spawn
    services = Services(config, base.platform.clock, base.workers, logs, replicas)
    policy = TopicPolicy(
        config.live(log.NUM_PARTITIONS),
        config.live(log.DEFAULT_REPLICATION_FACTOR),
        lambda overrides: validate_topic_overrides(overrides, config),
        entropy.topic_id,
        entropy,
    )
    services.controller = Controller(store, replicas, replicas.metadata, policy, settings.changed)
    services.sessions = FetchSessionCache(
        config[network.MAX_INCREMENTAL_FETCH_SESSION_CACHE_SLOTS], entropy.randrange
    )
    services.auto_creation = AutoCreation(
        services.controller.create_topics,
        spawn,
        config.live(log.AUTO_CREATE_TOPICS_ENABLE),
        {
            CONSUMER_OFFSETS_TOPIC: partial(_offsets_topic, config),
            TRANSACTION_STATE_TOPIC: partial(_transactions_topic, config),
        },
    )
    services.client_telemetry = make_client_telemetry(base, replicas.metadata)
    services.producer_ids = ProducerIdBlocks(store, settings.node_id, spawn)
    services.groups = make_groups(base, replicas)
    services.transactions = make_transactions(base, replicas, services)
    return services


def _offsets_topic(config: BrokerConfig) -> NewTopic:
    """The topic of groups as it is made; one broker has one replica of it, whatever is set.

    Its fifty logs take 25 ms to make, and clients ask again after 100: they are made at once.
    """
    return consumer_offsets(
        config[groups.OFFSETS_TOPIC_NUM_PARTITIONS],
        1,
        config[groups.OFFSETS_TOPIC_SEGMENT_BYTES],
    )


def _transactions_topic(config: BrokerConfig) -> NewTopic:
    """The topic of transactions, likewise."""
    return transaction_state(
        config[transactions.TRANSACTION_STATE_LOG_NUM_PARTITIONS],
        1,
        config[transactions.TRANSACTION_STATE_LOG_SEGMENT_BYTES],
        1,
    )


def make_groups(base: Base, replicas: ReplicaManager) -> GroupCoordinator:
    """The coordinator of the groups whose partitions are led here."""
    config, workers = base.config, base.workers
    settings = group_settings(config, base.entropy.unique)
    of_consumers = consumer_settings(
        config, replicas.metadata.group_configs.of, base.entropy.unique
    )
    topics = GroupTopics(replicas.metadata)
    meters = GroupMeters()
    runtime = CoordinatorRuntime(
        CONSUMER_OFFSETS_TOPIC,
        replicas,
        lambda index, _: GroupShard(index, settings, meters, ConsumerGroups(of_consumers, topics)),
        RuntimeEnvironment(
            base.platform.clock,
            lambda read, done: workers.submit(read, done=done),
            base.loop.call_soon,
            base.scheduler.after,
            config.live(groups.OFFSETS_COMMIT_TIMEOUT_MS),
        ),
    )
    replicas.leadership_watchers.append(runtime.leadership_changed)
    coordinator = GroupCoordinator(runtime, replicas.metadata, settings, meters, of_consumers)
    replicas.deletion_watchers.append(coordinator.topic_deleted)
    return coordinator


def make_transactions(base: Base, replicas: ReplicaManager, services: Services) -> Transactions:
    """What coordinates transactions; nothing is sent before `Transactions.sender` is opened."""
    config, workers, clock = base.config, base.workers, base.platform.clock
    after = base.scheduler.after
    writer = MarkerWriter(
        replicas,
        {CONSUMER_OFFSETS_TOPIC: services.groups.runtime},
        clock.now_ms,
        config.live(network.REQUEST_TIMEOUT_MS),
    )

    def submit(index: int, command: TransactionCommand, waiter: Waiter) -> None:
        runtime.submit(index, command, waiter)

    sender = MarkerSender(writer, submit, base.loop.call_soon, after)
    settings = ShardSettings(
        services.producer_ids.next_id,
        config.live(transactions.TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS),
        config.live(transactions.TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS),
        config.live(transactions.TRANSACTIONAL_ID_EXPIRATION_MS),
        lambda: replicas.metadata.features.level(TRANSACTION_VERSION),
    )
    runtime = CoordinatorRuntime(
        TRANSACTION_STATE_TOPIC,
        replicas,
        lambda index, leader_epoch: TransactionShard(index, leader_epoch, settings, sender),
        RuntimeEnvironment(
            clock,
            lambda read, done: workers.submit(read, done=done),
            base.loop.call_soon,
            after,
            config.live(network.REQUEST_TIMEOUT_MS),
        ),
    )
    replicas.leadership_watchers.append(runtime.leadership_changed)
    coordinator = TransactionCoordinator(
        runtime, replicas.metadata, config.live(transactions.TRANSACTION_MAX_TIMEOUT_MS)
    )
    asking = AskingSettings(
        config.live(transactions.TRANSACTION_PARTITION_VERIFICATION_ENABLE),
        config.live(transactions.ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MS),
        config.live(transactions.ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MAX_MS),
    )
    questions = TransactionQuestions(coordinator, asking, clock, after)
    return Transactions(coordinator, sender, writer, questions)


def make_client_telemetry(base: Base, metadata: MetadataCache) -> ClientTelemetry | None:
    """The clients whose metrics are shown; none where nothing is shown."""
    config = base.config
    if config.metrics_address is None:
        return None
    series = ClientSeries(
        config.live(observability.CLIENT_METRICS_SERIES_PER_CLIENT),
        config.live(observability.CLIENT_METRICS_SERIES),
    )
    return ClientTelemetry(
        metadata.client_metrics,
        series,
        config.live(observability.TELEMETRY_MAX_BYTES),
        base.entropy.topic_id,
    )


def make_moves(
    base: Base,
    logs: LogManager,
    replicas: ReplicaManager,
    jobs: JobRunner,
    cleaning: LogCleaning,
) -> LogDirMoves:
    """What moves logs between the log directories; nothing of it is imported before a move."""
    config = base.config
    logs.placement.cordoned = config.live(log.CORDONED_LOG_DIRS)
    threads = config.live(replication.NUM_REPLICA_ALTER_LOG_DIRS_THREADS)

    def make() -> "ReplicaAlterLogDirsManager":
        from broker.replication.alter_log_dirs import (
            CleanerDoor,
            MoveLimits,
            MoverEnvironment,
            ReplicaAlterLogDirsManager,
        )

        return ReplicaAlterLogDirsManager(
            replicas,
            logs,
            MoverEnvironment(base.platform.clock, base.scheduler.after, jobs.run),
            MoveLimits(
                config.live(replication.REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND),
                lambda: threads() or len(logs.directories),
            ),
            CleanerDoor(cleaning.pause, cleaning.resume),
        )

    return LogDirMoves(logs, make)


def make_socket_server(
    base: Base,
    services: Services,
    requests: RequestMetricsRegistry,
    connection_limits: ConnectionLimits,
) -> SocketServer:
    """What accepts connections, without listeners yet."""
    config = base.config
    monotonic = base.platform.clock.monotonic
    dispatcher = Dispatcher(make_handlers(services), base.supervisor, monotonic, requests)
    return SocketServer(
        base.loop,
        dispatcher,
        monotonic,
        base.scheduler,
        base.workers,
        ServerLimits(
            config[network.SOCKET_REQUEST_MAX_BYTES],
            config.request_memory_bytes,
            connection_limits,
            config.live(network.CONNECTIONS_MAX_IDLE_MS),
        ),
    )
