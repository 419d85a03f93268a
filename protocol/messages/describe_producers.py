"""DescribeProducers (61): who writes to partitions, and in which transaction (KIP-664).

Flexible from v0.
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, int16, int32, int64, string
from protocol.schema.message import Failure, Message, Request, Response


class TopicRequest(Message):
    """The partitions of one topic."""

    name: str = string()
    partition_indexes: list[int] = array(int32)


class DescribeProducersRequest(
    Request, api_key=ApiKey.DESCRIBE_PRODUCERS, versions="0", flexible="0+"
):
    """Which partitions to look at."""

    topics: list[TopicRequest] = array(TopicRequest)

    def refusal(self, failure: Failure) -> "DescribeProducersResponse":
        """The code for each partition."""
        return DescribeProducersResponse(
            topics=[
                TopicResponse(
                    name=topic.name,
                    partitions=[
                        PartitionResponse(
                            partition_index=index,
                            error_code=failure.code,
                            error_message=failure.message,
                        )
                        for index in topic.partition_indexes
                    ],
                )
                for topic in self.topics
            ]
        )


class ProducerState(Message):
    """A producer id the partition remembers; start offset -1 outside of transactions."""

    producer_id: int = int64()
    producer_epoch: int = int32()
    last_sequence: int = int32(default=-1)
    last_timestamp: int = int64(default=-1)
    coordinator_epoch: int = int32()
    current_txn_start_offset: int = int64(default=-1)


class PartitionResponse(Message):
    """The producers of one partition."""

    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    active_producers: list[ProducerState] = array(ProducerState)


class TopicResponse(Message):
    """The partitions of one topic."""

    name: str = string()
    partitions: list[PartitionResponse] = array(PartitionResponse)


class DescribeProducersResponse(
    Response, api_key=ApiKey.DESCRIBE_PRODUCERS, versions="0", flexible="0+"
):
    """The producers of each partition."""

    throttle_time_ms: int = int32()
    topics: list[TopicResponse] = array(TopicResponse)
