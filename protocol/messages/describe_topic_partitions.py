"""DescribeTopicPartitions (75): topics in pages, with eligible leaders (KIP-966).

Flexible from v0.
"""

from protocol.api_keys import ApiKey
from protocol.model import AUTHORIZED_OPERATIONS_UNKNOWN
from protocol.schema.fields import array, boolean, int16, int32, string, struct, uuid
from protocol.schema.message import Failure, Message, Request, Response


class TopicRequest(Message):
    """A topic asked for."""

    name: str = string()


class Cursor(Message):
    """The first topic and partition of a page."""

    topic_name: str = string()
    partition_index: int = int32()


class DescribeTopicPartitionsRequest(
    Request, api_key=ApiKey.DESCRIBE_TOPIC_PARTITIONS, versions="0", flexible="0+"
):
    """Which topics (none named: all), how many partitions at most, and from where on."""

    topics: list[TopicRequest] = array(TopicRequest)
    response_partition_limit: int = int32(default=2000)
    cursor: Cursor | None = struct(Cursor, nullable="0+")

    def refusal(self, failure: Failure) -> "DescribeTopicPartitionsResponse":
        """The code for each topic named."""
        return DescribeTopicPartitionsResponse(
            topics=[
                DescribeTopicPartitionsResponseTopic(name=topic.name, error_code=failure.code)
                for topic in self.topics
            ]
        )


class DescribeTopicPartitionsResponsePartition(Message):
    """One partition."""

    error_code: int = int16()
    partition_index: int = int32()
    leader_id: int = int32()
    leader_epoch: int = int32(default=-1)
    replica_nodes: list[int] = array(int32)
    isr_nodes: list[int] = array(int32)
    eligible_leader_replicas: list[int] | None = array(int32, nullable="0+", default=None)
    last_known_elr: list[int] | None = array(int32, nullable="0+", default=None)
    offline_replicas: list[int] = array(int32)


class DescribeTopicPartitionsResponseTopic(Message):
    """One topic, or the part of it that fits the page."""

    error_code: int = int16()
    name: str | None = string(nullable="0+")
    topic_id: bytes = uuid()
    is_internal: bool = boolean()
    partitions: list[DescribeTopicPartitionsResponsePartition] = array(
        DescribeTopicPartitionsResponsePartition
    )
    topic_authorized_operations: int = int32(default=AUTHORIZED_OPERATIONS_UNKNOWN)


class DescribeTopicPartitionsResponse(
    Response, api_key=ApiKey.DESCRIBE_TOPIC_PARTITIONS, versions="0", flexible="0+"
):
    """A page, and where the next one begins: null after the last."""

    throttle_time_ms: int = int32()
    topics: list[DescribeTopicPartitionsResponseTopic] = array(DescribeTopicPartitionsResponseTopic)
    next_cursor: Cursor | None = struct(Cursor, nullable="0+")
