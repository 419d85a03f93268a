"""OffsetForLeaderEpoch (23): where a leader epoch ends in the leader's log.

How consumers and followers find out that a log was truncated under them. Undefined epochs are
answered -1 and -1 without an error.
"""

from broker.context import RequestContext
from broker.replication.replica_manager import ReplicaManager
from protocol.errors import KafkaError
from protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from protocol.model import TopicPartition


def handle_offset_for_leader_epoch(
    _: RequestContext, request: OffsetForLeaderEpochRequest, *, replicas: ReplicaManager
) -> OffsetForLeaderEpochResponse:
    """Answer each partition; errors stay with their partition."""
    response = OffsetForLeaderEpochResponse()
    for topic in request.topics:
        answers = []
        for wanted in topic.partitions:
            answer = EpochEndOffset(partition=wanted.partition)
            answers.append(answer)
            try:
                answer.leader_epoch, answer.end_offset = replicas.end_offset_for_epoch(
                    TopicPartition(topic.topic, wanted.partition),
                    wanted.leader_epoch,
                    wanted.current_leader_epoch,
                )
            except KafkaError as error:
                answer.error_code = error.code
        response.topics.append(OffsetForLeaderTopicResult(topic=topic.topic, partitions=answers))
    return response
