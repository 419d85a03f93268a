"""ZooKeeper's tree is brought to what is here, and to nothing more."""

from collections.abc import Iterable

import pytest

from cluster import znodes
from cluster.kafka_metadata.export_znodes import Tree, ZooKeeperPlan, plan_zookeeper_export
from cluster.kafka_metadata.held import Held, survey
from cluster.kafka_metadata.image import BROKERS, TOPICS, ClusterImage, TopicImage
from cluster.kafka_metadata.znode_tree import read_tree
from cluster.store.port import Create, Delete, NodeExists, NoNode, Operation, Set, Znode
from cluster.znodes import PartitionState
from tests.support.fake_store import FakeStore
from tests.support.fault_disk import FaultDisk
from tests.support.kafka_directories import (
    CLUSTER,
    add_replica,
    alone,
    golden_znodes,
    log_directory,
)

ID = bytes(15) + b"\x07"


def tree(nodes: dict[str, Znode]) -> Tree:
    return Tree(nodes, read_tree(nodes, "a test"))


def held(*replicas: tuple[str, int, bytes, int]) -> Held:
    directory = log_directory(FaultDisk())
    for name, index, topic_id, epoch in replicas:
        add_replica(directory, name, index, topic_id, epoch)
    return survey([directory])


def plan(ours: ClusterImage, nodes: dict[str, Znode], here: Held | None = None) -> ZooKeeperPlan:
    return plan_zookeeper_export(ours, tree(nodes), here or held(), 1)


def imported() -> ClusterImage:
    """What is here right after an import."""
    return read_tree(golden_znodes(), "here")


async def applied(nodes: dict[str, Znode], found: ZooKeeperPlan) -> dict[str, Znode]:
    """The tree after the plan, every check of it held."""
    store = FakeStore()
    for path in znodes.with_parents(nodes):
        await store.create(path, nodes[path].data if path in nodes else b"")
        for _ in range(nodes[path].version if path in nodes else 0):
            await store.set(path, nodes[path].data)
    for transaction in found.transactions:
        await store.multi(transaction)
    return {path: node for path, node in (await store.subtree("/")).items() if path != "/"}


def paths(operations: Iterable[Operation], kind: type) -> list[str]:
    return [one.path for one in operations if isinstance(one, kind)]


def test_what_zookeeper_knows_needs_no_write() -> None:
    found = plan(imported(), golden_znodes())
    assert (found.transactions, found.notes, found.refusals) == ([], [], [])


async def test_a_topic_made_here_is_there_afterwards_and_nothing_is_written_twice() -> None:
    ours = imported()
    ours.topics["made"] = TopicImage("made", ID, {0: alone(2), 1: alone(0)})
    ours.configs[TOPICS]["made"] = {"retention.ms": "1"}
    here = held(("made", 0, ID, 5))
    found = plan(ours, golden_znodes(), here)
    (operations,) = found.transactions
    assert operations[0].path == "/config/topics/made"
    nodes = await applied(golden_znodes(), found)
    after = read_tree(nodes, "a test")
    assert after.topics["made"].partitions == {0: alone(5), 1: alone(0)}
    assert after.topic_configs("made") == {"retention.ms": "1"}
    assert plan(ours, nodes, here).transactions == []


async def test_partitions_added_here_keep_the_replicas_kafka_assigned() -> None:
    nodes = golden_znodes()
    orders = read_tree(nodes, "a test").topics["orders"]
    nodes[znodes.topic("orders")] = Znode(
        znodes.encode_topic(orders.topic_id, {0: (2, 1), 1: (2, 3), 2: (1,)}), 4, 1
    )
    ours = imported()
    ours.topics["orders"].partitions[3] = alone()
    after = read_tree(await applied(nodes, plan(ours, nodes)), "a test").topics["orders"]
    replicas = [after.partitions[index].replicas for index in range(4)]
    assert replicas == [(2, 1), (2, 3, 1), (1,), (1,)]


@pytest.mark.parametrize(
    ("leader", "stored", "here", "expected"), [(1, 3, 5, 5), (2, 3, 3, 4), (-1, 3, 3, 3)]
)
async def test_this_node_leads_in_an_epoch_no_log_is_ahead_of(
    leader: int, stored: int, here: int, expected: int
) -> None:
    nodes = golden_znodes()
    path = znodes.partition_state("orders", 0)
    state = PartitionState(leader, stored, (leader, 1), 1)
    nodes[path] = Znode(znodes.encode_partition_state(state), 6, 1)
    ours = imported()
    orders = ours.topics["orders"]
    orders.partitions[0] = alone(3)
    after = await applied(nodes, plan(ours, nodes, held(("orders", 0, orders.topic_id, here))))
    assert after[path].version == 7
    found = znodes.decode_partition_state(after[path].data, 7)
    assert (found.leader, found.leader_epoch, found.isr) == (1, expected, (1,))
    assert found.controller_epoch == 1


async def test_a_topic_made_anew_here_takes_the_place_of_the_old_one() -> None:
    ours = imported()
    ours.topics["orders"] = TopicImage("orders", ID, {0: alone(0)})
    ours.configs[TOPICS].pop("orders")
    found = plan(ours, golden_znodes())
    (operations,) = found.transactions
    assert len(paths(operations, Delete)) == 4
    after = read_tree(await applied(golden_znodes(), found), "a test")
    assert (after.topics["orders"].topic_id, len(after.topics["orders"].partitions)) == (ID, 1)
    assert after.topic_configs("orders") == {}
    assert found.notes == ["topic orders: made anew here, replaced"]


async def test_a_topic_deleted_here_is_marked_for_the_controller() -> None:
    ours = imported()
    gone = ours.topics.pop("orders")
    found = plan(ours, golden_znodes())
    assert [one for group in found.transactions for one in group] == [
        Create("/admin/delete_topics/orders")
    ]
    nodes = await applied(golden_znodes(), found)
    assert plan(ours, nodes).transactions == []
    left_out = plan(ours, golden_znodes(), held(("orders", 0, gone.topic_id, 0)))
    assert left_out.transactions == []


async def test_settings_and_producer_ids_are_those_from_here() -> None:
    ours = imported()
    ours.configs[TOPICS]["grown"] = {"retention.ms": "1"}
    ours.configs[BROKERS]["1"] = {}
    ours.next_producer_id = 3000
    after = read_tree(await applied(golden_znodes(), plan(ours, golden_znodes())), "a test")
    assert after.topic_configs("grown") == {"retention.ms": "1"}
    assert "1" not in after.configs[BROKERS]
    assert after.next_producer_id == 3000
    ours.next_producer_id = 500
    assert (
        read_tree(
            await applied(golden_znodes(), plan(ours, golden_znodes())), "a test"
        ).next_producer_id
        == 1000
    )


async def test_an_empty_zookeeper_gets_the_whole_cluster() -> None:
    ours = imported()
    after = read_tree(await applied({}, plan(ours, {})), "a test")
    assert after.topics == ours.topics
    assert after.configs == ours.configs
    assert (after.cluster_id, after.next_producer_id) == (CLUSTER, 1000)


def test_another_cluster_or_a_running_broker_is_left_alone() -> None:
    ours = imported()
    ours.cluster_id = "fZSON9t1SVCaDJyFHjGfqw"
    nodes = golden_znodes() | {znodes.broker(2): Znode(b"{}", 1, 1)}
    found = plan(ours, nodes)
    assert "is of cluster neWjG8c6QXGTHmQX52fApw" in found.refusals[0]
    assert "brokers [2] are registered" in found.refusals[1]


async def test_whoever_writes_in_between_is_not_overwritten() -> None:
    ours = imported()
    ours.configs[TOPICS]["orders"] = {"retention.ms": "1"}
    ours.topics["made"] = TopicImage("made", ID, {0: alone()})
    found = plan(ours, golden_znodes())
    operations = [one for group in found.transactions for one in group]
    assert all(one.version >= 0 for one in operations if isinstance(one, Set))
    with pytest.raises((NodeExists, NoNode)):
        await applied(golden_znodes() | {znodes.topic("made"): Znode(b"{}", 0, 1)}, found)
