"""ElectLeaders: partition by partition, in Kafka's words; all topics listed when all are asked."""

from collections.abc import AsyncIterator

import pytest

from broker.handlers.elect_leaders import handle_elect_leaders
from cluster.controller.topics import NewTopic
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from protocol.model import TopicPartition
from tests.support.contexts import context
from tests.support.fake_cluster import Machine, Process

Told = dict[str, list[tuple[int, int, str | None]]]


@pytest.fixture
async def process() -> AsyncIterator[Process]:
    machine = Machine()
    await machine.prepare()
    process = await machine.start()
    await process.controller.create_topics([NewTopic("t", 2), NewTopic("u", 1)])
    yield process
    await machine.stop()


async def elect(
    process: Process,
    wanted: dict[str, list[int]] | None,
    type_: int = 0,
    version: int = 2,
    timeout_ms: int = 1000,
) -> Told:
    request = ElectLeadersRequest(
        election_type=type_,
        topic_partitions=None
        if wanted is None
        else [TopicPartitions(topic=name, partitions=some) for name, some in wanted.items()],
        timeout_ms=timeout_ms,
    )
    response = await handle_elect_leaders(
        context(version), request, controller=process.controller, metadata=process.metadata
    )
    assert ElectLeadersResponse.decode(response.encode(version), version) == response
    assert response.error_code == 0
    return {
        topic.topic: [
            (one.partition_id, one.error_code, one.error_message) for one in topic.partition_result
        ]
        for topic in response.replica_election_results
    }


NOT_NEEDED = (ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")


@pytest.mark.parametrize("type_", [0, 1])
async def test_each_partition_is_answered_by_itself(process: Process, type_: int) -> None:
    assert await elect(process, {"t": [1, 9], "nope": [0], "u": []}, type_) == {
        "t": [(1, *NOT_NEEDED), (9, 3, "No such partition as t-9")],
        "nope": [(0, 3, "No such topic as nope")],
        "u": [],
    }


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_all_partitions_are_all_topics_without_those_that_need_none(
    process: Process, version: int
) -> None:
    assert await elect(process, None, version=version) == {"t": [], "u": []}
    await process.controller.replicas_went_offline([TopicPartition("t", 1)])
    told = await elect(process, None, version=version)
    assert told == {"t": [(1, 80, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE.text)], "u": []}


async def test_nothing_asked_is_answered_whatever_else_is_wrong(process: Process) -> None:
    assert await elect(process, {}, type_=5, timeout_ms=0) == {}


@pytest.mark.parametrize(
    ("type_", "timeout_ms", "code", "message"),
    [
        (5, 1000, ErrorCode.INVALID_REQUEST, "Unknown election type 5"),
        (5, 0, ErrorCode.REQUEST_TIMED_OUT, None),
        (0, -1, ErrorCode.REQUEST_TIMED_OUT, None),
    ],
)
@pytest.mark.parametrize("wanted", [None, {"t": [0]}])
async def test_the_whole_request_may_be_refused(
    process: Process,
    wanted: dict[str, list[int]] | None,
    type_: int,
    timeout_ms: int,
    code: ErrorCode,
    message: str | None,
) -> None:
    with pytest.raises(KafkaError) as refused:
        await elect(process, wanted, type_, timeout_ms=timeout_ms)
    assert (refused.value.code, refused.value.message) == (code, message)
