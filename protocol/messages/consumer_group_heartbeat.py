"""ConsumerGroupHeartbeat (68): all that a member of a consumer group says and is told (KIP-848).

One API joins, keeps alive, reports, assigns and leaves. v1 regular expressions, and a member makes
its id itself (KIP-1082). Flexible from v0.
"""

from typing import Final

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, int16, int32, string, struct, uuid
from protocol.schema.message import Failure, Message, Request, Response

JOIN_EPOCH: Final = 0
"""Member epoch that joins, or joins again."""
LEAVE_EPOCH: Final = -1
"""Member epoch that leaves for good."""
LEAVE_FOR_A_WHILE_EPOCH: Final = -2
"""Member epoch with which a static member leaves, but keeps its place until its session ends."""


class TopicPartitions(Message):
    """Partitions of one topic."""

    topic_id: bytes = uuid()
    partitions: list[int] = array(int32)


class ConsumerGroupHeartbeatRequest(
    Request, api_key=ApiKey.CONSUMER_GROUP_HEARTBEAT, versions="0-1", flexible="0+"
):
    """What a member wants and owns; null, or -1 for the timeout, says "as before"."""

    group_id: str = string()
    member_id: str = string()
    member_epoch: int = int32()
    instance_id: str | None = string(nullable="0+", default=None)
    rack_id: str | None = string(nullable="0+", default=None)
    rebalance_timeout_ms: int = int32(default=-1)
    subscribed_topic_names: list[str] | None = array(string, nullable="0+", default=None)
    subscribed_topic_regex: str | None = string("1+", nullable="1+", default=None, ignorable=False)
    server_assignor: str | None = string(nullable="0+", default=None)
    topic_partitions: list[TopicPartitions] | None = array(
        TopicPartitions, nullable="0+", default=None
    )

    def refusal(self, failure: Failure) -> "ConsumerGroupHeartbeatResponse":
        """The code and the message at the top; nothing else."""
        return ConsumerGroupHeartbeatResponse(
            error_code=failure.code, error_message=failure.message
        )


class Assignment(Message):
    """All partitions that the member may use now."""

    topic_partitions: list[TopicPartitions] = array(TopicPartitions)


class ConsumerGroupHeartbeatResponse(
    Response, api_key=ApiKey.CONSUMER_GROUP_HEARTBEAT, versions="0-1", flexible="0+"
):
    """The epoch to go on with; an assignment that is null is "as before"."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    member_id: str | None = string(nullable="0+", default=None)
    member_epoch: int = int32()
    heartbeat_interval_ms: int = int32()
    assignment: Assignment | None = struct(Assignment, nullable="0+")
