"""ListGroups (16): the groups this broker coordinates.

v1 throttle time, v2 the answer comes before the client is throttled, v3 flexible, v4 states, to
tell and to filter by (KIP-518), v5 types likewise (KIP-848).
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, int16, int32, string
from protocol.schema.message import Failure, Message, Request, Response


class ListGroupsRequest(Request, api_key=ApiKey.LIST_GROUPS, versions="0-5", flexible="3+"):
    """States and types of interest; no filter lets all pass."""

    states_filter: list[str] = array(string, "4+", ignorable=False)
    types_filter: list[str] = array(string, "5+", ignorable=False)

    def refusal(self, failure: Failure) -> "ListGroupsResponse":
        """The code at the top; no groups."""
        return ListGroupsResponse(error_code=failure.code)


class ListedGroup(Message):
    """One group; one that only has offsets is of no protocol type."""

    group_id: str = string()
    protocol_type: str = string()
    group_state: str = string("4+")
    group_type: str = string("5+")


class ListGroupsResponse(Response, api_key=ApiKey.LIST_GROUPS, versions="0-5", flexible="3+"):
    """The groups."""

    throttle_time_ms: int = int32("1+")
    error_code: int = int16()
    groups: list[ListedGroup] = array(ListedGroup)
