"""TxnOffsetCommit (28): offsets of a group that count once the transaction commits (KIP-98).

v1 the answer comes before the client is throttled, v2 leader epochs (KIP-320), v3 flexible, with
the member that commits, so that a zombie is fenced by its group (KIP-447); v4
TRANSACTION_ABORTABLE, v5 the group's offsets join the transaction without being asked to (KIP-890).
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, int16, int32, int64, string
from protocol.schema.message import Failure, Message, Request, Response


class TxnOffsetCommitRequestPartition(Message):
    """The next offset to read, and a word of the client's own."""

    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32("2+", default=-1)
    committed_metadata: str | None = string(nullable="0+")


class TxnOffsetCommitRequestTopic(Message):
    """The partitions of one topic."""

    name: str = string()
    partitions: list[TxnOffsetCommitRequestPartition] = array(TxnOffsetCommitRequestPartition)


class TxnOffsetCommitRequest(
    Request, api_key=ApiKey.TXN_OFFSET_COMMIT, versions="0-5", flexible="3+"
):
    """Offsets, the transaction they are part of, and the member: generation -1 is none."""

    transactional_id: str = string()
    group_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    generation_id: int = int32("3+", default=-1, ignorable=False)
    member_id: str = string("3+", ignorable=False)
    group_instance_id: str | None = string("3+", nullable="3+", default=None, ignorable=False)
    topics: list[TxnOffsetCommitRequestTopic] = array(TxnOffsetCommitRequestTopic)

    def refusal(self, failure: Failure) -> "TxnOffsetCommitResponse":
        """The code for each partition."""
        return TxnOffsetCommitResponse(
            topics=[
                TxnOffsetCommitResponseTopic(
                    name=topic.name,
                    partitions=[
                        TxnOffsetCommitResponsePartition(
                            partition_index=partition.partition_index, error_code=failure.code
                        )
                        for partition in topic.partitions
                    ],
                )
                for topic in self.topics
            ]
        )


class TxnOffsetCommitResponsePartition(Message):
    """What became of one partition's offset."""

    partition_index: int = int32()
    error_code: int = int16()


class TxnOffsetCommitResponseTopic(Message):
    """The partitions of one topic."""

    name: str = string()
    partitions: list[TxnOffsetCommitResponsePartition] = array(TxnOffsetCommitResponsePartition)


class TxnOffsetCommitResponse(
    Response, api_key=ApiKey.TXN_OFFSET_COMMIT, versions="0-5", flexible="3+"
):
    """What became of each offset."""

    throttle_time_ms: int = int32()
    topics: list[TxnOffsetCommitResponseTopic] = array(TxnOffsetCommitResponseTopic)
