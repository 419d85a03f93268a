"""Elections asked for: only where one is needed and somebody can be elected."""

from collections.abc import AsyncIterator

import pytest

from cluster.controller.topics import NewTopic
from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicPartition
from tests.support.fake_cluster import Machine, Process

LED, LOST = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
async def machine() -> AsyncIterator[Machine]:
    machine = Machine()
    await machine.prepare()
    yield machine
    await machine.stop()


async def with_a_lost_replica(machine: Machine) -> Process:
    process = await machine.start()
    await process.controller.create_topics([NewTopic("t", 2), NewTopic("u", 1)])
    await process.controller.replicas_went_offline([LOST])
    return process


def codes(results: dict[TopicPartition, ErrorCode | KafkaError]) -> dict[TopicPartition, int]:
    return {
        tp: outcome.code if isinstance(outcome, KafkaError) else int(outcome)
        for tp, outcome in results.items()
    }


@pytest.mark.parametrize(
    ("unclean", "code"),
    [
        (False, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE),
        (True, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE),
    ],
)
async def test_who_leads_stays_and_what_is_lost_stays_lost(
    machine: Machine, unclean: bool, code: ErrorCode
) -> None:
    process = await with_a_lost_replica(machine)
    before = await machine.nodes()
    results = await process.controller.elect_leaders([LED, LOST, LED], unclean=unclean)
    assert codes(results) == {LED: ErrorCode.ELECTION_NOT_NEEDED, LOST: code}
    everywhere = await process.controller.elect_leaders(None, unclean=unclean)
    assert codes(everywhere) == {LOST: code}
    assert await machine.nodes() == before


async def test_what_is_not_there_is_unknown(machine: Machine) -> None:
    process = await with_a_lost_replica(machine)
    results = await process.controller.elect_leaders(
        [TopicPartition("nope", 0), TopicPartition("t", 9)], unclean=False
    )
    told = [(one.code, one.message) for one in results.values() if isinstance(one, KafkaError)]
    assert told == [(3, "No such topic as nope"), (3, "No such partition as t-9")]


@pytest.mark.parametrize("unclean", [False, True])
async def test_a_replica_that_is_there_again_is_elected_in_a_new_epoch(
    machine: Machine, unclean: bool
) -> None:
    process = await with_a_lost_replica(machine)
    lost = process.metadata.partition(LOST)
    assert lost is not None
    assert lost.leader == -1
    process.controller._context.offline.clear()
    results = await process.controller.elect_leaders([LOST], unclean=unclean)
    assert codes(results) == {LOST: ErrorCode.NONE}
    found = process.metadata.partition(LOST)
    assert found is not None
    assert (found.leader, found.leader_epoch) == (1, lost.leader_epoch + 1)
    assert process.doors.leaders[LOST].leader_epoch == found.leader_epoch
