"""The partitions this broker hosts: the one way in for requests, and the doors for the controller.

A facade that routes. What a partition may do is decided in `partition`, what leadership means in
`leadership`, how far a fetch reads in `partition_reader`. Invariants: leadership, deletion and
metadata change through the three doors only; whatever changes a partition ends in the change
queue, whose drain alone wakes what waits in the purgatories and the coordinators.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Final

from broker.replication.change import LEADERSHIP, STORAGE, ChangeQueue, PartitionChange
from broker.replication.delayed_delete_records import DelayedDeleteRecords, PendingDeletion
from broker.replication.delayed_fetch import DelayedFetch, FetchParams
from broker.replication.delayed_produce import DelayedProduce
from broker.replication.fetch_session import Reads
from broker.replication.leadership import leadership_outcome, stop_outcome
from broker.replication.meters import BrokerTopicMeters
from broker.replication.offset_lookup import (
    OffsetQuestion,
    TimestampOffsetEpoch,
    look_up_offset,
)
from broker.replication.partition import Partition
from broker.replication.partition_reader import PartitionReader
from broker.replication.purgatories import Purgatories
from broker.replication.purgatory import Cancellable
from broker.replication.wanted_partition import WantedPartition
from cluster.controller.messages import LeaderAndIsr, MetadataUpdate, StopReplica
from cluster.metadata_cache import MetadataCache
from config.topic_config import LogConfig
from protocol.errors import ErrorCode, KafkaError
from protocol.model import ZERO_TOPIC_ID, TopicPartition
from runtime.clock import Clock
from storage.errors import StorageError
from storage.jobs import Job
from storage.log.offsets import LogTimeSearch
from storage.log.partition_log import PartitionLog
from storage.log.results import AppendResult, Origin
from storage.log.validator import Prepared
from storage.log_manager import LogManager
from storage.producer.verification import NO_TERMS, TransactionTerms

_log = logging.getLogger(__name__)

_CLIENT: Final = Origin.CLIENT
EXPECTED_APPEND_ERRORS: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
"""Refused appends that Kafka does not count as failed requests."""


class ReplicaEnvironment:
    """What the replica manager gets from the process around it.

    `defer(function)` calls soon, after the current callback; `after(delay_ms, function)` arms a
    timer; `run_jobs` takes background work that storage asks for; `log_config(topic)` is the
    topic's effective configuration; `directory_failed(path, partitions)` is told after a log
    directory went offline with these partitions in it.
    """

    __slots__ = ("after", "clock", "defer", "directory_failed", "log_config", "run_jobs")

    def __init__(
        self,
        clock: Clock,
        defer: Callable[[Callable[[], None]], object],
        after: Callable[[int, Callable[[], None]], Cancellable],
        run_jobs: Callable[[Sequence[Job]], None],
        log_config: Callable[[str], LogConfig],
        directory_failed: Callable[[str, Sequence[TopicPartition]], None],
    ) -> None:
        self.clock = clock
        self.defer = defer
        self.after = after
        self.run_jobs = run_jobs
        self.log_config = log_config
        self.directory_failed = directory_failed


class ReplicaManager:
    """Hosts partitions. `partitions` and `meters` are read by whoever reports on them."""

    def __init__(
        self,
        local_id: int,
        logs: LogManager,
        metadata: MetadataCache,
        meters: BrokerTopicMeters,
        environment: ReplicaEnvironment,
    ) -> None:
        self.local_id = local_id
        self.metadata = metadata
        self.meters = meters
        self.partitions: dict[TopicPartition, Partition] = {}
        self.purgatories = Purgatories(environment.after)
        self.controller_epoch = 0
        # False until the controller named this broker's partitions: before that the set is
        # incomplete, and a checkpoint of it would lose high watermarks.
        self.initialized = False
        self._logs = logs
        self._environment = environment
        self._now_ms = environment.clock.now_ms
        self.leadership_watchers: list[Callable[[TopicPartition], None]] = []
        """Called in the drain, once it is known whether a partition is led here."""
        self.deletion_watchers: list[Callable[[str], None]] = []
        """Called with the name of a topic that exists no more."""
        self._changes = ChangeQueue(environment.defer, self._wake)
        self._reader = PartitionReader(
            self._wanted_partition, self._changed, self.storage_failed, environment.clock
        )

    # Finding partitions.

    def partition(self, topic_partition: TopicPartition) -> Partition | None:
        """The hosted partition, whatever its role."""
        return self.partitions.get(topic_partition)

    def hosted(self, topic_partition: TopicPartition, topic_id: bytes = ZERO_TOPIC_ID) -> Partition:
        """The hosted partition; KafkaError UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER when
        another broker has it, INCONSISTENT_TOPIC_ID when the id is another incarnation's."""
        partition = self.partitions.get(topic_partition)
        if partition is None:
            known = self.metadata.partition(topic_partition) is not None
            raise KafkaError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            )
        if topic_id not in (ZERO_TOPIC_ID, partition.topic_id):
            raise KafkaError(ErrorCode.INCONSISTENT_TOPIC_ID)
        return partition

    def _wanted_partition(self, wanted: WantedPartition) -> Partition:
        topic_partition = wanted.topic_partition
        if topic_partition is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        partition = self.partitions.get(topic_partition)
        topic_id = wanted.topic_id
        if partition is None or topic_id not in (ZERO_TOPIC_ID, partition.topic_id):
            return self.hosted(topic_partition, topic_id)
        return partition

    # Producing.

    def append(
        self,
        partition: Partition,
        records: memoryview,
        acks: int,
        origin: Origin = _CLIENT,
        terms: TransactionTerms = NO_TERMS,
    ) -> AppendResult:
        """Append to a partition led here; what waits for it is woken after this callback.

        KafkaError for every refusal, a failed disk (KAFKA_STORAGE_ERROR) included.
        """
        meters = partition.meters
        meters.total_produce_requests += 1
        try:
            result, change = partition.append_as_leader(
                records, acks, self._now_ms(), origin, terms
            )
        except KafkaError as error:
            _count_refusal(partition, error, len(records))
            raise
        except StorageError as error:
            raise self.storage_failed(error) from error
        self._appended(partition, result, change)
        return result

    def preparation(self, partition: Partition, records: memoryview) -> Callable[[], Prepared]:
        """The validation of a client's batch, to be called in a worker; KafkaError as `append`."""
        return partition.leader_log().prepare(records, self._now_ms(), _CLIENT)

    def append_prepared(
        self,
        partition: Partition,
        prepared: Prepared,
        acks: int,
        terms: TransactionTerms = NO_TERMS,
    ) -> AppendResult:
        """Append a batch that was validated in a worker; the same refusals, checked again."""
        try:
            result, change = partition.append_prepared(prepared, acks, self._now_ms(), terms)
        except KafkaError as error:
            _count_refusal(partition, error, prepared.batch.size)
            raise
        except StorageError as error:
            raise self.storage_failed(error) from error
        self._appended(partition, result, change)
        return result

    def _appended(
        self, partition: Partition, result: AppendResult, change: PartitionChange
    ) -> None:
        meters = partition.meters
        meters.messages_in += result.record_count
        meters.bytes_in += result.size
        if not self.purgatories.empty:
            self._changes.add(partition.topic_partition, change)
        if result.jobs:
            self._environment.run_jobs(result.jobs)

    def wait_for_appends(self, operation: DelayedProduce, timeout_ms: int) -> None:
        """Have the operation complete when its appends are acknowledged, or at the timeout."""
        self.purgatories.produce.watch(operation, operation.topic_partitions(), timeout_ms)

    # Fetching.

    def fetch(
        self, params: FetchParams, wanted: Sequence[WantedPartition], taken_bytes: int = 0
    ) -> Reads:
        """Read now what there is; who holds the reads releases them.

        `taken_bytes` of the response are those of its partitions read before.
        """
        return self._reader.read(params, wanted, taken_bytes)

    def wait_for_fetch(
        self,
        params: FetchParams,
        wanted: list[WantedPartition],
        done: Callable[[Reads], None],
        failed: Callable[[Exception], None],
        *,
        read: bool = True,
    ) -> DelayedFetch:
        """Read again when there is enough, or at the timeout, and hand the reads to `done`.

        What this broker does not serve is not waited upon. Without `read` there are no reads, and
        whoever waited reads.
        """
        sources = []
        for one in wanted:
            partition = self.partitions.get(one.topic_partition) if one.topic_partition else None
            if partition is not None:
                sources.append((one, partition))

        def read_again() -> Reads:
            return self._reader.read(params, wanted) if read else []

        operation = DelayedFetch(params, sources, read_again, done, failed)
        is_follower = params.replica_id >= 0
        purgatory = self.purgatories.followers if is_follower else self.purgatories.readers
        purgatory.watch(operation, [p.topic_partition for _, p in sources], params.max_wait_ms)
        return operation

    # Looking up offsets.

    def list_offset(
        self,
        question: OffsetQuestion,
        searched: LogTimeSearch | None = None,
        *,
        at_once: bool = True,
    ) -> TimestampOffsetEpoch | LogTimeSearch:
        """The answer to a question, or what to search before; see `look_up_offset`. KafkaError."""
        partition = self.hosted(question.topic_partition)
        log = partition.fenced_log(question.current_leader_epoch, question.leader_only)
        try:
            return look_up_offset(partition, log, question, searched, at_once=at_once)
        except StorageError as error:
            raise self.storage_failed(error) from error

    def end_offset_for_epoch(
        self, topic_partition: TopicPartition, leader_epoch: int, current_leader_epoch: int
    ) -> tuple[int, int]:
        """(largest epoch not above it, its end offset) in the leader's log; KafkaError."""
        partition = self.hosted(topic_partition)
        log = partition.fenced_log(current_leader_epoch, leader_only=True)
        return log.end_offset_for_epoch(leader_epoch)

    # Deleting records.

    def delete_records(self, topic_partition: TopicPartition, offset: int) -> PendingDeletion:
        """Raise the log start here; the outcome is a refusal, or waits for the other replicas."""
        try:
            partition = self.hosted(topic_partition)
            target, change = partition.delete_records(offset)
        except KafkaError as error:
            deletion = PendingDeletion(topic_partition, None, offset)
            deletion.refuse(error.code)
            return deletion
        self._changed(topic_partition, change)
        deletion = PendingDeletion(topic_partition, partition, target)
        deletion.look(self.metadata.brokers)
        return deletion

    def wait_for_deletions(self, operation: DelayedDeleteRecords, timeout_ms: int) -> None:
        """Have the operation complete when all live replicas have deleted, or at the timeout."""
        self.purgatories.deletions.watch(operation, operation.topic_partitions(), timeout_ms)

    # The controller's doors.

    def become_leader_or_follower(
        self, controller_epoch: int, states: Sequence[LeaderAndIsr]
    ) -> dict[TopicPartition, ErrorCode]:
        """Adopt leadership of each partition, or say why not."""
        self._adopt_controller_epoch(controller_epoch)
        answers = {state.tp: self._become(state) for state in states}
        self.initialized = True
        return answers

    def stop_replicas(
        self, controller_epoch: int, partitions: Sequence[StopReplica]
    ) -> dict[TopicPartition, ErrorCode]:
        """Stop serving; what is to be deleted is renamed now and removed later."""
        self._adopt_controller_epoch(controller_epoch)
        return {request.tp: self._stop(request) for request in partitions}

    def maybe_update_metadata_cache(
        self, controller_epoch: int, update: MetadataUpdate
    ) -> list[TopicPartition]:
        """Merge the update; returns the partitions that exist no more."""
        self._adopt_controller_epoch(controller_epoch)
        removed = self.metadata.apply(update)
        for topic in {topic for topic, _ in removed}:
            if self.metadata.topic(topic) is None:
                self.meters.retire(topic)
                for watcher in self.deletion_watchers:
                    watcher(topic)
        return removed

    def _adopt_controller_epoch(self, controller_epoch: int) -> None:
        if controller_epoch < self.controller_epoch:
            raise KafkaError(ErrorCode.STALE_CONTROLLER_EPOCH)
        self.controller_epoch = controller_epoch

    def _become(self, state: LeaderAndIsr) -> ErrorCode:
        topic_partition = state.tp
        partition = self.partitions.get(topic_partition)
        log = self._logs.get(topic_partition)
        outcome = leadership_outcome(
            state, partition, None if log is None else log.topic_id, self.local_id
        )
        if outcome is not None:
            return outcome
        if partition is None:
            meters = self.meters.topic(topic_partition[0])
            partition = Partition(topic_partition, self.local_id, meters)
        now_ms = self._now_ms()
        try:
            if log is None:
                config = self._environment.log_config(topic_partition[0])
                log = self._logs.get_or_create(
                    topic_partition, state.topic_id, config, now_ms, is_new=state.is_new
                )
            if state.leader == self.local_id:
                change = partition.make_leader(state, log, now_ms)
                self._environment.run_jobs(log.flush_owed())
            elif state.leader in self.metadata.brokers:
                change = partition.make_follower(state, log)
            else:
                return ErrorCode.NONE  # Kept as it was: the leader will be named again once alive.
        except KafkaError as error:
            _log.error("Partition %s is not served: %s", topic_partition, error)
            if error.code == ErrorCode.KAFKA_STORAGE_ERROR:
                self._host_offline(topic_partition, partition)
            return error.code
        except StorageError as error:
            self.storage_failed(error)
            self._host_offline(topic_partition, partition)
            return ErrorCode.KAFKA_STORAGE_ERROR
        self.partitions[topic_partition] = partition
        self._changed(topic_partition, change)
        return ErrorCode.NONE

    def _host_offline(self, topic_partition: TopicPartition, partition: Partition) -> None:
        """Clients are answered KAFKA_STORAGE_ERROR: the replica is here, its log is not served."""
        self.partitions[topic_partition] = partition
        self._changed(topic_partition, partition.go_offline())

    def _stop(self, request: StopReplica) -> ErrorCode:
        topic_partition = request.tp
        partition = self.partitions.get(topic_partition)
        outcome = stop_outcome(request, partition)
        if outcome != ErrorCode.NONE or not request.delete:
            return outcome
        if partition is not None:
            del self.partitions[topic_partition]
            self._changed(topic_partition, partition.stop())
        if self._logs.get(topic_partition) is not None:
            try:
                self._environment.run_jobs(
                    [self._logs.delete_async(topic_partition, self._now_ms())]
                )
            except StorageError as error:
                return self.storage_failed(error).code
        return ErrorCode.NONE

    # What jobs and disks report.

    def logs_changed(self, logs: Sequence[PartitionLog]) -> None:
        """Background work moved offsets of these logs: retention, a flush, a deletion."""
        for log in logs:
            partition = self.partitions.get(log.topic_partition)
            if partition is not None and partition.log is log:
                self._changed(log.topic_partition, partition.after_job())

    def log_moved(self, log: PartitionLog) -> None:
        """This log, in another log directory, has taken the place of its partition's."""
        partition = self.partitions.get(log.topic_partition)
        if partition is not None and partition.log is not None:
            self._changed(log.topic_partition, partition.take_log(log))

    def storage_failed(self, error: StorageError) -> KafkaError:
        """Take the log directory offline with all its partitions; returns the error to answer."""
        _log.error("Stopping serving replicas in dir %s: %s", error.directory, error)
        lost = self._logs.fail_dir(error.directory)
        for topic_partition in lost:
            partition = self.partitions.get(topic_partition)
            if partition is not None and not partition.offline:
                self._changed(topic_partition, partition.go_offline())
        self._environment.directory_failed(error.directory, lost)
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)

    def _changed(self, topic_partition: TopicPartition, change: PartitionChange) -> None:
        self._changes.add(topic_partition, change)

    def _wake(self, topic_partition: TopicPartition, change: PartitionChange) -> None:
        self.purgatories.wake(topic_partition, change)
        if change & (LEADERSHIP | STORAGE):
            for watcher in self.leadership_watchers:
                watcher(topic_partition)


def _count_refusal(partition: Partition, error: KafkaError, nbytes: int) -> None:
    meters = partition.meters
    if error.code in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE):
        meters.bytes_rejected += nbytes
    if error.code not in EXPECTED_APPEND_ERRORS:
        meters.failed_produce_requests += 1
