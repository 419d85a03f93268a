"""AlterReplicaLogDirs (34): have replicas of this broker in other log directories (KIP-113).

v1 the answer comes before the client is throttled, v2 flexible.
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, int16, int32, string
from protocol.schema.message import Failure, Message, Request, Response


class AlterReplicaLogDirTopic(Message):
    """The partitions of one topic that are to lie there."""

    name: str = string()
    partitions: list[int] = array(int32)


class AlterReplicaLogDir(Message):
    """An absolute path out of log.dirs."""

    path: str = string()
    topics: list[AlterReplicaLogDirTopic] = array(AlterReplicaLogDirTopic)


class AlterReplicaLogDirsRequest(
    Request, api_key=ApiKey.ALTER_REPLICA_LOG_DIRS, versions="1-2", flexible="2+"
):
    """Where each replica is to lie."""

    dirs: list[AlterReplicaLogDir] = array(AlterReplicaLogDir)

    def refusal(self, failure: Failure) -> "AlterReplicaLogDirsResponse":
        """The code for each partition."""
        return AlterReplicaLogDirsResponse(
            results=[
                AlterReplicaLogDirTopicResult(
                    topic_name=topic.name,
                    partitions=[
                        AlterReplicaLogDirPartitionResult(
                            partition_index=index, error_code=failure.code
                        )
                        for index in topic.partitions
                    ],
                )
                for directory in self.dirs
                for topic in directory.topics
            ]
        )


class AlterReplicaLogDirPartitionResult(Message):
    """Whether the replica is there, or on its way."""

    partition_index: int = int32()
    error_code: int = int16()


class AlterReplicaLogDirTopicResult(Message):
    """The partitions of one topic."""

    topic_name: str = string()
    partitions: list[AlterReplicaLogDirPartitionResult] = array(AlterReplicaLogDirPartitionResult)


class AlterReplicaLogDirsResponse(
    Response, api_key=ApiKey.ALTER_REPLICA_LOG_DIRS, versions="1-2", flexible="2+"
):
    """The outcome of each replica, by topic."""

    throttle_time_ms: int = int32()
    results: list[AlterReplicaLogDirTopicResult] = array(AlterReplicaLogDirTopicResult)
