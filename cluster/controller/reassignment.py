"""Moving partitions to other brokers, as far as one broker can: asked, checked, refused.

Of one broker there is one assignment, and it is in force: what passes the checks changes nothing,
no move goes on, and none can be stopped. Kafka's order of checks and words.
Source: KIP-455, KIP-860; `ReplicationControlManager.alterPartitionReassignment` of Kafka 4.3.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cluster.controller.topics import Replicas, check_assignment
from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicPartition


class Reassignment(NamedTuple):
    """Where a partition is to be, the preferred leader first; None stops its move."""

    tp: TopicPartition
    replicas: Sequence[int] | None


def find_fault(
    wanted: Reassignment,
    topics: Mapping[str, Replicas],
    live: Sequence[int],
    *,
    may_change_factor: bool,
) -> KafkaError | None:
    """Why this cannot be; None when it is so already."""
    name, index = wanted.tp
    if name not in topics:
        return _unknown(f"Unable to find a topic named {name}.")
    current = topics[name].get(index)
    if current is None:
        return _unknown(f"Unable to find partition {name}:{index}.")
    if wanted.replicas is None:
        return KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    try:
        check_assignment(wanted.replicas, live, None)
    except KafkaError as fault:
        return fault
    if not may_change_factor and len(current) != len(wanted.replicas):
        return KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {len(current)} to {len(wanted.replicas)}",
        )
    return None


def _unknown(message: str) -> KafkaError:
    return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
