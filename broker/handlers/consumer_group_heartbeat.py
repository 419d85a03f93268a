"""ConsumerGroupHeartbeat (68): a member of a consumer group joins, lives, reports or leaves."""

from broker.context import Parked, RequestContext
from broker.coordinator.group.coordinator import GroupCoordinator, caller_of
from broker.coordinator.parked_reply import ParkedReply, as_it_is
from protocol.errors import ErrorCode
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


def handle_consumer_group_heartbeat(
    context: RequestContext, request: ConsumerGroupHeartbeatRequest, *, groups: GroupCoordinator
) -> Parked:
    """Pass it on; KafkaError refuses what no group needs to be asked about."""
    reply = ParkedReply(as_it_is, _refused)
    groups.consumer_heartbeat(request, caller_of(context, reply))
    return reply.parked


def _refused(code: ErrorCode) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=code, error_message=code.text)
