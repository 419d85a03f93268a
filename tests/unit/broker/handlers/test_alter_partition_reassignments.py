"""AlterPartitionReassignments: answered partition by partition, in the order of the request."""

from collections.abc import AsyncIterator

import pytest

from broker.handlers.alter_partition_reassignments import handle_alter_partition_reassignments
from cluster.controller.topics import NewTopic
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
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


async def move(
    process: Process,
    *wanted: tuple[str, int, list[int] | None],
    version: int = 1,
    may_change_factor: bool = True,
    timeout_ms: int = 1000,
) -> AlterPartitionReassignmentsResponse:
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=timeout_ms,
        allow_replication_factor_change=may_change_factor,
        topics=[
            ReassignableTopic(
                name=name, partitions=[ReassignablePartition(partition_index=index, replicas=some)]
            )
            for name, index, some in wanted
        ],
    )
    response = await handle_alter_partition_reassignments(
        context(version), request, controller=process.controller
    )
    decoded = AlterPartitionReassignmentsResponse.decode(response.encode(version), version)
    assert (response.error_code, response.error_message) == (0, None if wanted else "")
    assert decoded.responses == response.responses
    return response


@pytest.mark.parametrize("version", [0, 1])
async def test_each_partition_is_answered_by_itself(process: Process, version: int) -> None:
    response = await move(
        process, ("t", 1, [1]), ("t", 0, None), ("t", 0, [2]), ("x", 0, [1]), version=version
    )
    assert [
        (topic.name, one.partition_index, one.error_code, one.error_message)
        for topic in response.responses
        for one in topic.partitions
    ] == [
        ("t", 1, 0, None),
        ("t", 0, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, None),
        (
            "t",
            0,
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The manual partition assignment includes broker 2, but no such broker is registered.",
        ),
        ("x", 0, 3, "Unable to find a topic named x."),
    ]


async def test_the_answer_repeats_whether_the_factor_may_change(process: Process) -> None:
    for allowed in (True, False):
        response = await move(process, ("t", 0, [1]), may_change_factor=allowed)
        assert response.allow_replication_factor_change == allowed


async def test_nothing_asked_takes_no_time(process: Process) -> None:
    assert (await move(process, timeout_ms=0)).responses == []
    with pytest.raises(KafkaError) as refused:
        await move(process, ("t", 0, [1]), timeout_ms=0)
    assert refused.value.code == ErrorCode.REQUEST_TIMED_OUT


async def test_who_is_no_controller_says_so(process: Process) -> None:
    process.controller.close()
    with pytest.raises(KafkaError) as refused:
        await move(process, ("t", 0, [1]))
    assert refused.value.code == ErrorCode.NOT_CONTROLLER
