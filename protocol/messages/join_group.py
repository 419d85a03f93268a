"""JoinGroup (11): become a member of a classic group, and wait for the others.

v1 a rebalance timeout of its own (KIP-62; before, the session's), v2 throttle time, v3 the answer
comes before the client is throttled, v4 a new member is first given an id, MEMBER_ID_REQUIRED, to
come back with (KIP-394), v5 static members (KIP-345), v6 flexible, v7 the answer names the protocol
type, and may name no protocol (KIP-559), v8 the reason (KIP-800), v9 a leader may be told not to
assign (KIP-814). v0-1 left Kafka with 4.0 and came back with 4.1, for librdkafka (KAFKA-19444).
"""

from typing import Final

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, boolean, bytes_, int16, int32, string
from protocol.schema.message import Failure, Message, Request, Response

FIRST_VERSION_WITH_NULL_PROTOCOL: Final = 7


class JoinGroupRequestProtocol(Message):
    """A way to assign that the member can do, and what an assignor of that name needs to know."""

    name: str = string()
    metadata: bytes = bytes_()


class JoinGroupRequest(Request, api_key=ApiKey.JOIN_GROUP, versions="0-9", flexible="6+"):
    """Who joins, its timeouts, and its protocols, the one it likes best first."""

    group_id: str = string()
    session_timeout_ms: int = int32()
    rebalance_timeout_ms: int = int32("1+", default=-1)
    member_id: str = string()
    group_instance_id: str | None = string("5+", nullable="5+", default=None, ignorable=False)
    protocol_type: str = string()
    protocols: list[JoinGroupRequestProtocol] = array(JoinGroupRequestProtocol)
    reason: str | None = string("8+", nullable="8+", default=None)

    def refusal(self, failure: Failure) -> "JoinGroupResponse":
        """The code at the top; no generation, no protocol, no members."""
        may_be_null = failure.version >= FIRST_VERSION_WITH_NULL_PROTOCOL
        return JoinGroupResponse(error_code=failure.code, protocol_name=None if may_be_null else "")


class JoinGroupResponseMember(Message):
    """A member, as the leader has to know it."""

    member_id: str = string()
    group_instance_id: str | None = string("5+", nullable="5+", default=None)
    metadata: bytes = bytes_()


class JoinGroupResponse(Response, api_key=ApiKey.JOIN_GROUP, versions="0-9", flexible="6+"):
    """The new generation; only the leader is told the members."""

    throttle_time_ms: int = int32("2+")
    error_code: int = int16()
    generation_id: int = int32(default=-1)
    protocol_type: str | None = string("7+", nullable="7+", default=None)
    protocol_name: str | None = string(nullable="7+")
    leader: str = string()
    skip_assignment: bool = boolean("9+", ignorable=False)
    member_id: str = string()
    members: list[JoinGroupResponseMember] = array(JoinGroupResponseMember)
