"""CreateTopics (19): create topics, or only say whether they could be.

Answered when the topics are committed and this broker serves them. A time-out of 0 or less is over
before anything begins: all topics get REQUEST_TIMED_OUT and none is created. v5 the answer shows
each topic's configs, with their sources; v7 its id.
"""

from collections.abc import Callable, Mapping, Sequence

from broker.context import RequestContext
from cluster.controller.controller import Controller
from cluster.controller.topics import NewTopic, TopicResult
from config.describe import Entry
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

FIRST_VERSION_WITH_CONFIGS = 5

DescribeTopic = Callable[[Mapping[str, str]], Sequence[Entry]]
"""The effective configs of a topic with these overrides, sorted by name."""


async def handle_create_topics(
    context: RequestContext,
    request: CreateTopicsRequest,
    *,
    controller: Controller,
    describe_topic: DescribeTopic,
) -> CreateTopicsResponse:
    """Create each topic that can be; what is wrong with one is told for it alone."""
    if request.timeout_ms <= 0:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    results = await controller.create_topics(
        [_new_topic(topic) for topic in request.topics], validate_only=request.validate_only
    )
    shown = _Configs(describe_topic if context.api_version >= FIRST_VERSION_WITH_CONFIGS else None)
    return CreateTopicsResponse(topics=[_answer(result, shown) for result in results])


class _Configs:
    """Configs as the answer shows them, made once for topics that override the same."""

    def __init__(self, describe_topic: DescribeTopic | None) -> None:
        self._describe = describe_topic
        self._made: dict[tuple[tuple[str, str], ...], list[CreatableTopicConfigs]] = {}

    def of(self, overrides: Mapping[str, str]) -> list[CreatableTopicConfigs]:
        if self._describe is None:
            return []
        key = tuple(sorted(overrides.items()))
        if key not in self._made:
            self._made[key] = [
                CreatableTopicConfigs(
                    name=entry.name,
                    value=None if entry.sensitive else entry.value,
                    read_only=entry.read_only,
                    config_source=entry.source,
                    is_sensitive=entry.sensitive,
                )
                for entry in self._describe(overrides)
            ]
        return self._made[key]


def _new_topic(topic: CreatableTopic) -> NewTopic:
    return NewTopic(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        [(one.partition_index, one.broker_ids) for one in topic.assignments],
        [(one.name, one.value) for one in topic.configs],
    )


def _answer(result: TopicResult, shown: _Configs) -> CreatableTopicResult:
    answer = CreatableTopicResult(
        name=result.name,
        topic_id=result.topic_id,
        error_code=result.error,
        error_message=result.message,
        num_partitions=result.num_partitions,
        replication_factor=result.replication_factor,
        configs=[],
    )
    if result.error is ErrorCode.NONE:
        answer.configs = shown.of(result.configs)
    return answer
