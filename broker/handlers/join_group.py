"""JoinGroup (11): the answer waits until the members of the group are gathered.

v0 has no rebalance timeout, the session's counts. Below v7 no protocol is told as an empty name.
Most refusals repeat the member's id.
"""

from typing import Final

from broker.context import Parked, RequestContext
from broker.coordinator.group.coordinator import GroupCoordinator, caller_of
from broker.coordinator.parked_reply import ParkedReply
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.join_group import (
    FIRST_VERSION_WITH_NULL_PROTOCOL,
    JoinGroupRequest,
    JoinGroupResponse,
)

_WITHOUT_ID: Final = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
    }
)


def handle_join_group(
    context: RequestContext, request: JoinGroupRequest, *, groups: GroupCoordinator
) -> Parked:
    """Have the group gathered, or say why not."""
    version = context.api_version

    def answered(response: JoinGroupResponse) -> JoinGroupResponse:
        if version < FIRST_VERSION_WITH_NULL_PROTOCOL and response.protocol_name is None:
            response.protocol_name = ""
        return response

    def refused(code: ErrorCode) -> JoinGroupResponse:
        member_id = "" if code in _WITHOUT_ID else request.member_id
        return answered(JoinGroupResponse(error_code=code, member_id=member_id, protocol_name=None))

    reply = ParkedReply(answered, refused)
    caller = caller_of(context, reply)
    try:
        groups.join(request, caller)
    except KafkaError as error:
        reply.refuse(error.code)
    return reply.parked
