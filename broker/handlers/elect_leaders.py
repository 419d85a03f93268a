"""ElectLeaders (43): have partitions led by their preferred replica, or by any live one.

Null partitions are all: those that need no election are left out then, but every topic is listed. A
time-out of 0 or less is over before anything begins, unless there is nothing to do. v0 knows
preferred leaders alone. Source: KIP-183, KIP-460; `QuorumController.electLeaders` of Kafka 4.3.
"""

from broker.context import RequestContext
from cluster.controller.controller import Controller
from cluster.metadata_cache import MetadataCache
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.elect_leaders import (
    ElectionType,
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from protocol.model import TopicPartition


async def handle_elect_leaders(
    _context: RequestContext,
    request: ElectLeadersRequest,
    *,
    controller: Controller,
    metadata: MetadataCache,
) -> ElectLeadersResponse:
    """Hold each election by itself; what stands in the way of one is told for it alone."""
    wanted = request.topic_partitions
    if wanted is not None and not wanted:
        return ElectLeadersResponse()
    if request.timeout_ms <= 0:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    if request.election_type not in set(ElectionType):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"Unknown election type {request.election_type}"
        )
    unclean = request.election_type == ElectionType.UNCLEAN
    if wanted is None:
        results = await controller.elect_leaders(None, unclean=unclean)
        told: dict[str, list[int]] = {name: [] for name in metadata.topics()}
        for topic, index in results:
            told.setdefault(topic, []).append(index)
        listed = list(told.items())
    else:
        listed = [(topic.topic, topic.partitions) for topic in wanted]
        partitions = [TopicPartition(topic, index) for topic, some in listed for index in some]
        results = await controller.elect_leaders(partitions, unclean=unclean)
    return ElectLeadersResponse(
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic,
                partition_result=[
                    _result(index, results[TopicPartition(topic, index)]) for index in some
                ],
            )
            for topic, some in listed
        ]
    )


def _result(index: int, outcome: ErrorCode | KafkaError) -> PartitionResult:
    if isinstance(outcome, KafkaError):
        code, message = outcome.code, outcome.message
    else:
        code, message = outcome, None if outcome is ErrorCode.NONE else outcome.text
    return PartitionResult(partition_id=index, error_code=code, error_message=message)
