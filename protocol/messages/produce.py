"""Produce (0): append record batches.

v3 magic 2 batches and the transactional id (KIP-98), v5 the log start offset in the answer, v7 zstd
batches (KIP-110), v8 errors of single records (KIP-467), v9 flexible, v10 the new leader beside
NOT_LEADER_OR_FOLLOWER (KIP-951), v11 producers that know TRANSACTION_ABORTABLE (KIP-890), v12
partitions join the transaction without being asked to, v13 topic ids in place of names (KIP-516).
v0-2 are told by ApiVersions, because librdkafka reads support of compression types from them
(KAFKA-18659), but not served: they would need message formats 0 and 1.
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, int16, int32, int64, records_, string, struct, uuid
from protocol.schema.message import Failure, Message, Request, Response


class PartitionProduceData(Message):
    """The batches for one partition."""

    index: int = int32()
    records: memoryview | None = records_(nullable="0+")


class TopicProduceData(Message):
    """The batches for one topic: named up to v12, by id from v13."""

    name: str = string("0-12")
    topic_id: bytes = uuid("13+")
    partition_data: list[PartitionProduceData] = array(PartitionProduceData)


class ProduceRequest(
    Request, api_key=ApiKey.PRODUCE, versions="3-13", flexible="9+", advertised_from=0
):
    """Batches, how many replicas must have them before the answer, and how long that may take.

    With acks=0 no answer is sent at all.
    """

    transactional_id: str | None = string("3+", nullable="3+", default=None)
    acks: int = int16()
    timeout_ms: int = int32()
    topic_data: list[TopicProduceData] = array(TopicProduceData)

    def refusal(self, failure: Failure) -> "ProduceResponse | None":
        """The code for each partition; no answer where acks=0 wants none."""
        if self.acks == 0:
            return None
        return ProduceResponse(
            responses=[
                TopicProduceResponse(
                    name=topic.name,
                    topic_id=topic.topic_id,
                    partition_responses=[
                        PartitionProduceResponse(
                            index=partition.index,
                            error_code=failure.code,
                            error_message=failure.message,
                        )
                        for partition in topic.partition_data
                    ],
                )
                for topic in self.topic_data
            ]
        )


class BatchIndexAndErrorMessage(Message):
    """A record for which its batch was refused."""

    batch_index: int = int32("8+")
    batch_index_error_message: str | None = string("8+", nullable="8+", default=None)


class LeaderIdAndEpoch(Message):
    """Who leads the partition now, as far as this broker knows."""

    leader_id: int = int32("10+", default=-1)
    leader_epoch: int = int32("10+", default=-1)


class PartitionProduceResponse(Message):
    """Where a partition's batch went, or why it was refused."""

    index: int = int32()
    error_code: int = int16()
    base_offset: int = int64(default=-1)
    log_append_time_ms: int = int64("2+", default=-1)
    log_start_offset: int = int64("5+", default=-1)
    record_errors: list[BatchIndexAndErrorMessage] = array(BatchIndexAndErrorMessage, "8+")
    error_message: str | None = string("8+", nullable="8+", default=None)
    current_leader: LeaderIdAndEpoch | None = struct(LeaderIdAndEpoch, "10+", tag=0)


class TopicProduceResponse(Message):
    """The partitions of one topic."""

    name: str = string("0-12")
    topic_id: bytes = uuid("13+")
    partition_responses: list[PartitionProduceResponse] = array(PartitionProduceResponse)


class NodeEndpoint(Message):
    """Where to reach a leader named in the answer."""

    node_id: int = int32("10+")
    host: str = string("10+")
    port: int = int32("10+")
    rack: str | None = string("10+", nullable="10+", default=None)


class ProduceResponse(Response, api_key=ApiKey.PRODUCE, versions="3-13", flexible="9+"):
    """What became of each partition's batch."""

    responses: list[TopicProduceResponse] = array(TopicProduceResponse)
    throttle_time_ms: int = int32("1+")
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, "10+", tag=0)
