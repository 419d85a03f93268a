"""OffsetCommit (8): remember how far a group has read.

v3 throttle time, v4 the answer comes before the client is throttled, v5 no retention of its own,
the broker's setting alone counts (KIP-211), v6 leader epochs (KIP-320), v7 static members
(KIP-345), v8 flexible, v9 members of consumer groups, with STALE_MEMBER_EPOCH and
GROUP_ID_NOT_FOUND (KIP-848), v10 topic ids in place of names. v0-1 ended with Kafka 4.0.
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, int16, int32, int64, string, uuid
from protocol.schema.message import Failure, Message, Request, Response


class OffsetCommitRequestPartition(Message):
    """The next offset to read, and a word of the client's own."""

    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32("6+", default=-1)
    committed_metadata: str | None = string(nullable="0+")


class OffsetCommitRequestTopic(Message):
    """The partitions of one topic: named up to v9, by id from v10."""

    name: str = string("0-9")
    topic_id: bytes = uuid("10+")
    partitions: list[OffsetCommitRequestPartition] = array(OffsetCommitRequestPartition)


class OffsetCommitRequest(Request, api_key=ApiKey.OFFSET_COMMIT, versions="2-10", flexible="8+"):
    """Offsets of a group, and the member that commits: generation -1 and no id is none."""

    group_id: str = string()
    generation_id_or_member_epoch: int = int32("1+", default=-1)
    member_id: str = string("1+")
    group_instance_id: str | None = string("7+", nullable="7+", default=None, ignorable=False)
    retention_time_ms: int = int64("2-4", default=-1)
    topics: list[OffsetCommitRequestTopic] = array(OffsetCommitRequestTopic)

    def refusal(self, failure: Failure) -> "OffsetCommitResponse":
        """The code for each partition."""
        return OffsetCommitResponse(
            topics=[
                OffsetCommitResponseTopic(
                    name=topic.name,
                    topic_id=topic.topic_id,
                    partitions=[
                        OffsetCommitResponsePartition(
                            partition_index=partition.partition_index, error_code=failure.code
                        )
                        for partition in topic.partitions
                    ],
                )
                for topic in self.topics
            ]
        )


class OffsetCommitResponsePartition(Message):
    """What became of one partition's offset."""

    partition_index: int = int32()
    error_code: int = int16()


class OffsetCommitResponseTopic(Message):
    """The partitions of one topic."""

    name: str = string("0-9")
    topic_id: bytes = uuid("10+")
    partitions: list[OffsetCommitResponsePartition] = array(OffsetCommitResponsePartition)


class OffsetCommitResponse(Response, api_key=ApiKey.OFFSET_COMMIT, versions="2-10", flexible="8+"):
    """What became of each offset; there is no code for the whole."""

    throttle_time_ms: int = int32("3+")
    topics: list[OffsetCommitResponseTopic] = array(OffsetCommitResponseTopic)
