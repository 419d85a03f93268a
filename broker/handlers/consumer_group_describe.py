"""ConsumerGroupDescribe (69): state, epochs and members of consumer groups, each with its error."""

from collections.abc import Sequence
from functools import partial

from broker.context import Parked, RequestContext
from broker.coordinator.group.coordinator import GroupCoordinator
from broker.coordinator.parked_reply import Gathering, ParkedReply
from broker.handlers.describe_groups import GROUP_OPERATIONS
from protocol.errors import ErrorCode
from protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)


def handle_consumer_group_describe(
    _: RequestContext, request: ConsumerGroupDescribeRequest, *, groups: GroupCoordinator
) -> Parked:
    """Ask for each group, and answer all at once."""
    groups.check_consumer_protocol()

    def answered(described: Sequence[DescribedGroup]) -> ConsumerGroupDescribeResponse:
        if request.include_authorized_operations:
            for group in described:
                if not group.error_code:
                    group.authorized_operations = GROUP_OPERATIONS
        return ConsumerGroupDescribeResponse(groups=list(described))

    reply: ParkedReply[list[DescribedGroup]] = ParkedReply(
        answered, lambda _: ConsumerGroupDescribeResponse()
    )
    group_ids = sorted(request.group_ids, key=bool)  # Those without a name go first.
    gathering: Gathering[DescribedGroup] = Gathering(reply, len(group_ids))
    for index, group_id in enumerate(group_ids):
        refused = partial(_refused, group_id)
        if group_id:
            groups.consumer_describe(group_id, gathering.part(index, refused))
        else:
            gathering.told(index, refused(ErrorCode.INVALID_GROUP_ID))
    return reply.parked


def _refused(group_id: str, code: ErrorCode) -> DescribedGroup:
    return DescribedGroup(group_id=group_id, error_code=code)
