"""CreatePartitions (37): grow topics to a count, or only say whether they could be.

The count is the new total. Null assignments let the controller place the partitions, an empty list
is an assignment, and a wrong one. A time-out of 0 or less is over before anything begins.
"""

from broker.context import RequestContext
from cluster.controller.controller import Controller
from cluster.controller.topics import Growth
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)


async def handle_create_partitions(
    _context: RequestContext, request: CreatePartitionsRequest, *, controller: Controller
) -> CreatePartitionsResponse:
    """Grow each topic that can be; what is wrong with one is told for it alone."""
    if request.timeout_ms <= 0:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    results = await controller.create_partitions(
        [_growth(topic) for topic in request.topics], validate_only=request.validate_only
    )
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(
                name=result.name, error_code=result.error, error_message=result.message
            )
            for result in results
        ]
    )


def _growth(topic: CreatePartitionsTopic) -> Growth:
    if topic.assignments is None:
        return Growth(topic.name, topic.count)
    return Growth(topic.name, topic.count, [one.broker_ids for one in topic.assignments])
