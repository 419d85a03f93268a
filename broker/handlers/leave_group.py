"""LeaveGroup (13): members leave, each answered for itself; of an unknown group nobody is one."""

from collections.abc import Sequence

from broker.context import Parked, RequestContext
from broker.coordinator.group.coordinator import GroupCoordinator, caller_of
from broker.coordinator.parked_reply import ParkedReply
from protocol.errors import ErrorCode
from protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse


def handle_leave_group(
    context: RequestContext, request: LeaveGroupRequest, *, groups: GroupCoordinator
) -> Parked:
    """Let the members go."""
    version = context.api_version

    def answered(members: Sequence[MemberResponse]) -> LeaveGroupResponse:
        return LeaveGroupResponse.telling(version, members)

    def refused(code: ErrorCode) -> LeaveGroupResponse:
        if code is not ErrorCode.UNKNOWN_MEMBER_ID:
            return LeaveGroupResponse(error_code=code)
        return answered(
            [
                MemberResponse(
                    member_id=one.member_id,
                    group_instance_id=one.group_instance_id,
                    error_code=code,
                )
                for one in request.leaving(version)
            ]
        )

    reply = ParkedReply(answered, refused)
    groups.leave(request, caller_of(context, reply))
    return reply.parked
