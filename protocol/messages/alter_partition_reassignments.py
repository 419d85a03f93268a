"""AlterPartitionReassignments (45): move partitions to other brokers, or stop that (KIP-455).

v1 may forbid that the number of replicas changes on the way (KIP-860). Flexible from v0.
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, boolean, int16, int32, string
from protocol.schema.message import Failure, Message, Request, Response


class ReassignablePartition(Message):
    """The brokers a partition is to be on, the preferred leader first; null stops its move."""

    partition_index: int = int32()
    replicas: list[int] | None = array(int32, nullable="0+", default=None)


class ReassignableTopic(Message):
    """The partitions of one topic."""

    name: str = string()
    partitions: list[ReassignablePartition] = array(ReassignablePartition)


class AlterPartitionReassignmentsRequest(
    Request, api_key=ApiKey.ALTER_PARTITION_REASSIGNMENTS, versions="0-1", flexible="0+"
):
    """What is to move where."""

    timeout_ms: int = int32(default=60000)
    allow_replication_factor_change: bool = boolean("1+", default=True, ignorable=False)
    topics: list[ReassignableTopic] = array(ReassignableTopic)

    def refusal(self, failure: Failure) -> "AlterPartitionReassignmentsResponse":
        """The code and the message at the top, and for each partition."""
        return AlterPartitionReassignmentsResponse(
            error_code=failure.code,
            error_message=failure.message,
            responses=[
                ReassignableTopicResponse(
                    name=topic.name,
                    partitions=[
                        ReassignablePartitionResponse(
                            partition_index=partition.partition_index,
                            error_code=failure.code,
                            error_message=failure.message,
                        )
                        for partition in topic.partitions
                    ],
                )
                for topic in self.topics
            ],
        )


class ReassignablePartitionResponse(Message):
    """What became of one partition."""

    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")


class ReassignableTopicResponse(Message):
    """The partitions of one topic."""

    name: str = string()
    partitions: list[ReassignablePartitionResponse] = array(ReassignablePartitionResponse)


class AlterPartitionReassignmentsResponse(
    Response, api_key=ApiKey.ALTER_PARTITION_REASSIGNMENTS, versions="0-1", flexible="0+"
):
    """Which moves have begun or stopped."""

    throttle_time_ms: int = int32()
    allow_replication_factor_change: bool = boolean("1+", default=True)
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    responses: list[ReassignableTopicResponse] = array(ReassignableTopicResponse)
