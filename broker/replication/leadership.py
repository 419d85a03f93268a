"""What a broker does with leadership it is told of: the receiver's side of control requests.

Pure decisions (ReplicaManager.scala of Kafka 3.9): the leader epoch alone says what is newer. The
partition epoch only skips an older state of the same kind; an unchanged leader epoch is answered
STALE_CONTROLLER_EPOCH and changes nothing.
"""

from typing import Final

from broker.replication.partition import Partition
from cluster.controller.messages import LeaderAndIsr, StopReplica
from protocol.errors import ErrorCode
from protocol.model import ZERO_TOPIC_ID

_FORCED_EPOCHS: Final = (-1, -2)
"""Leader epochs of StopReplica that pass every fence: none known, and topic being deleted."""


def leadership_outcome(
    state: LeaderAndIsr, partition: Partition | None, topic_id: bytes | None, local_id: int
) -> ErrorCode | None:
    """The answer that ends the matter, or None when the state is to be adopted.

    `topic_id` is that of the log on disk, None without a log.
    """
    if partition is not None and partition.offline:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if (
        topic_id is not None
        and ZERO_TOPIC_ID not in (topic_id, state.topic_id)
        and topic_id != state.topic_id
    ):
        return ErrorCode.INCONSISTENT_TOPIC_ID
    if partition is not None and state.leader_epoch <= partition.leader_epoch:
        return ErrorCode.STALE_CONTROLLER_EPOCH
    if local_id not in state.replicas:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return None


def stop_outcome(request: StopReplica, partition: Partition | None) -> ErrorCode:
    """NONE when the replica is to be stopped."""
    if partition is None:
        return ErrorCode.NONE
    if partition.offline:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if request.leader_epoch in _FORCED_EPOCHS or request.leader_epoch >= partition.leader_epoch:
        return ErrorCode.NONE
    return ErrorCode.FENCED_LEADER_EPOCH
