"""ListPartitionReassignments (46): which partitions are on the move; on one broker, none ever.

Topics and partitions that do not move are left out, whether they exist or not.
Source: KIP-455; `ReplicationControlManager.listPartitionReassignments` of Kafka 4.3.
"""

from broker.context import RequestContext
from protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)


def handle_list_partition_reassignments(
    _context: RequestContext, _request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """Nothing moves."""
    return ListPartitionReassignmentsResponse(error_message=None)
