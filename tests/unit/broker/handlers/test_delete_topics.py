from collections.abc import AsyncIterator

import pytest

from broker.handlers.delete_topics import handle_delete_topics
from cluster.controller.topics import NewTopic
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from protocol.model import ZERO_TOPIC_ID
from tests.support.contexts import context
from tests.support.fake_cluster import Machine, Process


@pytest.fixture
async def process() -> AsyncIterator[Process]:
    machine = Machine()
    await machine.prepare()
    process = await machine.start()
    await process.controller.create_topics([NewTopic("a"), NewTopic("b")])
    yield process
    await machine.stop()


async def delete(
    process: Process, request: DeleteTopicsRequest, version: int = 6, *, is_enabled: bool = True
) -> list[tuple[str | None, bytes, int, str | None]]:
    response = await handle_delete_topics(
        context(version), request, controller=process.controller, is_enabled=lambda: is_enabled
    )
    assert DeleteTopicsResponse.decode(response.encode(version), version)
    return [
        (one.name, one.topic_id, one.error_code, one.error_message) for one in response.responses
    ]


def topic_id(process: Process, name: str) -> bytes:
    topic = process.metadata.topic(name)
    assert topic is not None
    return topic.topic_id


async def test_a_success_tells_name_and_id_however_the_topic_was_named(process: Process) -> None:
    a, b = topic_id(process, "a"), topic_id(process, "b")
    states = [DeleteTopicState(name="a"), DeleteTopicState(name=None, topic_id=b)]
    answers = await delete(process, DeleteTopicsRequest(topics=states, timeout_ms=1))
    assert set(answers) == {("a", a, 0, None), ("b", b, 0, None)}
    assert process.metadata.topics() == {}


async def test_versions_before_six_name_topics(process: Process) -> None:
    request = DeleteTopicsRequest(topic_names=["a", "x"], timeout_ms=1)
    answers = await delete(process, request, 5)
    assert [(name, error, message) for name, _, error, message in answers] == [
        ("a", 0, None),
        ("x", 3, "This server does not host this topic-partition."),
    ]
    assert set(process.metadata.topics()) == {"b"}


async def test_an_unknown_id_has_no_name(process: Process) -> None:
    states = [DeleteTopicState(name=None, topic_id=b"x" * 16)]
    (answer,) = await delete(process, DeleteTopicsRequest(topics=states, timeout_ms=1))
    assert answer == (None, b"x" * 16, 100, "This server does not host this topic ID.")


async def test_an_unknown_name_has_no_id(process: Process) -> None:
    states = [DeleteTopicState(name="x")]
    ((_, found, _, _),) = await delete(process, DeleteTopicsRequest(topics=states, timeout_ms=1))
    assert found == ZERO_TOPIC_ID


@pytest.mark.parametrize(
    ("version", "code"), [(2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)]
)
async def test_where_deletion_is_disabled_nothing_is_deleted(
    process: Process, version: int, code: ErrorCode
) -> None:
    request = DeleteTopicsRequest(topic_names=["a"], timeout_ms=1)
    with pytest.raises(KafkaError) as refused:
        await delete(process, request, version, is_enabled=False)
    assert refused.value.code is code
    assert set(process.metadata.topics()) == {"a", "b"}


async def test_a_timeout_of_nothing_is_over_before_anything_is_deleted(process: Process) -> None:
    with pytest.raises(KafkaError) as late:
        await delete(process, DeleteTopicsRequest(topic_names=["a"], timeout_ms=0), 5)
    assert late.value.code is ErrorCode.REQUEST_TIMED_OUT
    assert set(process.metadata.topics()) == {"a", "b"}
