import asyncio
import logging
from collections.abc import Coroutine, Sequence
from typing import Any

import pytest

from cluster.controller.auto_creation import AutoCreation, consumer_offsets, transaction_state
from cluster.controller.topics import NewTopic, TopicResult
from config.topic_config import validate_topic_overrides
from protocol.errors import ErrorCode, KafkaError


class Creator:
    """Creates when it is let; answers with the error set."""

    def __init__(self) -> None:
        self.asked: list[list[NewTopic]] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.let = asyncio.Event()
        self.error: ErrorCode | KafkaError = ErrorCode.NONE

    async def create(self, topics: Sequence[NewTopic]) -> list[TopicResult]:
        self.asked.append(list(topics))
        await self.let.wait()
        if isinstance(self.error, KafkaError):
            raise self.error
        return [TopicResult(topic.name, self.error) for topic in topics]

    def spawn(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        self.tasks.append(asyncio.ensure_future(work))

    def auto_creation(self) -> AutoCreation:
        internal = {"__consumer_offsets": lambda: consumer_offsets(50, 1, 100)}
        return AutoCreation(self.create, self.spawn, lambda: True, internal)

    async def finish(self) -> None:
        self.let.set()
        await asyncio.gather(*self.tasks)


async def test_topics_are_created_with_the_brokers_defaults() -> None:
    creator = Creator()
    creator.auto_creation().begin(["a", "a", "b"])
    await creator.finish()
    assert creator.asked == [[NewTopic("a"), NewTopic("b")]]


async def test_a_topic_being_created_is_not_asked_for_again_until_that_ends() -> None:
    creator = Creator()
    auto_creation = creator.auto_creation()
    auto_creation.begin(["a"])
    await asyncio.sleep(0)
    auto_creation.begin(["a"])
    auto_creation.begin(["a", "b"])
    await creator.finish()
    assert creator.asked == [[NewTopic("a")], [NewTopic("b")]]
    auto_creation.begin(["a"])
    await creator.finish()
    assert creator.asked[-1] == [NewTopic("a")]


async def test_internal_topics_have_settings_of_their_own() -> None:
    creator = Creator()
    creator.auto_creation().begin(["__consumer_offsets"])
    await creator.finish()
    ((topic,),) = creator.asked
    assert (topic.num_partitions, topic.replication_factor) == (50, 1)
    assert dict(topic.configs) == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "100",
    }


async def test_an_internal_topic_of_unknown_settings_is_not_created() -> None:
    creator = Creator()
    creator.auto_creation().begin(["__transaction_state"])
    await creator.finish()
    assert creator.asked == []


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ErrorCode.INVALID_REPLICATION_FACTOR, "Could not create topic a"),
        (KafkaError(ErrorCode.NOT_CONTROLLER), "Could not create topics a"),
        (ErrorCode.TOPIC_ALREADY_EXISTS, ""),
    ],
)
async def test_why_a_topic_was_not_created_is_only_logged(
    caplog: pytest.LogCaptureFixture, error: ErrorCode | KafkaError, told: str
) -> None:
    creator = Creator()
    creator.error = error
    with caplog.at_level(logging.WARNING):
        creator.auto_creation().begin(["a"])
        await creator.finish()
    assert told in caplog.text
    assert bool(told) == bool(caplog.records)


def test_the_configs_of_internal_topics_are_valid() -> None:
    for topic in (consumer_offsets(50, 3, 104857600), transaction_state(50, 3, 104857600, 2)):
        validate_topic_overrides({key: value or "" for key, value in topic.configs})
