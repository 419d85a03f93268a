"""DeleteGroups (42): forget groups without members, with their offsets; errors stay with each."""

from collections.abc import Sequence
from functools import partial

from broker.context import Parked, RequestContext
from broker.coordinator.group.coordinator import GroupCoordinator
from broker.coordinator.parked_reply import Gathering, ParkedReply
from protocol.errors import ErrorCode
from protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)


def handle_delete_groups(
    _: RequestContext, request: DeleteGroupsRequest, *, groups: GroupCoordinator
) -> Parked:
    """Delete each that can be; one named twice is there but once."""
    names = list(dict.fromkeys(request.groups_names))

    def answered(codes: Sequence[ErrorCode | None]) -> DeleteGroupsResponse:
        return DeleteGroupsResponse(
            results=[
                DeletableGroupResult(group_id=name, error_code=code or ErrorCode.NONE)
                for name, code in zip(names, codes, strict=True)
            ]
        )

    reply: ParkedReply[list[ErrorCode | None]] = ParkedReply(
        answered, lambda _: DeleteGroupsResponse()
    )
    gathering: Gathering[ErrorCode | None] = Gathering(reply, len(names))
    for index, name in enumerate(names):
        groups.delete(name, gathering.part(index, partial(_code)))
    return reply.parked


def _code(code: ErrorCode) -> ErrorCode | None:
    return code
