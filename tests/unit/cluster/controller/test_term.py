import pytest

from cluster import znodes
from cluster.controller.context import ControllerContext
from cluster.controller.term import Term
from cluster.controller.topics import TopicPlan
from cluster.membership import register_and_lead
from cluster.metadata_cache import MetadataCache
from cluster.store.opening import create_root_paths
from cluster.store.port import Create
from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicPartition
from tests.support.fake_cluster import BROKER, CLUSTER_ID, NOW_MS, FakeDoors
from tests.support.fake_store import FakeStore


async def new_term(store: FakeStore) -> Term:
    await create_root_paths(store, CLUSTER_ID)
    leadership = await register_and_lead(store, BROKER, NOW_MS)
    context = ControllerContext()
    context.brokers[1] = BROKER
    return Term(store, FakeDoors(MetadataCache(CLUSTER_ID), {}), context, 1, leadership)


async def test_outcomes_are_those_of_the_operations_alone() -> None:
    term = await new_term(FakeStore())
    assert await term.write([Create("/x"), Create("/x/y")]) == ["/x", "/x/y"]


async def test_a_write_after_another_election_ends_the_term() -> None:
    store = FakeStore()
    term = await new_term(store)
    await store.set(znodes.CONTROLLER_EPOCH, b"2")
    with pytest.raises(KafkaError) as moved:
        await term.write([Create("/x")])
    assert moved.value.code is ErrorCode.NOT_CONTROLLER
    assert term.is_over


async def test_a_write_the_store_refuses_does_not_end_it() -> None:
    term = await new_term(FakeStore())
    with pytest.raises(KafkaError) as refused:
        await term.write([Create("/nowhere/x")])
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert not term.is_over


async def test_partitions_without_a_live_replica_have_no_first_state() -> None:
    term = await new_term(FakeStore())
    assert list(term.first_states({0: (1,), 1: (2,), 2: (2, 1)})) == [0, 2]


async def test_partitions_that_nobody_alive_holds_stay_as_they_are() -> None:
    store = FakeStore()
    term = await new_term(store)
    record = term.context.add(TopicPlan("t", b"i" * 16, {0: (2,), 1: (2,)}, {}))
    state = record.states[1] = znodes.PartitionState(2, 3, (2,), 1)
    before = store.changes
    partitions = [TopicPartition("t", 0), TopicPartition("t", 1)]
    await term.elect_leaderless(partitions)
    await term.lose_replicas(partitions)
    assert record.states == {1: state}
    assert store.changes == before
