"""DescribeGroups (15): state and members of classic groups.

v1 throttle time, v2 the answer comes before the client is throttled, v3 authorized operations
(KIP-430), v4 static members (KIP-345), v5 flexible, v6 GROUP_ID_NOT_FOUND, with a message, where a
dead group was told before (KIP-1043).
"""

from typing import Final

from protocol.api_keys import ApiKey
from protocol.model import AUTHORIZED_OPERATIONS_UNKNOWN
from protocol.schema.fields import array, boolean, bytes_, int16, int32, string
from protocol.schema.message import Failure, Message, Request, Response

FIRST_VERSION_WITH_MESSAGE: Final = 6


class DescribeGroupsRequest(Request, api_key=ApiKey.DESCRIBE_GROUPS, versions="0-6", flexible="5+"):
    """Which groups to describe."""

    groups: list[str] = array(string)
    include_authorized_operations: bool = boolean("3+", ignorable=False)

    def refusal(self, failure: Failure) -> "DescribeGroupsResponse":
        """The code for each group."""
        has_message = failure.version >= FIRST_VERSION_WITH_MESSAGE
        return DescribeGroupsResponse(
            groups=[
                DescribedGroup(
                    group_id=group_id,
                    error_code=failure.code,
                    error_message=failure.message if has_message else None,
                )
                for group_id in self.groups
            ]
        )


class DescribedGroupMember(Message):
    """A member; its metadata and assignment are told while the group is stable."""

    member_id: str = string()
    group_instance_id: str | None = string("4+", nullable="4+", default=None)
    client_id: str = string()
    client_host: str = string()
    member_metadata: bytes = bytes_()
    member_assignment: bytes = bytes_()


class DescribedGroup(Message):
    """One group; `protocol_data` is the name of the protocol chosen."""

    error_code: int = int16()
    error_message: str | None = string("6+", nullable="6+", default=None, ignorable=False)
    group_id: str = string()
    group_state: str = string()
    protocol_type: str = string()
    protocol_data: str = string()
    members: list[DescribedGroupMember] = array(DescribedGroupMember)
    authorized_operations: int = int32("3+", default=AUTHORIZED_OPERATIONS_UNKNOWN, ignorable=False)


class DescribeGroupsResponse(
    Response, api_key=ApiKey.DESCRIBE_GROUPS, versions="0-6", flexible="5+"
):
    """Each group asked for."""

    throttle_time_ms: int = int32("1+")
    groups: list[DescribedGroup] = array(DescribedGroup)
