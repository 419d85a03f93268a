"""Reads the partitions of one fetch in their order, within the limits of the whole.

The limits are Kafka's (ReplicaManager.readFromLog): a partition gives at most what is wanted of it
and what is left of the response; only as long as nothing was found may one batch be larger than
both (KIP-74), so that a reader never gets stuck before a large batch.
"""

from collections.abc import Callable, Sequence
from typing import Final

from broker.replication.change import PartitionChange
from broker.replication.delayed_fetch import FetchParams
from broker.replication.fetch_session import Reads
from broker.replication.partition import Partition
from broker.replication.partition_read import PartitionRead, failed_read
from broker.replication.wanted_partition import WantedPartition
from protocol.errors import ErrorCode, KafkaError
from protocol.model import CONSUMER_REPLICA_ID, TopicPartition
from runtime.clock import Clock
from storage.errors import StorageError

_NONE: Final = ErrorCode.NONE
EXPECTED_ERRORS: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.OFFSET_OUT_OF_RANGE,
    }
)
"""Refusals that belong to a cluster's life and are not counted as failed requests."""

NOT_SERVED_HERE: Final = frozenset(
    {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID}
)
"""Errors that do not end a long poll: what does not exist is no reason to hurry."""


class PartitionReader:
    """Reads for fetches.

    `find` gives the hosted partition or raises KafkaError; `changed` queues what a follower's
    fetch changed; `storage_failed` takes the directory offline and returns the error to answer.
    """

    __slots__ = ("_changed", "_clock", "_find", "_storage_failed")

    def __init__(
        self,
        find: Callable[[WantedPartition], Partition],
        changed: Callable[[TopicPartition, PartitionChange], None],
        storage_failed: Callable[[StorageError], KafkaError],
        clock: Clock,
    ) -> None:
        self._find = find
        self._changed = changed
        self._storage_failed = storage_failed
        self._clock = clock

    def read(
        self, params: FetchParams, wanted: Sequence[WantedPartition], taken_bytes: int = 0
    ) -> Reads:
        """Read each; refusals stay with their partition.

        `taken_bytes` of the response are those of partitions read before.
        """
        remaining = params.max_bytes - taken_bytes
        min_one_message = not taken_bytes
        reads: Reads = []
        for one in wanted:
            limit = one.max_bytes if one.max_bytes < remaining else remaining
            read = self._read_one(params, one, limit, min_one_message)
            records = read.records
            if records is not None:
                min_one_message = False
                remaining -= records.nbytes
            reads.append((one, read))
        return reads

    def _read_one(
        self, params: FetchParams, wanted: WantedPartition, limit: int, min_one_message: bool
    ) -> PartitionRead:
        partition: Partition | None = None
        try:
            partition = self._find(wanted)
            partition.meters.total_fetch_requests += 1
            if params.replica_id > CONSUMER_REPLICA_ID:
                return self._read_for_follower(params, wanted, partition, limit, min_one_message)
            return partition.read(
                wanted, max(limit, 0), params.bound, min_one_message, params.leader_only
            )
        except KafkaError as error:
            return self._failed(error, partition)
        except StorageError as error:
            return self._failed(self._storage_failed(error), partition)

    def _read_for_follower(
        self,
        params: FetchParams,
        wanted: WantedPartition,
        partition: Partition,
        limit: int,
        min_one_message: bool,
    ) -> PartitionRead:
        leader_end_offset = partition.leader_log().log_end_offset
        read = partition.read(wanted, max(limit, 0), params.bound, min_one_message)
        if read.diverging_epoch is None:
            now_ms = self._clock.now_ms()
            try:
                change = partition.record_follower_fetch(
                    params.replica_id, wanted, leader_end_offset, now_ms
                )
            except KafkaError:
                read.release()
                raise
            self._changed(partition.topic_partition, change)
        return read

    def _failed(self, error: KafkaError, partition: Partition | None) -> PartitionRead:
        read = failed_read(error.code)
        if partition is not None:
            if error.code not in EXPECTED_ERRORS:
                partition.meters.failed_fetch_requests += 1
            if error.code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH):
                read.current_leader = (partition.leader, partition.leader_epoch)
        return read


def is_satisfied(params: FetchParams, reads: Reads) -> bool:
    """Whether these reads are to be answered now rather than waited upon."""
    if params.max_wait_ms <= 0:
        return True
    found = 0
    waiting = False
    for _, read in reads:
        if read.error is not _NONE:
            if read.error not in NOT_SERVED_HERE:
                return True
            continue
        if read.diverging_epoch is not None:
            return True
        waiting = True
        if read.records is not None:
            found += read.records.nbytes
    return not waiting or found >= params.min_bytes
