"""DescribeQuorum (55): voters and observers of the raft quorum that holds metadata (KIP-595).

v1 when replicas fetched and caught up (KIP-836), v2 messages, directory ids and the addresses of
the voters (KIP-853). Flexible from v0.
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, int16, int32, int64, string, uint16, uuid
from protocol.schema.message import Failure, Message, Request, Response


class RequestedPartition(Message):
    """A partition of interest."""

    partition_index: int = int32()


class RequestedTopic(Message):
    """Partitions of interest of one topic; only the metadata log is a quorum's."""

    topic_name: str = string()
    partitions: list[RequestedPartition] = array(RequestedPartition)


class DescribeQuorumRequest(Request, api_key=ApiKey.DESCRIBE_QUORUM, versions="0-2", flexible="0+"):
    """Which partitions to describe."""

    topics: list[RequestedTopic] = array(RequestedTopic)

    def refusal(self, failure: Failure) -> "DescribeQuorumResponse":
        """The code, and from v2 a message, at the top; no partitions."""
        return DescribeQuorumResponse(error_code=failure.code, error_message=failure.text)


class ReplicaState(Message):
    """How far one replica is; times are ms, -1 where they are not known."""

    replica_id: int = int32()
    replica_directory_id: bytes = uuid("2+", ignorable=False)
    log_end_offset: int = int64()
    last_fetch_timestamp: int = int64("1+", default=-1)
    last_caught_up_timestamp: int = int64("1+", default=-1)


class PartitionData(Message):
    """The quorum of one partition."""

    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string("2+", nullable="2+")
    leader_id: int = int32()
    leader_epoch: int = int32()
    high_watermark: int = int64()
    current_voters: list[ReplicaState] = array(ReplicaState)
    observers: list[ReplicaState] = array(ReplicaState)


class TopicData(Message):
    """The partitions of one topic."""

    topic_name: str = string()
    partitions: list[PartitionData] = array(PartitionData)


class Listener(Message):
    """An address of a voter."""

    name: str = string("2+")
    host: str = string("2+")
    port: int = uint16("2+")


class Node(Message):
    """Where to reach a voter."""

    node_id: int = int32("2+")
    listeners: list[Listener] = array(Listener, "2+")


class DescribeQuorumResponse(
    Response, api_key=ApiKey.DESCRIBE_QUORUM, versions="0-2", flexible="0+"
):
    """The quorum of each partition."""

    error_code: int = int16()
    error_message: str | None = string("2+", nullable="2+")
    topics: list[TopicData] = array(TopicData)
    nodes: list[Node] = array(Node, "2+", ignorable=False)
