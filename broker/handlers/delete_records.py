"""DeleteRecords (21): raise the log start of partitions, once every live replica has (KIP-107).

-1 stands for the high watermark. Errors carry -1 as low watermark; what the other replicas have not
done within the timeout is REQUEST_TIMED_OUT.
"""

from broker.context import HandlerResult, Parked, RequestContext
from broker.replication.delayed_delete_records import DelayedDeleteRecords, PendingDeletion
from broker.replication.replica_manager import ReplicaManager
from protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from protocol.model import TopicPartition


def handle_delete_records(
    _: RequestContext, request: DeleteRecordsRequest, *, replicas: ReplicaManager
) -> HandlerResult:
    """Delete here at once; answer when the outcome of every partition is known."""
    deletions = [
        replicas.delete_records(TopicPartition(topic.name, one.partition_index), one.offset)
        for topic in request.topics
        for one in topic.partitions
    ]
    if all(deletion.error is not None for deletion in deletions):
        return _response(request, deletions)
    parked = Parked()

    def done() -> None:
        parked.on_abandon = None
        parked.complete(_response(request, deletions))

    operation = DelayedDeleteRecords(
        deletions, lambda: replicas.metadata.brokers, done, parked.fail
    )
    replicas.wait_for_deletions(operation, request.timeout_ms)
    if not operation.completed:
        parked.on_abandon = operation.cancel
    return parked


def _response(
    request: DeleteRecordsRequest, deletions: list[PendingDeletion]
) -> DeleteRecordsResponse:
    outcomes = iter(deletions)
    response = DeleteRecordsResponse()
    for topic in request.topics:
        answers = []
        for partition in topic.partitions:
            outcome = next(outcomes)
            assert outcome.error is not None
            answers.append(
                DeleteRecordsPartitionResult(
                    partition_index=partition.partition_index,
                    low_watermark=outcome.low_watermark,
                    error_code=outcome.error,
                )
            )
        response.topics.append(DeleteRecordsTopicResult(name=topic.name, partitions=answers))
    return response
