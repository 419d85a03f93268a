"""SyncGroup (14): the answer waits until the leader of the group has assigned.

From v5 on both names of the protocol must be given: INCONSISTENT_GROUP_PROTOCOL.
"""

from typing import Final

from broker.context import Parked, RequestContext
from broker.coordinator.group.coordinator import GroupCoordinator, caller_of
from broker.coordinator.parked_reply import ParkedReply, as_it_is
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

FIRST_VERSION_WITH_PROTOCOL: Final = 5


def handle_sync_group(
    context: RequestContext, request: SyncGroupRequest, *, groups: GroupCoordinator
) -> Parked:
    """Have the member told its assignment."""
    if context.api_version >= FIRST_VERSION_WITH_PROTOCOL and None in (
        request.protocol_type,
        request.protocol_name,
    ):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    reply = ParkedReply(as_it_is, lambda code: SyncGroupResponse(error_code=code))
    groups.sync(request, caller_of(context, reply))
    return reply.parked
