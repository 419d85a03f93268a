"""AlterPartitionReassignments (45): move partitions to other brokers, or stop that.

One broker has nowhere to move them to: what it holds already is a success, everything else is
refused partition by partition. A time-out of 0 or less is over before anything begins, unless
there is nothing to do. Source: KIP-455, KIP-860; `QuorumController` of Kafka 4.3.
"""

from broker.context import RequestContext
from cluster.controller.controller import Controller
from cluster.controller.reassignment import Reassignment
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from protocol.model import TopicPartition


async def handle_alter_partition_reassignments(
    _context: RequestContext,
    request: AlterPartitionReassignmentsRequest,
    *,
    controller: Controller,
) -> AlterPartitionReassignmentsResponse:
    """Answer each partition by itself, in the order of the request."""
    may_change_factor = request.allow_replication_factor_change
    if not request.topics:
        return AlterPartitionReassignmentsResponse()
    if request.timeout_ms <= 0:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    wanted = [
        Reassignment(TopicPartition(topic.name, one.partition_index), one.replicas)
        for topic in request.topics
        for one in topic.partitions
    ]
    faults = iter(
        await controller.alter_partition_reassignments(wanted, may_change_factor=may_change_factor)
    )
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=may_change_factor,
        error_message=None,
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[
                    _response(one.partition_index, next(faults)) for one in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def _response(index: int, fault: KafkaError | None) -> ReassignablePartitionResponse:
    return ReassignablePartitionResponse(
        partition_index=index,
        error_code=ErrorCode.NONE if fault is None else fault.code,
        error_message=None if fault is None else fault.message,
    )
