"""One partition as this broker serves it: role, epochs, in-sync set, and what readers may see.

Invariants: `log` is there whenever the replica leads or follows; only a leader appends for clients;
the high watermark never falls while this replica leads; readers are fenced by the leader epoch they
name. Decides and returns facts: what changed comes back as a `PartitionChange`, nobody is called.
Rules: Partition.scala of Kafka 3.9 with the corrections of 4.3.
"""

from collections.abc import Collection
from typing import Final

from broker.replication.change import (
    FLUSHED,
    HIGH_WATERMARK,
    LEADERSHIP,
    LOG_END,
    LOG_START,
    NOTHING,
    STORAGE,
    PartitionChange,
)
from broker.replication.in_sync import RemoteReplica, common_end_offset, effective_min_in_sync
from broker.replication.meters import TopicMeters
from broker.replication.partition_read import PartitionRead
from broker.replication.wanted_partition import WantedPartition
from cluster.controller.messages import LeaderAndIsr
from protocol.errors import ErrorCode, KafkaError
from protocol.model import (
    ACKS_ALL,
    CONSUMER_REPLICA_ID,
    NO_LEADER,
    NO_LEADER_EPOCH,
    NO_OFFSET,
    ZERO_TOPIC_ID,
    TopicPartition,
)
from storage.log.partition_log import PartitionLog
from storage.log.results import AppendResult, Origin, ReadBound
from storage.log.validator import Prepared
from storage.producer.verification import NO_TERMS, TransactionTerms

DELETE_RECORDS: Final = "client delete records request"
"""Why the log start rises, in the words of Kafka's log line."""
_NONE: Final = ErrorCode.NONE
_CLIENT: Final = Origin.CLIENT
_LOG_END: Final = ReadBound.LOG_END
_HIGH_WATERMARK: Final = ReadBound.HIGH_WATERMARK
_LAST_STABLE: Final = ReadBound.LAST_STABLE
FLUSH_BEFORE_ACK: Final = 1
"""Value of flush.messages under which an acknowledged record has been fsynced."""


class Partition:
    """State of one hosted partition; changed by the replica manager's doors and by its appends."""

    __slots__ = (
        "in_sync",
        "is_leader",
        "leader",
        "leader_epoch",
        "leader_epoch_start_offset",
        "local_id",
        "log",
        "meters",
        "offline",
        "partition_epoch",
        "remotes",
        "replicas",
        "topic_id",
        "topic_partition",
    )

    def __init__(self, topic_partition: TopicPartition, local_id: int, meters: TopicMeters) -> None:
        self.topic_partition = topic_partition
        self.local_id = local_id
        self.meters = meters
        self.topic_id = ZERO_TOPIC_ID
        self.log: PartitionLog | None = None
        self.offline = False
        self.is_leader = False
        self.leader = NO_LEADER
        self.leader_epoch = NO_LEADER_EPOCH
        self.partition_epoch = 0
        self.leader_epoch_start_offset = NO_OFFSET
        self.replicas: tuple[int, ...] = ()
        self.in_sync: tuple[int, ...] = ()
        self.remotes: dict[int, RemoteReplica] = {}

    # Leadership.

    def make_leader(self, state: LeaderAndIsr, log: PartitionLog, now_ms: int) -> PartitionChange:
        """Lead from now on, at the epoch of `state`; followers have to report anew.

        The high watermark stays where it was until the in-sync set confirms more; a sole in-sync
        leader has confirmed everything at once.
        """
        self.log = log
        self.topic_id = state.topic_id
        self.replicas = state.replicas
        self.in_sync = state.isr
        self.partition_epoch = state.partition_epoch
        if state.leader_epoch > self.leader_epoch:
            log.assign_epoch(state.leader_epoch, log.log_end_offset)
            self.leader_epoch_start_offset = log.log_end_offset
            self.remotes = {
                replica: RemoteReplica(now_ms if replica in state.isr else 0)
                for replica in state.replicas
                if replica != self.local_id
            }
        self.leader_epoch = state.leader_epoch
        self.leader = self.local_id
        self.is_leader = True
        return LEADERSHIP | self._raise_high_watermark(log)

    def make_follower(self, state: LeaderAndIsr, log: PartitionLog) -> PartitionChange:
        """Follow from now on: no client appends, the in-sync set is the leader's business."""
        self.log = log
        self.topic_id = state.topic_id
        self.replicas = state.replicas
        self.in_sync = ()
        self.remotes = {}
        self.partition_epoch = state.partition_epoch
        self.leader_epoch = state.leader_epoch
        self.leader_epoch_start_offset = NO_OFFSET
        self.leader = state.leader
        self.is_leader = False
        return LEADERSHIP

    def take_log(self, log: PartitionLog) -> PartitionChange:
        """The same records lie in another log directory: serve them from there.

        Whoever waits looks again; nobody has to ask anew.
        """
        self.log = log
        raised = self._raise_high_watermark(log) if self.is_leader else NOTHING
        return LOG_END | HIGH_WATERMARK | FLUSHED | LOG_START | raised

    def go_offline(self) -> PartitionChange:
        """The log's directory failed: answer KAFKA_STORAGE_ERROR for the rest of the process."""
        self.offline = True
        self.is_leader = False
        self.log = None
        return STORAGE

    def stop(self) -> PartitionChange:
        """Serve no more: the partition is being removed from this broker."""
        self.is_leader = False
        self.log = None
        return LEADERSHIP

    # Who may do what.

    def leader_log(self) -> PartitionLog:
        """The log, if this replica leads; KafkaError KAFKA_STORAGE_ERROR, NOT_LEADER_…."""
        log = self.log
        if log is None or not self.is_leader:
            code = (
                ErrorCode.KAFKA_STORAGE_ERROR if self.offline else ErrorCode.NOT_LEADER_OR_FOLLOWER
            )
            raise KafkaError(code)
        return log

    def fenced_log(self, current_leader_epoch: int, leader_only: bool) -> PartitionLog:
        """The log for a request that names the leader epoch it believes in (-1: none).

        KafkaError FENCED_LEADER_EPOCH when the request is behind, UNKNOWN_LEADER_EPOCH when it is
        ahead, and the refusals of `leader_log`.
        """
        if current_leader_epoch not in (NO_LEADER_EPOCH, self.leader_epoch) and not self.offline:
            behind = current_leader_epoch < self.leader_epoch
            raise KafkaError(
                ErrorCode.FENCED_LEADER_EPOCH if behind else ErrorCode.UNKNOWN_LEADER_EPOCH
            )
        if leader_only or self.log is None:
            return self.leader_log()
        return self.log

    # Appending and what it makes visible.

    def append_as_leader(
        self,
        records: memoryview,
        acks: int,
        now_ms: int,
        origin: Origin = _CLIENT,
        terms: TransactionTerms = NO_TERMS,
    ) -> tuple[AppendResult, PartitionChange]:
        """Append a client's or coordinator's batch; `terms` are those of a transactional one.

        KafkaError NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS (acks=all, nothing appended), and
        what the log refuses; NeedsWorker for a client's batch that is too heavy for the loop;
        StorageError.
        """
        log = self._log_to_append(acks)
        result = log.append_as_leader(
            records,
            self.leader_epoch,
            now_ms,
            origin=origin,
            on_loop=origin is _CLIENT,
            terms=terms,
        )
        return result, LOG_END | self._raise_high_watermark(log)

    def append_prepared(
        self, prepared: Prepared, acks: int, now_ms: int, terms: TransactionTerms = NO_TERMS
    ) -> tuple[AppendResult, PartitionChange]:
        """Append a batch validated elsewhere, perhaps some time ago; refusals as above."""
        log = self._log_to_append(acks)
        result = log.append_prepared(prepared, self.leader_epoch, now_ms, terms)
        return result, LOG_END | self._raise_high_watermark(log)

    def _log_to_append(self, acks: int) -> PartitionLog:
        log = self.log
        if log is None or not self.is_leader:
            log = self.leader_log()
        if acks == ACKS_ALL and not self.has_enough_in_sync(log):
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
        return log

    def has_enough_in_sync(self, log: PartitionLog) -> bool:
        """Whether as many replicas are in sync as acks=all asks for."""
        wanted = effective_min_in_sync(log.config.min_insync_replicas, len(self.replicas))
        return len(self.in_sync) >= wanted

    def acknowledgement(self, end_offset: int, acks: int) -> ErrorCode | None:
        """The outcome of an append that ended before `end_offset`; None while it is not known.

        acks=all waits for the high watermark; any acks waits for the fsync under flush-before-ack.
        """
        log = self.log
        if log is None or not self.is_leader:
            return (
                ErrorCode.KAFKA_STORAGE_ERROR if self.offline else ErrorCode.NOT_LEADER_OR_FOLLOWER
            )
        flush_first = log.config.flush_messages == FLUSH_BEFORE_ACK
        if flush_first and log.flushed_end_offset < end_offset:
            return None
        if acks != ACKS_ALL:
            return _NONE
        if log.high_watermark < end_offset:
            return None
        return _NONE if self.has_enough_in_sync(log) else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    def after_job(self) -> PartitionChange:
        """Background work moved offsets of the log: more of it is fsynced, or its start rose."""
        log = self.log
        if log is None:
            return NOTHING
        raised = self._raise_high_watermark(log) if self.is_leader else NOTHING
        return FLUSHED | LOG_START | raised

    def _raise_high_watermark(self, log: PartitionLog) -> PartitionChange:
        end = log.log_end_offset
        if log.config.flush_messages == FLUSH_BEFORE_ACK:
            end = min(end, log.flushed_end_offset)
        if self.remotes:
            if not self.has_enough_in_sync(log):
                return NOTHING
            end = common_end_offset(end, self.remotes, self.in_sync)
        if end > log.high_watermark and log.update_high_watermark(end):
            return HIGH_WATERMARK
        return NOTHING

    # Reading.

    def read(
        self,
        wanted: WantedPartition,
        max_bytes: int,
        bound: ReadBound,
        min_one_message: bool,
        leader_only: bool = True,
    ) -> PartitionRead:
        """Read whole or cut batches from the one holding the wanted offset up to the bound.

        KafkaError OFFSET_OUT_OF_RANGE and the refusals of `fenced_log`; StorageError.
        """
        log = self.fenced_log(wanted.current_leader_epoch, leader_only)
        offset = wanted.fetch_offset
        high_watermark = log.high_watermark
        last_stable_offset = log.last_stable_offset
        read = PartitionRead(_NONE, high_watermark, last_stable_offset, log.log_start_offset)
        if wanted.last_fetched_epoch != NO_LEADER_EPOCH:
            read.diverging_epoch = divergence(log, wanted.last_fetched_epoch, offset)
            if read.diverging_epoch is not None:
                return read
        if bound is _HIGH_WATERMARK:
            end = high_watermark
        elif bound is _LAST_STABLE:
            end = last_stable_offset
            read.aborted_transactions = []
        else:
            end = log.log_end_offset
        if offset == end and offset >= read.log_start_offset:
            return read
        found = log.read(offset, max_bytes, bound, min_one_message)
        read.aborted_transactions = found.aborted_transactions
        read.records = found.slice
        return read

    def record_follower_fetch(
        self, replica_id: int, wanted: WantedPartition, leader_end_offset: int, now_ms: int
    ) -> PartitionChange:
        """Take a follower's fetch offset as its log end; the leader's end is that before its read.

        KafkaError UNKNOWN_LEADER_EPOCH or NOT_LEADER_OR_FOLLOWER for a replica not assigned here.
        """
        remote = self.remotes.get(replica_id)
        log = self.leader_log()
        if remote is None:
            names_epoch = wanted.current_leader_epoch != NO_LEADER_EPOCH
            raise KafkaError(
                ErrorCode.UNKNOWN_LEADER_EPOCH if names_epoch else ErrorCode.NOT_LEADER_OR_FOLLOWER
            )
        log_start_before = remote.log_start_offset
        remote.record_fetch(wanted.fetch_offset, wanted.log_start_offset, leader_end_offset, now_ms)
        change = LOG_START if remote.log_start_offset != log_start_before else NOTHING
        return change | self._raise_high_watermark(log)

    def available_bytes(self, wanted: WantedPartition, bound: ReadBound, leader_only: bool) -> int:
        """How much a read would find, by positions, at most what is wanted of this partition.

        KafkaError by the rules of `fenced_log`, and OFFSET_OUT_OF_RANGE after a truncation.
        """
        log = self.fenced_log(wanted.current_leader_epoch, leader_only)
        if wanted.fetch_offset > log.log_end_offset:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        return min(log.estimate_bytes(wanted.fetch_offset, bound), wanted.max_bytes)

    # Deleting records.

    def delete_records(self, offset: int) -> tuple[int, PartitionChange]:
        """Raise the log start to `offset` (-1: the high watermark); returns (that offset, change).

        KafkaError POLICY_VIOLATION where the topic keeps only compacted data, OFFSET_OUT_OF_RANGE
        beyond the high watermark. An offset at or below the log start changes nothing.
        """
        log = self.leader_log()
        if log.config.compact and not log.config.delete:
            raise KafkaError(ErrorCode.POLICY_VIOLATION)
        if offset == NO_OFFSET:
            offset = log.high_watermark
        if offset < 0 or offset > log.high_watermark:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        changed = log.maybe_increment_log_start_offset(offset, DELETE_RECORDS)
        return offset, LOG_START if changed else NOTHING

    def low_watermark(self, live: Collection[int]) -> int:
        """The smallest log start among this replica and the live followers."""
        log = self.leader_log()
        starts = [
            remote.log_start_offset for replica, remote in self.remotes.items() if replica in live
        ]
        return min(log.log_start_offset, *starts) if starts else log.log_start_offset


def divergence(log: PartitionLog, last_fetched_epoch: int, offset: int) -> tuple[int, int] | None:
    """(epoch, end offset) where a reader's log parts from this one; None when it does not.

    KafkaError OFFSET_OUT_OF_RANGE when that cannot be told (KIP-595).
    """
    epoch, end_offset = log.end_offset_for_epoch(last_fetched_epoch)
    if epoch == NO_LEADER_EPOCH or end_offset == NO_OFFSET or offset < log.log_start_offset:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
    if epoch < last_fetched_epoch or end_offset < offset:
        return epoch, end_offset
    return None


def reader_bound(replica_id: int, read_committed: bool) -> ReadBound:
    """How far a reader may see: followers to the log end, clients to what is safe and decided."""
    if replica_id != CONSUMER_REPLICA_ID:
        return _LOG_END
    return _LAST_STABLE if read_committed else _HIGH_WATERMARK
