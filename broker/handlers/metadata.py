"""Metadata (3): which brokers there are, and who leads the topics asked for.

An absent topic is answered UNKNOWN_TOPIC_OR_PARTITION at once; if it may be created, that goes on
behind the answer and the client asks again. v0 an empty list is all topics, since v1 null is, and
empty is none. v8 authorized operations, v12 topics by id (names are ignored beside ids). An answer
for many topics that no earlier one has made ready is put together over several turns of the loop.
"""

from collections.abc import Awaitable, Iterable
from itertools import islice
from typing import Final

from broker.context import RequestContext
from broker.handlers.topic_answers import (
    CLUSTER_OPERATIONS,
    TOPIC_OPERATIONS,
    TopicAnswers,
    View,
)
from broker.turns import NextTurn
from cluster.controller.auto_creation import AutoCreation
from cluster.controller.topics import name_error
from cluster.metadata_cache import INTERNAL_TOPICS
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from protocol.model import AUTHORIZED_OPERATIONS_UNKNOWN, ZERO_TOPIC_ID

FIRST_VERSION_WITH_NULL_TOPICS: Final = 1
FIRST_VERSION_WITH_MISSING_LISTENERS: Final = 6
FIRST_VERSION_BY_ID: Final = 12
PARTITIONS_PER_TURN: Final = 500
"""About 3 ms of work."""


def handle_metadata(
    context: RequestContext,
    request: MetadataRequest,
    *,
    answers: TopicAnswers,
    auto_creation: AutoCreation,
) -> MetadataResponse | Awaitable[MetadataResponse]:
    """Describe brokers and topics; begin to create topics that are missing."""
    operations = AUTHORIZED_OPERATIONS_UNKNOWN
    if request.include_topic_authorized_operations:
        operations = TOPIC_OPERATIONS
    knows_missing = context.api_version >= FIRST_VERSION_WITH_MISSING_LISTENERS
    view = View(context.listener_name, knows_missing, operations)
    asked = request.topics
    if asked is None or (not asked and context.api_version < FIRST_VERSION_WITH_NULL_TOPICS):
        if answers.unmade_partitions(view) > PARTITIONS_PER_TURN:
            return _all_topics_in_turns(request, answers, view)
        return _response(request, answers, view, _all_topics(answers, view))
    ids, names = _wanted(context.api_version, request)
    topics = _by_id(ids, answers, view) if ids else _by_name(names, answers, view)
    missing = [topic.name for topic in topics if topic.error_code and topic.name]
    _create_missing(request, missing, auto_creation)
    return _response(request, answers, view, topics)


def _wanted(version: int, request: MetadataRequest) -> tuple[list[bytes], list[str]]:
    """Ids and names asked for, each once."""
    ids: dict[bytes, None] = {}
    names: dict[str, None] = {}
    for topic in request.topics or ():
        has_id = topic.topic_id != ZERO_TOPIC_ID
        if version < FIRST_VERSION_BY_ID:
            if topic.name is None:
                text = f"Topic name can not be null for version {version}"
                raise KafkaError(ErrorCode.INVALID_REQUEST, text)
            if has_id:
                text = f"Topic IDs are not supported in requests for version {version}"
                raise KafkaError(ErrorCode.INVALID_REQUEST, text)
        if has_id:
            ids[topic.topic_id] = None
        elif topic.name is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
        else:
            names[topic.name] = None
    return list(ids), list(names)


def _by_id(ids: Iterable[bytes], answers: TopicAnswers, view: View) -> list[MetadataResponseTopic]:
    topics = []
    for topic_id in ids:
        topic = answers.metadata.topic_by_id(topic_id)
        if topic is None:
            code = ErrorCode.UNKNOWN_TOPIC_ID
            topics.append(MetadataResponseTopic(error_code=code, name=None, topic_id=topic_id))
        else:
            topics.append(answers.answer(topic, view))
    return topics


def _by_name(
    names: Iterable[str], answers: TopicAnswers, view: View
) -> list[MetadataResponseTopic]:
    topics = []
    for name in names:
        topic = answers.metadata.topic(name)
        if topic is not None:
            topics.append(answers.answer(topic, view))
            continue
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if name_error(name) is not None:
            code = ErrorCode.INVALID_TOPIC_EXCEPTION
        topics.append(
            MetadataResponseTopic(
                error_code=code,
                name=name,
                is_internal=name in INTERNAL_TOPICS,
                topic_authorized_operations=view.operations,
            )
        )
    return topics


def _create_missing(
    request: MetadataRequest, missing: list[str], auto_creation: AutoCreation
) -> None:
    if missing and request.allow_auto_topic_creation and auto_creation.is_enabled:
        valid = [name for name in missing if name_error(name) is None]
        auto_creation.begin(valid)


def _all_topics(answers: TopicAnswers, view: View) -> list[MetadataResponseTopic]:
    return [answers.answer(topic, view) for topic in answers.metadata.topics().values()]


async def _all_topics_in_turns(
    request: MetadataRequest, answers: TopicAnswers, view: View
) -> MetadataResponse:
    """Make what is missing a few topics at a time; then all of it is of one moment."""
    names = iter(tuple(answers.metadata.topics()))
    while piece := list(islice(names, PARTITIONS_PER_TURN)):
        partitions = 0
        for name in piece:
            topic = answers.metadata.topic(name)
            if topic is None:
                continue
            answers.answer(topic, view)
            partitions += len(topic.partitions)
            if partitions >= PARTITIONS_PER_TURN:
                partitions = 0
                await NextTurn()
        await NextTurn()
    return _response(request, answers, view, _all_topics(answers, view))


def _response(
    request: MetadataRequest,
    answers: TopicAnswers,
    view: View,
    topics: list[MetadataResponseTopic],
) -> MetadataResponse:
    metadata = answers.metadata
    brokers = []
    for broker in metadata.brokers.values():
        endpoint = broker.endpoints.get(view.listener)
        if endpoint is not None:
            brokers.append(
                MetadataResponseBroker(
                    node_id=broker.id, host=endpoint.host, port=endpoint.port, rack=broker.rack
                )
            )
    response = MetadataResponse(
        brokers=brokers,
        cluster_id=metadata.cluster_id,
        controller_id=metadata.controller_id,
        topics=topics,
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response
