from collections.abc import AsyncIterator

import pytest

from broker.handlers.create_partitions import handle_create_partitions
from cluster.controller.topics import NewTopic
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from tests.support.contexts import context
from tests.support.fake_cluster import Machine, Process


@pytest.fixture
async def process() -> AsyncIterator[Process]:
    machine = Machine()
    await machine.prepare()
    process = await machine.start()
    await process.controller.create_topics([NewTopic("t", 2)])
    yield process
    await machine.stop()


async def grow(
    process: Process, *topics: CreatePartitionsTopic, timeout_ms: int = 1
) -> list[tuple[str, int, str | None]]:
    response = await handle_create_partitions(
        context(3),
        CreatePartitionsRequest(topics=list(topics), timeout_ms=timeout_ms),
        controller=process.controller,
    )
    assert CreatePartitionsResponse.decode(response.encode(3), 3)
    return [(one.name, one.error_code, one.error_message) for one in response.results]


def partitions(process: Process) -> int:
    topic = process.metadata.topic("t")
    assert topic is not None
    return len(topic.partitions)


async def test_the_count_is_the_new_total(process: Process) -> None:
    assert await grow(process, CreatePartitionsTopic(name="t", count=5, assignments=None)) == [
        ("t", 0, None)
    ]
    assert partitions(process) == 5


async def test_assignments_place_the_new_partitions(process: Process) -> None:
    assignments = [CreatePartitionsAssignment(broker_ids=[1])]
    wanted = CreatePartitionsTopic(name="t", count=3, assignments=assignments)
    assert await grow(process, wanted) == [("t", 0, None)]
    assert partitions(process) == 3


async def test_an_empty_list_of_assignments_is_not_none(process: Process) -> None:
    wanted = CreatePartitionsTopic(name="t", count=3, assignments=[])
    ((_, code, _),) = await grow(process, wanted)
    assert code == ErrorCode.INVALID_REPLICA_ASSIGNMENT


async def test_an_unknown_topic_is_told_by_code_alone(process: Process) -> None:
    wanted = CreatePartitionsTopic(name="x", count=3, assignments=None)
    assert await grow(process, wanted) == [("x", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)]


async def test_a_timeout_of_nothing_is_over_before_anything_grows(process: Process) -> None:
    wanted = CreatePartitionsTopic(name="t", count=3, assignments=None)
    with pytest.raises(KafkaError) as late:
        await grow(process, wanted, timeout_ms=0)
    assert late.value.code is ErrorCode.REQUEST_TIMED_OUT
    assert partitions(process) == 2
