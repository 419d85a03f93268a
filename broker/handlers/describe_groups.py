"""DescribeGroups (15): state and members of classic groups, each with its own error."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from broker.context import Parked, RequestContext
from broker.coordinator.group.coordinator import GroupCoordinator
from broker.coordinator.parked_reply import Gathering, ParkedReply
from protocol.errors import ErrorCode
from protocol.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

GROUP_OPERATIONS: Final = 3400
"""Read, delete, describe, and both for configs: with no authorizer, all."""


def handle_describe_groups(
    context: RequestContext, request: DescribeGroupsRequest, *, groups: GroupCoordinator
) -> Parked:
    """Ask for each group, and answer all at once."""

    def answered(described: Sequence[DescribedGroup]) -> DescribeGroupsResponse:
        if request.include_authorized_operations:
            for group in described:
                if not group.error_code:
                    group.authorized_operations = GROUP_OPERATIONS
        return DescribeGroupsResponse(groups=list(described))

    reply: ParkedReply[list[DescribedGroup]] = ParkedReply(
        answered, lambda _: DescribeGroupsResponse()
    )
    gathering: Gathering[DescribedGroup] = Gathering(reply, len(request.groups))
    for index, group_id in enumerate(request.groups):
        groups.describe(
            group_id, context.api_version, gathering.part(index, partial(_refused, group_id))
        )
    return reply.parked


def _refused(group_id: str, code: ErrorCode) -> DescribedGroup:
    return DescribedGroup(group_id=group_id, error_code=code)
