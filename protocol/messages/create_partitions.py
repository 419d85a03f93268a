"""CreatePartitions (37): grow topics (KIP-195).

v1 the answer comes before the client is throttled, v2 flexible, v3 refusal by quota (KIP-599).
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, boolean, int16, int32, string
from protocol.schema.message import Failure, Message, Request, Response


class CreatePartitionsAssignment(Message):
    """The brokers of one new partition, the preferred leader first."""

    broker_ids: list[int] = array(int32)


class CreatePartitionsTopic(Message):
    """A topic, the count it shall have, and where its new partitions go (null: anywhere)."""

    name: str = string()
    count: int = int32()
    assignments: list[CreatePartitionsAssignment] | None = array(
        CreatePartitionsAssignment, nullable="0+"
    )


class CreatePartitionsRequest(
    Request, api_key=ApiKey.CREATE_PARTITIONS, versions="0-3", flexible="2+"
):
    """The topics to grow, or only to check."""

    topics: list[CreatePartitionsTopic] = array(CreatePartitionsTopic)
    timeout_ms: int = int32()
    validate_only: bool = boolean()

    def refusal(self, failure: Failure) -> "CreatePartitionsResponse":
        """The code and the message for each topic."""
        return CreatePartitionsResponse(
            results=[
                CreatePartitionsTopicResult(
                    name=topic.name, error_code=failure.code, error_message=failure.message
                )
                for topic in self.topics
            ]
        )


class CreatePartitionsTopicResult(Message):
    """What became of one topic."""

    name: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)


class CreatePartitionsResponse(
    Response, api_key=ApiKey.CREATE_PARTITIONS, versions="0-3", flexible="2+"
):
    """What became of each topic."""

    throttle_time_ms: int = int32()
    results: list[CreatePartitionsTopicResult] = array(CreatePartitionsTopicResult)
