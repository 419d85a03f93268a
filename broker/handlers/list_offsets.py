"""ListOffsets (2): offsets by place or by time, each partition for itself.

v4 leader epochs, v5 OFFSET_NOT_AVAILABLE (before: LEADER_NOT_AVAILABLE), v7 the largest timestamp,
v8 the local log's start, v9 the last tiered offset, v11 the earliest not uploaded yet; below its
version, and for any other negative number, a timestamp is answered UNSUPPORTED_VERSION. A
partition asked for twice is answered INVALID_REQUEST.
"""

from collections import Counter
from typing import Final

from broker.context import RequestContext
from broker.replication.partition import reader_bound
from broker.replication.replica_manager import ReplicaManager
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from protocol.model import (
    CONSUMER_REPLICA_ID,
    DEBUGGING_REPLICA_ID,
    IsolationLevel,
    SpecialTimestamp,
    TopicPartition,
)
from storage.log.results import ReadBound

FIRST_VERSION: Final[dict[int, int]] = {
    SpecialTimestamp.LATEST: 1,
    SpecialTimestamp.EARLIEST: 1,
    SpecialTimestamp.MAX_TIMESTAMP: 7,
    SpecialTimestamp.EARLIEST_LOCAL: 8,
    SpecialTimestamp.LATEST_TIERED: 9,
    SpecialTimestamp.EARLIEST_PENDING_UPLOAD: 11,
}
NEVER: Final = 2**15
FIRST_VERSION_WITH_OFFSET_NOT_AVAILABLE: Final = 5


def handle_list_offsets(
    context: RequestContext, request: ListOffsetsRequest, *, replicas: ReplicaManager
) -> ListOffsetsResponse:
    """Answer each partition; errors stay with their partition."""
    version = context.api_version
    bound = reader_bound(
        request.replica_id, request.isolation_level == IsolationLevel.READ_COMMITTED
    )
    asked = Counter(
        (topic.name, partition.partition_index)
        for topic in request.topics
        for partition in topic.partitions
    )
    response = ListOffsetsResponse()
    for topic in request.topics:
        answers = []
        for partition in topic.partitions:
            answer = ListOffsetsPartitionResponse(partition_index=partition.partition_index)
            answers.append(answer)
            topic_partition = TopicPartition(topic.name, partition.partition_index)
            try:
                if asked[topic_partition] > 1:
                    raise KafkaError(ErrorCode.INVALID_REQUEST)
                answer.timestamp, answer.offset, answer.leader_epoch = _look_up(
                    replicas, topic_partition, partition, bound, (request.replica_id, version)
                )
            except KafkaError as error:
                answer.error_code = _code_for(error.code, version, request.replica_id)
        response.topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=answers))
    return response


def _look_up(
    replicas: ReplicaManager,
    topic_partition: TopicPartition,
    partition: ListOffsetsPartition,
    bound: ReadBound,
    asker: tuple[int, int],
) -> tuple[int, int, int]:
    replica_id, version = asker
    timestamp = partition.timestamp
    if timestamp < 0 and version < FIRST_VERSION.get(timestamp, NEVER):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    return replicas.list_offset(
        topic_partition,
        timestamp,
        bound,
        partition.current_leader_epoch,
        leader_only=replica_id != DEBUGGING_REPLICA_ID,
    )


def _code_for(code: ErrorCode, version: int, replica_id: int) -> ErrorCode:
    if (
        code == ErrorCode.OFFSET_NOT_AVAILABLE
        and version < FIRST_VERSION_WITH_OFFSET_NOT_AVAILABLE
        and replica_id == CONSUMER_REPLICA_ID
    ):
        return ErrorCode.LEADER_NOT_AVAILABLE
    return code
