"""SyncGroup (14): the leader of a classic group hands out assignments, the others get theirs.

v1 throttle time, v2 the answer comes before the client is throttled, v3 static members (KIP-345),
v4 flexible, v5 both sides say which protocol they mean (KIP-559).
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, bytes_, int16, int32, string
from protocol.schema.message import Failure, Message, Request, Response


class SyncGroupRequestAssignment(Message):
    """The assignment of one member."""

    member_id: str = string()
    assignment: bytes = bytes_()


class SyncGroupRequest(Request, api_key=ApiKey.SYNC_GROUP, versions="0-5", flexible="4+"):
    """Who asks, of which generation; only the leader brings assignments."""

    group_id: str = string()
    generation_id: int = int32()
    member_id: str = string()
    group_instance_id: str | None = string("3+", nullable="3+", default=None, ignorable=False)
    protocol_type: str | None = string("5+", nullable="5+", default=None)
    protocol_name: str | None = string("5+", nullable="5+", default=None)
    assignments: list[SyncGroupRequestAssignment] = array(SyncGroupRequestAssignment)

    def refusal(self, failure: Failure) -> "SyncGroupResponse":
        """The code at the top; no assignment."""
        return SyncGroupResponse(error_code=failure.code)


class SyncGroupResponse(Response, api_key=ApiKey.SYNC_GROUP, versions="0-5", flexible="4+"):
    """The assignment of the member that asks."""

    throttle_time_ms: int = int32("1+")
    error_code: int = int16()
    protocol_type: str | None = string("5+", nullable="5+", default=None)
    protocol_name: str | None = string("5+", nullable="5+", default=None)
    assignment: bytes = bytes_()
