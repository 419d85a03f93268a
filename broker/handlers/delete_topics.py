"""DeleteTopics (20): delete topics by name, or since v6 by id.

Answered when the deletion is committed and the files of the topics that this broker holds have
been renamed out of the way. `delete.topic.enable=false` refuses all, in words that clients before
v3 do not know: they get INVALID_REQUEST.
"""

from broker.context import RequestContext
from cluster.controller.controller import Controller
from cluster.controller.deletions import TopicReference
from config.definition import Live
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)

FIRST_VERSION_WITH_DELETION_DISABLED = 3


async def handle_delete_topics(
    context: RequestContext,
    request: DeleteTopicsRequest,
    *,
    controller: Controller,
    is_enabled: Live[bool],
) -> DeleteTopicsResponse:
    """Delete each topic that is there; a success tells its name and its id."""
    if not is_enabled():
        if context.api_version < FIRST_VERSION_WITH_DELETION_DISABLED:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        raise KafkaError(ErrorCode.TOPIC_DELETION_DISABLED)
    if request.timeout_ms <= 0:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    results = await controller.delete_topics(
        [TopicReference(topic.name, topic.topic_id) for topic in request.topic_states]
    )
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(
                name=result.name,
                topic_id=result.topic_id,
                error_code=result.error,
                error_message=result.message,
            )
            for result in results
        ]
    )
