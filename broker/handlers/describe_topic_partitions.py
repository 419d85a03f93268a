"""DescribeTopicPartitions (75): topics page by page, so that no answer grows without bound.

Topics come sorted by name, from the cursor on; a page ends at the partition limit, and its cursor
names the partition the next page begins with, also at the exact end of a topic while topics remain
(KIP-966, DescribeTopicPartitionsRequestHandler of Kafka 4.3). Eligible leader replicas are none:
the last in-sync replica stays in sync here.
"""

from collections.abc import Sequence

from broker.context import RequestContext
from broker.handlers.topic_answers import TOPIC_OPERATIONS, View, find_leader
from cluster.controller.topics import name_error
from cluster.metadata_cache import INTERNAL_TOPICS, MetadataCache, PartitionImage
from config.definition import Live
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)


def handle_describe_topic_partitions(
    context: RequestContext,
    request: DescribeTopicPartitionsRequest,
    *,
    metadata: MetadataCache,
    partition_limit: Live[int],
) -> DescribeTopicPartitionsResponse:
    """One page of topics; INVALID_REQUEST for a cursor that leads nowhere."""
    names = _names_from_cursor(request, metadata)
    limit = max(min(partition_limit(), request.response_partition_limit), 1)
    page = _Page(metadata, View(context.listener_name, True, TOPIC_OPERATIONS), limit)
    for name in names:
        if page.remaining <= 0:
            page.end_at(name, 0)
            break
        cursor = request.cursor
        start = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        if page.add(name, start):
            break
        if request.topics and metadata.topic(name) is None:
            page.add_unknown(name)
    return page.response


def _names_from_cursor(
    request: DescribeTopicPartitionsRequest, metadata: MetadataCache
) -> Sequence[str]:
    cursor = request.cursor
    first = "" if cursor is None else cursor.topic_name
    asked = {topic.name for topic in request.topics} if request.topics else metadata.topics()
    names = sorted(name for name in asked if name >= first)
    if cursor is not None:
        if request.topics and cursor.topic_name not in names:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                "DescribeTopicPartitionsRequest topic list should contain the cursor topic: "
                + cursor.topic_name,
            )
        if cursor.partition_index < 0:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"DescribeTopicPartitionsRequest cursor partition must be valid: {cursor}",
            )
    return names


class _Page:
    """A page being filled."""

    def __init__(self, metadata: MetadataCache, view: View, limit: int) -> None:
        self._metadata = metadata
        self._view = view
        self.remaining = limit
        self.response = DescribeTopicPartitionsResponse()

    def add(self, name: str, start: int) -> bool:
        """Add what fits of the topic from a partition on; whether the page ended in it."""
        topic = self._metadata.topic(name)
        if topic is None:
            return False
        end = min(len(topic.partitions), start + self.remaining)
        partitions = [self._partition(one) for one in topic.partitions[start:end]]
        self.response.topics.append(
            DescribeTopicPartitionsResponseTopic(
                name=name,
                topic_id=topic.topic_id,
                is_internal=topic.is_internal,
                partitions=partitions,
                topic_authorized_operations=TOPIC_OPERATIONS,
            )
        )
        self.remaining -= len(partitions)
        if end < len(topic.partitions):
            self.end_at(name, end)
            return True
        return False

    def add_unknown(self, name: str) -> None:
        """Add a topic that is not there."""
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if name_error(name) is not None:
            code = ErrorCode.INVALID_TOPIC_EXCEPTION
        self.response.topics.append(
            DescribeTopicPartitionsResponseTopic(
                error_code=code,
                name=name,
                is_internal=name in INTERNAL_TOPICS,
                topic_authorized_operations=TOPIC_OPERATIONS,
            )
        )

    def end_at(self, name: str, partition: int) -> None:
        """The next page begins there."""
        self.response.next_cursor = Cursor(topic_name=name, partition_index=partition)

    def _partition(self, partition: PartitionImage) -> DescribeTopicPartitionsResponsePartition:
        error, leader = find_leader(self._metadata, partition, self._view)
        return DescribeTopicPartitionsResponsePartition(
            error_code=error,
            partition_index=partition.partition,
            leader_id=leader,
            leader_epoch=partition.leader_epoch,
            replica_nodes=list(partition.replicas),
            isr_nodes=list(partition.isr),
            eligible_leader_replicas=[],
            last_known_elr=[],
            offline_replicas=list(partition.offline),
        )
