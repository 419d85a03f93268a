"""OffsetForLeaderEpoch (23): where a leader epoch ends, for those who look for a divergence.

v2 fencing by the current leader epoch (KIP-320), v3 the replica that asks: -1 a consumer, -2 one
whose version could not say, v4 flexible.
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, int16, int32, int64, string
from protocol.schema.message import Failure, Message, Request, Response


class OffsetForLeaderPartition(Message):
    """The epoch asked for in one partition."""

    partition: int = int32()
    current_leader_epoch: int = int32("2+", default=-1)
    leader_epoch: int = int32()


class OffsetForLeaderTopic(Message):
    """The partitions of one topic."""

    topic: str = string()
    partitions: list[OffsetForLeaderPartition] = array(OffsetForLeaderPartition)


class OffsetForLeaderEpochRequest(
    Request, api_key=ApiKey.OFFSET_FOR_LEADER_EPOCH, versions="2-4", flexible="4+"
):
    """The epochs whose end is asked."""

    replica_id: int = int32("3+", default=-2)
    topics: list[OffsetForLeaderTopic] = array(OffsetForLeaderTopic)

    def refusal(self, failure: Failure) -> "OffsetForLeaderEpochResponse":
        """The code for each partition."""
        return OffsetForLeaderEpochResponse(
            topics=[
                OffsetForLeaderTopicResult(
                    topic=topic.topic,
                    partitions=[
                        EpochEndOffset(partition=partition.partition, error_code=failure.code)
                        for partition in topic.partitions
                    ],
                )
                for topic in self.topics
            ]
        )


class EpochEndOffset(Message):
    """The largest epoch not above the one asked, and the offset behind its last record."""

    error_code: int = int16()
    partition: int = int32()
    leader_epoch: int = int32("1+", default=-1)
    end_offset: int = int64(default=-1)


class OffsetForLeaderTopicResult(Message):
    """The partitions of one topic."""

    topic: str = string()
    partitions: list[EpochEndOffset] = array(EpochEndOffset)


class OffsetForLeaderEpochResponse(
    Response, api_key=ApiKey.OFFSET_FOR_LEADER_EPOCH, versions="2-4", flexible="4+"
):
    """The ends of the epochs."""

    throttle_time_ms: int = int32("2+")
    topics: list[OffsetForLeaderTopicResult] = array(OffsetForLeaderTopicResult)
