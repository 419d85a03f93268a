"""Heartbeat (12): a member of a classic group lives, and learns whether to join again.

v1 throttle time, v2 the answer comes before the client is throttled, v3 static members (KIP-345),
v4 flexible.
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import int16, int32, string
from protocol.schema.message import Failure, Request, Response


class HeartbeatRequest(Request, api_key=ApiKey.HEARTBEAT, versions="0-4", flexible="4+"):
    """Which member, of which generation."""

    group_id: str = string()
    generation_id: int = int32()
    member_id: str = string()
    group_instance_id: str | None = string("3+", nullable="3+", default=None, ignorable=False)

    def refusal(self, failure: Failure) -> "HeartbeatResponse":
        """The code at the top."""
        return HeartbeatResponse(error_code=failure.code)


class HeartbeatResponse(Response, api_key=ApiKey.HEARTBEAT, versions="0-4", flexible="4+"):
    """REBALANCE_IN_PROGRESS asks the member to join again."""

    throttle_time_ms: int = int32("1+")
    error_code: int = int16()
