"""DeleteGroups (42): delete groups without members, with their offsets (KIP-229).

v1 the answer comes before the client is throttled, v2 flexible.
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, int16, int32, string
from protocol.schema.message import Failure, Message, Request, Response


class DeleteGroupsRequest(Request, api_key=ApiKey.DELETE_GROUPS, versions="0-2", flexible="2+"):
    """The groups to delete."""

    groups_names: list[str] = array(string)

    def refusal(self, failure: Failure) -> "DeleteGroupsResponse":
        """The code for each group."""
        return DeleteGroupsResponse(
            results=[
                DeletableGroupResult(group_id=group_id, error_code=failure.code)
                for group_id in self.groups_names
            ]
        )


class DeletableGroupResult(Message):
    """What became of one group."""

    group_id: str = string()
    error_code: int = int16()


class DeleteGroupsResponse(Response, api_key=ApiKey.DELETE_GROUPS, versions="0-2", flexible="2+"):
    """What became of each group."""

    throttle_time_ms: int = int32()
    results: list[DeletableGroupResult] = array(DeletableGroupResult)
