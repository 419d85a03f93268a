"""Which function answers which API: the one place where handlers meet what they need."""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from broker.coordinator.group.coordinator import GroupCoordinator
from broker.coordinator.transaction.asking import TransactionQuestions
from broker.coordinator.transaction.coordinator import TransactionCoordinator
from broker.coordinator.transaction.marker_writing import MarkerWriter
from broker.coordinator.transaction.markers import MarkerSender
from broker.dispatch import Handler
from broker.handlers.add_offsets_to_txn import handle_add_offsets_to_txn
from broker.handlers.add_partitions_to_txn import handle_add_partitions_to_txn
from broker.handlers.alter_configs import handle_alter_configs
from broker.handlers.alter_partition_reassignments import (
    handle_alter_partition_reassignments,
)
from broker.handlers.alter_replica_log_dirs import handle_alter_replica_log_dirs
from broker.handlers.api_versions import advertised, handle_api_versions
from broker.handlers.consumer_group_describe import handle_consumer_group_describe
from broker.handlers.consumer_group_heartbeat import handle_consumer_group_heartbeat
from broker.handlers.create_partitions import handle_create_partitions
from broker.handlers.create_topics import handle_create_topics
from broker.handlers.delete_groups import handle_delete_groups
from broker.handlers.delete_records import handle_delete_records
from broker.handlers.delete_topics import handle_delete_topics
from broker.handlers.describe_cluster import handle_describe_cluster
from broker.handlers.describe_configs import handle_describe_configs
from broker.handlers.describe_groups import handle_describe_groups
from broker.handlers.describe_log_dirs import handle_describe_log_dirs
from broker.handlers.describe_producers import handle_describe_producers
from broker.handlers.describe_topic_partitions import handle_describe_topic_partitions
from broker.handlers.describe_transactions import handle_describe_transactions
from broker.handlers.elect_leaders import handle_elect_leaders
from broker.handlers.end_txn import handle_end_txn
from broker.handlers.fetch import handle_fetch
from broker.handlers.find_coordinator import handle_find_coordinator
from broker.handlers.get_telemetry_subscriptions import handle_get_telemetry_subscriptions
from broker.handlers.heartbeat import handle_heartbeat
from broker.handlers.incremental_alter_configs import handle_incremental_alter_configs
from broker.handlers.init_producer_id import handle_init_producer_id
from broker.handlers.join_group import handle_join_group
from broker.handlers.leave_group import handle_leave_group
from broker.handlers.list_config_resources import handle_list_config_resources
from broker.handlers.list_groups import handle_list_groups
from broker.handlers.list_offsets import handle_list_offsets
from broker.handlers.list_partition_reassignments import (
    handle_list_partition_reassignments,
)
from broker.handlers.list_transactions import handle_list_transactions
from broker.handlers.metadata import handle_metadata
from broker.handlers.offset_commit import handle_offset_commit
from broker.handlers.offset_delete import handle_offset_delete
from broker.handlers.offset_fetch import handle_offset_fetch
from broker.handlers.offset_for_leader_epoch import handle_offset_for_leader_epoch
from broker.handlers.produce import handle_produce
from broker.handlers.push_telemetry import handle_push_telemetry
from broker.handlers.sync_group import handle_sync_group
from broker.handlers.topic_answers import TopicAnswers
from broker.handlers.txn_offset_commit import handle_txn_offset_commit
from broker.handlers.update_features import handle_update_features
from broker.handlers.write_txn_markers import handle_write_txn_markers
from broker.log_dir_moves import LogDirMoves
from broker.loggers import PythonLoggers
from broker.replication.fetch_session_cache import FetchSessionCache
from broker.replication.replica_manager import ReplicaManager
from broker.telemetry.clients import ClientTelemetry
from broker.telemetry.export import Exporter
from cluster.controller.auto_creation import AutoCreation
from cluster.controller.controller import Controller
from cluster.producer_ids import ProducerIdBlocks
from config.broker_config import BrokerConfig
from config.describe import describe_topic
from config.keys import groups, log, network
from protocol.api_keys import ApiKey
from protocol.model import CONSUMER_OFFSETS_TOPIC
from runtime.blocking import FewAtOnce, Workers
from runtime.clock import Clock
from storage.log_manager import LogManager

HEAVY_BATCHES_AT_ONCE = 2
"""Each may unfold to 64 MiB, or more where messages may be larger (`storage.log.validator`)."""


class Transactions(NamedTuple):
    """What handlers of transactions work with."""

    coordinator: TransactionCoordinator
    sender: MarkerSender
    writer: MarkerWriter
    questions: TransactionQuestions


class Services:
    """What handlers work with; each gets only what its signature names."""

    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        workers: Workers,
        logs: LogManager,
        replicas: ReplicaManager,
    ) -> None:
        self.config = config
        self.clock = clock
        self.workers = workers
        self.logs = logs
        self.replicas = replicas
        self.sessions: FetchSessionCache
        self.controller: Controller
        self.auto_creation: AutoCreation
        self.producer_ids: ProducerIdBlocks
        self.groups: GroupCoordinator
        self.transactions: Transactions
        self.moves: LogDirMoves
        self.client_telemetry: ClientTelemetry | None


def make_handlers(services: Services) -> Mapping[ApiKey, Handler]:
    """The handlers of every API served; what is not here is not advertised."""
    handlers: dict[ApiKey, Any] = {
        **_data_handlers(services),
        **_admin_handlers(services),
        **_cluster_handlers(services),
        **_group_handlers(services),
        **_transaction_handlers(services),
    }
    keys = [*handlers, ApiKey.API_VERSIONS]
    handlers[ApiKey.API_VERSIONS] = partial(
        handle_api_versions,
        api_versions=advertised(keys),
        features=lambda: services.replicas.metadata.features,
    )
    return handlers


def _data_handlers(services: Services) -> dict[ApiKey, Any]:
    replicas = services.replicas
    config = services.config
    for_batches, for_searches = (
        FewAtOnce(services.workers, HEAVY_BATCHES_AT_ONCE) for _ in range(2)
    )
    return {
        ApiKey.PRODUCE: partial(
            handle_produce,
            replicas=replicas,
            workers=for_batches,
            questions=services.transactions.questions,
        ),
        ApiKey.FETCH: partial(
            handle_fetch,
            replicas=replicas,
            sessions=services.sessions,
            clock=services.clock,
            fetch_max_bytes=config.live(network.FETCH_MAX_BYTES),
        ),
        ApiKey.LIST_OFFSETS: partial(handle_list_offsets, replicas=replicas, workers=for_searches),
        ApiKey.OFFSET_FOR_LEADER_EPOCH: partial(handle_offset_for_leader_epoch, replicas=replicas),
        ApiKey.DELETE_RECORDS: partial(handle_delete_records, replicas=replicas),
        ApiKey.DESCRIBE_PRODUCERS: partial(handle_describe_producers, replicas=replicas),
        ApiKey.ALTER_REPLICA_LOG_DIRS: partial(handle_alter_replica_log_dirs, moves=services.moves),
        ApiKey.DESCRIBE_LOG_DIRS: partial(
            handle_describe_log_dirs, replicas=replicas, logs=services.logs
        ),
    }


def _admin_handlers(services: Services) -> dict[ApiKey, Any]:
    config = services.config
    controller = services.controller
    metadata = services.replicas.metadata
    loggers = PythonLoggers()
    return {
        ApiKey.METADATA: partial(
            handle_metadata,
            answers=TopicAnswers(metadata),
            auto_creation=services.auto_creation,
        ),
        ApiKey.CREATE_TOPICS: partial(
            handle_create_topics,
            controller=controller,
            describe_topic=partial(describe_topic, config),
        ),
        ApiKey.DELETE_TOPICS: partial(
            handle_delete_topics,
            controller=controller,
            is_enabled=config.live(log.DELETE_TOPIC_ENABLE),
        ),
        ApiKey.CREATE_PARTITIONS: partial(handle_create_partitions, controller=controller),
        ApiKey.DESCRIBE_CLUSTER: partial(handle_describe_cluster, metadata=metadata),
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: partial(
            handle_describe_topic_partitions,
            metadata=metadata,
            partition_limit=config.live(network.MAX_REQUEST_PARTITION_SIZE_LIMIT),
        ),
        ApiKey.DESCRIBE_CONFIGS: partial(
            handle_describe_configs, config=config, metadata=metadata, loggers=loggers
        ),
        ApiKey.ALTER_CONFIGS: partial(
            handle_alter_configs, config=config, metadata=metadata, controller=controller
        ),
        ApiKey.INCREMENTAL_ALTER_CONFIGS: partial(
            handle_incremental_alter_configs,
            config=config,
            metadata=metadata,
            controller=controller,
            loggers=loggers,
        ),
    }


def _cluster_handlers(services: Services) -> dict[ApiKey, Any]:
    controller = services.controller
    metadata = services.replicas.metadata
    return {
        ApiKey.ELECT_LEADERS: partial(
            handle_elect_leaders, controller=controller, metadata=metadata
        ),
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: partial(
            handle_alter_partition_reassignments, controller=controller
        ),
        ApiKey.LIST_PARTITION_REASSIGNMENTS: handle_list_partition_reassignments,
        ApiKey.UPDATE_FEATURES: partial(handle_update_features, controller=controller),
        ApiKey.LIST_CONFIG_RESOURCES: partial(handle_list_config_resources, metadata=metadata),
        **_telemetry_handlers(services),
    }


def _telemetry_handlers(services: Services) -> dict[ApiKey, Any]:
    """None where nobody would see what clients push: then they are not asked to."""
    telemetry, clock = services.client_telemetry, services.clock
    if telemetry is None:
        return {}
    return {
        ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: partial(
            handle_get_telemetry_subscriptions, telemetry=telemetry, clock=clock
        ),
        ApiKey.PUSH_TELEMETRY: partial(
            handle_push_telemetry,
            telemetry=telemetry,
            exporter=Exporter(telemetry, services.workers),
            clock=clock,
        ),
    }


def _group_handlers(services: Services) -> dict[ApiKey, Any]:
    groups, metadata = services.groups, services.replicas.metadata
    return {
        ApiKey.FIND_COORDINATOR: partial(
            handle_find_coordinator, metadata=metadata, auto_creation=services.auto_creation
        ),
        ApiKey.JOIN_GROUP: partial(handle_join_group, groups=groups),
        ApiKey.SYNC_GROUP: partial(handle_sync_group, groups=groups),
        ApiKey.HEARTBEAT: partial(handle_heartbeat, groups=groups),
        ApiKey.LEAVE_GROUP: partial(handle_leave_group, groups=groups),
        ApiKey.OFFSET_COMMIT: partial(handle_offset_commit, groups=groups, metadata=metadata),
        ApiKey.OFFSET_FETCH: partial(handle_offset_fetch, groups=groups, metadata=metadata),
        ApiKey.OFFSET_DELETE: partial(handle_offset_delete, groups=groups, metadata=metadata),
        ApiKey.DESCRIBE_GROUPS: partial(handle_describe_groups, groups=groups),
        ApiKey.CONSUMER_GROUP_HEARTBEAT: partial(handle_consumer_group_heartbeat, groups=groups),
        ApiKey.CONSUMER_GROUP_DESCRIBE: partial(handle_consumer_group_describe, groups=groups),
        ApiKey.LIST_GROUPS: partial(handle_list_groups, groups=groups),
        ApiKey.DELETE_GROUPS: partial(handle_delete_groups, groups=groups),
    }


def _transaction_handlers(services: Services) -> dict[ApiKey, Any]:
    coordinator = services.transactions.coordinator
    metadata = services.replicas.metadata
    return {
        ApiKey.INIT_PRODUCER_ID: partial(
            handle_init_producer_id, blocks=services.producer_ids, transactions=coordinator
        ),
        ApiKey.ADD_PARTITIONS_TO_TXN: partial(
            handle_add_partitions_to_txn, transactions=coordinator, metadata=metadata
        ),
        ApiKey.ADD_OFFSETS_TO_TXN: partial(
            handle_add_offsets_to_txn,
            transactions=coordinator,
            offsets_partitions=lambda: _partitions_of(services, CONSUMER_OFFSETS_TOPIC),
        ),
        ApiKey.TXN_OFFSET_COMMIT: partial(
            handle_txn_offset_commit,
            groups=services.groups,
            replicas=services.replicas,
            questions=services.transactions.questions,
        ),
        ApiKey.END_TXN: partial(handle_end_txn, transactions=coordinator),
        ApiKey.WRITE_TXN_MARKERS: partial(
            handle_write_txn_markers, writer=services.transactions.writer
        ),
        ApiKey.DESCRIBE_TRANSACTIONS: partial(
            handle_describe_transactions, transactions=coordinator
        ),
        ApiKey.LIST_TRANSACTIONS: partial(
            handle_list_transactions, transactions=coordinator, clock=services.clock
        ),
    }


def _partitions_of(services: Services, topic: str) -> int:
    """How many there are, or will be once the topic is made."""
    image = services.replicas.metadata.topic(topic)
    if image is None:
        return services.config[groups.OFFSETS_TOPIC_NUM_PARTITIONS]
    return len(image.partitions)
