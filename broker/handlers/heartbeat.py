"""Heartbeat (12): a member of a classic group lives; the answer may ask it to join again.

While the group's coordinator is loading all is said to be well: its sessions begin only then.
"""

from broker.context import Parked, RequestContext
from broker.coordinator.group.coordinator import GroupCoordinator
from broker.coordinator.parked_reply import ParkedReply, as_it_is
from protocol.errors import ErrorCode
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def handle_heartbeat(
    _: RequestContext, request: HeartbeatRequest, *, groups: GroupCoordinator
) -> Parked:
    """Keep the member's session."""
    reply = ParkedReply(as_it_is, _refused)
    groups.heartbeat(request, reply)
    return reply.parked


def _refused(code: ErrorCode) -> HeartbeatResponse:
    is_loading = code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return HeartbeatResponse(error_code=ErrorCode.NONE if is_loading else code)
