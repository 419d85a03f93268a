"""Metadata (3): brokers, topics, partitions and their leaders.

v0 an empty list of topics means all; from v1 null does, and an empty list none. v1 racks, the
controller, internal topics; v2 cluster id; v3 throttle time; v4 whether to create missing topics;
v5 offline replicas (KIP-112); v7 leader epochs (KIP-320); v8 authorized operations (KIP-430); v9
flexible; v10 topic ids (KIP-516); v11 drops the cluster's authorized operations (KIP-700); v12
topics asked by id, named null in the answer when unknown; v13 an error at the top (KIP-1102).
"""

from protocol.api_keys import ApiKey
from protocol.model import AUTHORIZED_OPERATIONS_UNKNOWN
from protocol.schema.fields import array, boolean, int16, int32, string, uuid
from protocol.schema.message import Failure, Message, Request, Response


class MetadataRequestTopic(Message):
    """A topic by name, or from v10 by id with a null name."""

    topic_id: bytes = uuid("10+")
    name: str | None = string(nullable="10+")


class MetadataRequest(Request, api_key=ApiKey.METADATA, versions="0-13", flexible="9+"):
    """Which topics to describe; brokers are always told."""

    topics: list[MetadataRequestTopic] | None = array(MetadataRequestTopic, nullable="1+")
    allow_auto_topic_creation: bool = boolean("4+", default=True, ignorable=False)
    include_cluster_authorized_operations: bool = boolean("8-10")
    include_topic_authorized_operations: bool = boolean("8+")

    def refusal(self, failure: Failure) -> "MetadataResponse":
        """The code for each topic that was named, and from v13 at the top."""
        return MetadataResponse(
            error_code=failure.code,
            topics=[
                MetadataResponseTopic(
                    error_code=failure.code,
                    name=topic.name if topic.name is not None or failure.version >= 12 else "",
                    topic_id=topic.topic_id,
                )
                for topic in self.topics or ()
            ],
        )


class MetadataResponseBroker(Message):
    """A live broker, at its address on the listener that was asked."""

    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string("1+", nullable="1+", default=None)


class MetadataResponsePartition(Message):
    """One partition; leader -1 with LEADER_NOT_AVAILABLE where there is none."""

    error_code: int = int16()
    partition_index: int = int32()
    leader_id: int = int32()
    leader_epoch: int = int32("7+", default=-1)
    replica_nodes: list[int] = array(int32)
    isr_nodes: list[int] = array(int32)
    offline_replicas: list[int] = array(int32, "5+")


class MetadataResponseTopic(Message):
    """One topic; the name is null where only an unknown id is known of it."""

    error_code: int = int16()
    name: str | None = string(nullable="12+")
    topic_id: bytes = uuid("10+")
    is_internal: bool = boolean("1+")
    partitions: list[MetadataResponsePartition] = array(MetadataResponsePartition)
    topic_authorized_operations: int = int32("8+", default=AUTHORIZED_OPERATIONS_UNKNOWN)


class MetadataResponse(Response, api_key=ApiKey.METADATA, versions="0-13", flexible="9+"):
    """The cluster as this broker knows it."""

    throttle_time_ms: int = int32("3+")
    brokers: list[MetadataResponseBroker] = array(MetadataResponseBroker)
    cluster_id: str | None = string("2+", nullable="2+", default=None)
    controller_id: int = int32("1+", default=-1)
    topics: list[MetadataResponseTopic] = array(MetadataResponseTopic)
    cluster_authorized_operations: int = int32("8-10", default=AUTHORIZED_OPERATIONS_UNKNOWN)
    error_code: int = int16("13+")
