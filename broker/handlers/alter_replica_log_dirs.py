"""AlterReplicaLogDirs (34): move replicas of this broker to other log directories (KIP-113).

The answer says whether a move has begun, not that it is done: DescribeLogDirs tells how far it is.
A partition named under two directories goes to the one named last.
"""

from broker.context import RequestContext
from broker.log_dir_moves import LogDirMoves
from protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from protocol.model import TopicPartition


def handle_alter_replica_log_dirs(
    _: RequestContext, request: AlterReplicaLogDirsRequest, *, moves: LogDirMoves
) -> AlterReplicaLogDirsResponse:
    """Begin, redirect or end a move for each partition."""
    wanted = {
        TopicPartition(topic.name, index): directory.path
        for directory in request.dirs
        for topic in directory.topics
        for index in topic.partitions
    }
    results: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    for topic_partition, path in wanted.items():
        topic, index = topic_partition
        results.setdefault(topic, []).append(
            AlterReplicaLogDirPartitionResult(
                partition_index=index, error_code=moves.alter(topic_partition, path)
            )
        )
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(topic_name=topic, partitions=partitions)
            for topic, partitions in results.items()
        ]
    )
