"""CreateTopics (19): create topics, or only check that they could be.

v2 throttle time, v4 counts of -1 take the broker's defaults without assignments too (KIP-464), v5
flexible, the answer tells the topic's shape and configuration (KIP-525), v6 may be refused by quota
(KIP-599), v7 the answer tells the topic id (KIP-516).
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, boolean, int8, int16, int32, string, uuid
from protocol.schema.message import Failure, Message, Request, Response


class CreatableReplicaAssignment(Message):
    """The brokers of one partition, the preferred leader first."""

    partition_index: int = int32()
    broker_ids: list[int] = array(int32)


class CreatableTopicConfig(Message):
    """A setting of the topic; a null value stands for the default."""

    name: str = string()
    value: str | None = string(nullable="0+")


class CreatableTopic(Message):
    """A topic to create: with counts, or with assignments and both counts -1."""

    name: str = string()
    num_partitions: int = int32()
    replication_factor: int = int16()
    assignments: list[CreatableReplicaAssignment] = array(CreatableReplicaAssignment)
    configs: list[CreatableTopicConfig] = array(CreatableTopicConfig)


class CreateTopicsRequest(Request, api_key=ApiKey.CREATE_TOPICS, versions="2-7", flexible="5+"):
    """The topics to create, and how long to wait until brokers know them."""

    topics: list[CreatableTopic] = array(CreatableTopic)
    timeout_ms: int = int32(default=60000)
    validate_only: bool = boolean("1+", ignorable=False)

    def refusal(self, failure: Failure) -> "CreateTopicsResponse":
        """The code and the message for each topic."""
        return CreateTopicsResponse(
            topics=[
                CreatableTopicResult(
                    name=topic.name, error_code=failure.code, error_message=failure.message
                )
                for topic in self.topics
            ]
        )


class CreatableTopicConfigs(Message):
    """A setting the new topic has, and where from (`ConfigSource`)."""

    name: str = string("5+")
    value: str | None = string("5+", nullable="5+")
    read_only: bool = boolean("5+")
    config_source: int = int8("5+", default=-1)
    is_sensitive: bool = boolean("5+")


class CreatableTopicResult(Message):
    """What became of one topic; configs are null where they must not be told."""

    name: str = string()
    topic_id: bytes = uuid("7+")
    error_code: int = int16()
    error_message: str | None = string("1+", nullable="0+", default=None)
    topic_config_error_code: int = int16("5+", tag=0)
    num_partitions: int = int32("5+", default=-1)
    replication_factor: int = int16("5+", default=-1)
    configs: list[CreatableTopicConfigs] | None = array(CreatableTopicConfigs, "5+", nullable="5+")


class CreateTopicsResponse(Response, api_key=ApiKey.CREATE_TOPICS, versions="2-7", flexible="5+"):
    """What became of each topic."""

    throttle_time_ms: int = int32("2+")
    topics: list[CreatableTopicResult] = array(CreatableTopicResult)
