"""ConsumerGroupDescribe (69): state, epochs and members of consumer groups (KIP-848).

v1 tells members of the consumer protocol from those of the classic one (KIP-1099). Flexible from
v0.
"""

import enum

from protocol.api_keys import ApiKey
from protocol.model import AUTHORIZED_OPERATIONS_UNKNOWN
from protocol.schema.fields import array, boolean, int8, int16, int32, string, struct, uuid
from protocol.schema.message import Failure, Message, Request, Response


class MemberType(enum.IntEnum):
    """The protocol a member speaks."""

    UNKNOWN = -1
    CLASSIC = 0
    CONSUMER = 1


class ConsumerGroupDescribeRequest(
    Request, api_key=ApiKey.CONSUMER_GROUP_DESCRIBE, versions="0-1", flexible="0+"
):
    """Which groups to describe."""

    group_ids: list[str] = array(string)
    include_authorized_operations: bool = boolean()

    def refusal(self, failure: Failure) -> "ConsumerGroupDescribeResponse":
        """The code and the message for each group."""
        return ConsumerGroupDescribeResponse(
            groups=[
                DescribedGroup(
                    group_id=group_id, error_code=failure.code, error_message=failure.message
                )
                for group_id in self.group_ids
            ]
        )


class TopicPartitions(Message):
    """Partitions of one topic."""

    topic_id: bytes = uuid()
    topic_name: str = string()
    partitions: list[int] = array(int32)


class Assignment(Message):
    """Partitions a member has, or is to have."""

    topic_partitions: list[TopicPartitions] = array(TopicPartitions)


class Member(Message):
    """One member (`MemberType`)."""

    member_id: str = string()
    instance_id: str | None = string(nullable="0+", default=None)
    rack_id: str | None = string(nullable="0+", default=None)
    member_epoch: int = int32()
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = array(string)
    subscribed_topic_regex: str | None = string(nullable="0+", default=None)
    assignment: Assignment = struct(Assignment)
    target_assignment: Assignment = struct(Assignment)
    member_type: int = int8("1+", default=MemberType.UNKNOWN.value)


class DescribedGroup(Message):
    """One group."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    group_id: str = string()
    group_state: str = string()
    group_epoch: int = int32()
    assignment_epoch: int = int32()
    assignor_name: str = string()
    members: list[Member] = array(Member)
    authorized_operations: int = int32(default=AUTHORIZED_OPERATIONS_UNKNOWN)


class ConsumerGroupDescribeResponse(
    Response, api_key=ApiKey.CONSUMER_GROUP_DESCRIBE, versions="0-1", flexible="0+"
):
    """Each group asked for."""

    throttle_time_ms: int = int32()
    groups: list[DescribedGroup] = array(DescribedGroup)
