"""ListOffsets (2): the offset at a time, or at one of the places `SpecialTimestamp` names.

v1 one offset a partition with its timestamp, v2 isolation level and throttle time, v4 leader epochs
(KIP-320), v5 OFFSET_NOT_AVAILABLE, v6 flexible, v7 the largest timestamp (KIP-734), v8 the local
log's start (KIP-405), v9 the last tiered offset (KIP-1005), v10 a timeout for lookups in remote
storage (KIP-1075), v11 the earliest offset not uploaded yet (KIP-1023).
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, int8, int16, int32, int64, string
from protocol.schema.message import Failure, Message, Request, Response


class ListOffsetsPartition(Message):
    """The time or place asked for in one partition."""

    partition_index: int = int32()
    current_leader_epoch: int = int32("4+", default=-1)
    timestamp: int = int64()


class ListOffsetsTopic(Message):
    """The partitions of one topic."""

    name: str = string()
    partitions: list[ListOffsetsPartition] = array(ListOffsetsPartition)


class ListOffsetsRequest(Request, api_key=ApiKey.LIST_OFFSETS, versions="1-11", flexible="6+"):
    """Which offsets are asked, and by whom: replica id -1 is a consumer."""

    replica_id: int = int32(default=-1)
    isolation_level: int = int8("2+")
    topics: list[ListOffsetsTopic] = array(ListOffsetsTopic)
    timeout_ms: int = int32("10+")

    def refusal(self, failure: Failure) -> "ListOffsetsResponse":
        """The code for each partition."""
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=[
                        ListOffsetsPartitionResponse(
                            partition_index=partition.partition_index, error_code=failure.code
                        )
                        for partition in topic.partitions
                    ],
                )
                for topic in self.topics
            ]
        )


class ListOffsetsPartitionResponse(Message):
    """The offset found in one partition; -1 where none was."""

    partition_index: int = int32()
    error_code: int = int16()
    timestamp: int = int64(default=-1)
    offset: int = int64(default=-1)
    leader_epoch: int = int32("4+", default=-1)


class ListOffsetsTopicResponse(Message):
    """The partitions of one topic."""

    name: str = string()
    partitions: list[ListOffsetsPartitionResponse] = array(ListOffsetsPartitionResponse)


class ListOffsetsResponse(Response, api_key=ApiKey.LIST_OFFSETS, versions="1-11", flexible="6+"):
    """The offsets found."""

    throttle_time_ms: int = int32("2+")
    topics: list[ListOffsetsTopicResponse] = array(ListOffsetsTopicResponse)
