"""OffsetDelete (47): forget offsets of a group, in topics it does not subscribe to (KIP-496)."""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, int16, int32, string
from protocol.schema.message import Failure, Message, Request, Response


class OffsetDeleteRequestPartition(Message):
    """A partition whose offset is to go."""

    partition_index: int = int32()


class OffsetDeleteRequestTopic(Message):
    """The partitions of one topic."""

    name: str = string()
    partitions: list[OffsetDeleteRequestPartition] = array(OffsetDeleteRequestPartition)


class OffsetDeleteRequest(Request, api_key=ApiKey.OFFSET_DELETE, versions="0"):
    """The group, and the partitions to forget."""

    group_id: str = string()
    topics: list[OffsetDeleteRequestTopic] = array(OffsetDeleteRequestTopic)

    def refusal(self, failure: Failure) -> "OffsetDeleteResponse":
        """The code at the top; no partitions."""
        return OffsetDeleteResponse(error_code=failure.code)


class OffsetDeleteResponsePartition(Message):
    """What became of one partition's offset."""

    partition_index: int = int32()
    error_code: int = int16()


class OffsetDeleteResponseTopic(Message):
    """The partitions of one topic."""

    name: str = string()
    partitions: list[OffsetDeleteResponsePartition] = array(OffsetDeleteResponsePartition)


class OffsetDeleteResponse(Response, api_key=ApiKey.OFFSET_DELETE, versions="0"):
    """What became of each offset; the code at the top is of the group."""

    error_code: int = int16()
    throttle_time_ms: int = int32()
    topics: list[OffsetDeleteResponseTopic] = array(OffsetDeleteResponseTopic)
