"""LeaveGroup (13): members leave a group.

v1 throttle time, v2 the answer comes before the client is throttled, v3 many members at once, named
by their instance ids too (KIP-345), v4 flexible, v5 the reason (KIP-800).

One member and many are the same thing said twice: `leaving` and `LeaveGroupResponse.telling` turn
v0-2 into lists of one.
"""

from collections.abc import Sequence
from typing import Final

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, int16, int32, string
from protocol.schema.message import Failure, Message, Request, Response

FIRST_VERSION_WITH_MEMBERS: Final = 3


class MemberIdentity(Message):
    """A member that leaves; one named by its instance id may have no member id."""

    member_id: str = string("3+")
    group_instance_id: str | None = string("3+", nullable="3+", default=None)
    reason: str | None = string("5+", nullable="5+", default=None)


class LeaveGroupRequest(Request, api_key=ApiKey.LEAVE_GROUP, versions="0-5", flexible="4+"):
    """Who leaves which group."""

    group_id: str = string()
    member_id: str = string("0-2", ignorable=False)
    members: list[MemberIdentity] = array(MemberIdentity, "3+", ignorable=False)

    def leaving(self, version: int) -> list[MemberIdentity]:
        """The members, whichever way `version` names them."""
        if version >= FIRST_VERSION_WITH_MEMBERS:
            return self.members
        return [MemberIdentity(member_id=self.member_id)]

    def refusal(self, failure: Failure) -> "LeaveGroupResponse":
        """The code at the top; no members."""
        return LeaveGroupResponse(error_code=failure.code)


class MemberResponse(Message):
    """What became of one member."""

    member_id: str = string("3+")
    group_instance_id: str | None = string("3+", nullable="3+")
    error_code: int = int16("3+")


class LeaveGroupResponse(Response, api_key=ApiKey.LEAVE_GROUP, versions="0-5", flexible="4+"):
    """What became of each member."""

    throttle_time_ms: int = int32("1+")
    error_code: int = int16()
    members: list[MemberResponse] = array(MemberResponse, "3+", ignorable=False)

    @classmethod
    def telling(cls, version: int, members: Sequence[MemberResponse]) -> "LeaveGroupResponse":
        """The answer for these members; exactly one of them below v3."""
        if version >= FIRST_VERSION_WITH_MEMBERS:
            return cls(members=list(members))
        (member,) = members
        return cls(error_code=member.error_code)
