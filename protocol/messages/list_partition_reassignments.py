"""ListPartitionReassignments (46): which partitions are on the move (KIP-455).

Flexible from v0.
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, int16, int32, string
from protocol.schema.message import Failure, Message, Request, Response


class ListPartitionReassignmentsTopics(Message):
    """Partitions of interest of one topic."""

    name: str = string()
    partition_indexes: list[int] = array(int32)


class ListPartitionReassignmentsRequest(
    Request, api_key=ApiKey.LIST_PARTITION_REASSIGNMENTS, versions="0", flexible="0+"
):
    """Which partitions are of interest: null for all."""

    timeout_ms: int = int32(default=60000)
    topics: list[ListPartitionReassignmentsTopics] | None = array(
        ListPartitionReassignmentsTopics, nullable="0+", default=None
    )

    def refusal(self, failure: Failure) -> "ListPartitionReassignmentsResponse":
        """The code and the message at the top; no partitions."""
        return ListPartitionReassignmentsResponse(
            error_code=failure.code, error_message=failure.message
        )


class OngoingPartitionReassignment(Message):
    """A partition on the move: all its replicas, those it gains, and those it loses."""

    partition_index: int = int32()
    replicas: list[int] = array(int32)
    adding_replicas: list[int] = array(int32)
    removing_replicas: list[int] = array(int32)


class OngoingTopicReassignment(Message):
    """The partitions of one topic."""

    name: str = string()
    partitions: list[OngoingPartitionReassignment] = array(OngoingPartitionReassignment)


class ListPartitionReassignmentsResponse(
    Response, api_key=ApiKey.LIST_PARTITION_REASSIGNMENTS, versions="0", flexible="0+"
):
    """The moves that go on."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    topics: list[OngoingTopicReassignment] = array(OngoingTopicReassignment)
