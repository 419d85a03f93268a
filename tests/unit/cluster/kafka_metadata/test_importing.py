"""What becomes of a broker's topics when its directories are taken over."""

import pytest

from cluster import znodes
from cluster.kafka_metadata.held import Held, survey
from cluster.kafka_metadata.image import BROKERS, TOPICS, ClusterImage, PartitionImage
from cluster.kafka_metadata.importing import (
    OWN_PRODUCER_IDS,
    Choices,
    ImportPlan,
    last_block,
    operations,
    own_producer_ids,
    plan_import,
)
from cluster.kafka_metadata.znode_tree import read_tree
from cluster.store.port import Set, Znode
from cluster.znodes import ProducerIdBlock
from protocol.model import ZERO_TOPIC_ID
from tests.support.fault_disk import FaultDisk
from tests.support.kafka_directories import CLUSTER, add_replica, alone, image, log_directory

ID, OTHER = bytes(15) + b"\x07", bytes(15) + b"\x08"
NODE = 1
STRICT = Choices()


def held(*replicas: tuple[str, int, bytes | None, int]) -> Held:
    directory = log_directory(FaultDisk())
    for name, index, topic_id, epoch in replicas:
        add_replica(directory, name, index, topic_id, epoch)
    return survey([directory])


def one_topic(partition: PartitionImage, epoch: int = 0, choices: Choices = STRICT) -> ImportPlan:
    source = image({"orders": (ID, {0: partition})})
    return plan_import(source, held(("orders", 0, ID, epoch)), NODE, choices)


def test_a_whole_topic_keeps_name_id_settings_and_is_led_here() -> None:
    source = image({"orders": (ID, {0: alone(3), 1: alone(5)})})
    source.configs[TOPICS]["orders"] = {"retention.ms": "1"}
    plan = plan_import(source, held(("orders", 0, ID, 3), ("orders", 1, ID, 2)), NODE, STRICT)
    (topic,) = plan.topics
    assert (topic.name, topic.topic_id, topic.configs) == ("orders", ID, {"retention.ms": "1"})
    assert [state.leader_epoch for state in topic.states.values()] == [3, 5]
    assert all((state.leader, state.isr) == (1, (1,)) for state in topic.states.values())
    assert (plan.notes, plan.refusals) == ([], [])


@pytest.mark.parametrize(
    ("leader", "stored", "in_log", "expected"),
    [(1, 4, 4, 4), (-1, 4, 3, 4), (2, 4, 4, 5), (1, 2, 6, 6), (-1, -1, -1, 0), (2, 1, 9, 10)],
)
def test_leader_epochs_never_go_back_nor_are_led_by_two(
    leader: int, stored: int, in_log: int, expected: int
) -> None:
    plan = one_topic(PartitionImage((1, 2), (1, 2), leader, stored), in_log)
    assert plan.topics[0].states[0].leader_epoch == expected


def test_replicas_elsewhere_are_given_up_and_told() -> None:
    plan = one_topic(PartitionImage((2, 1), (2, 1), 2, 0))
    assert plan.topics[0].states[0].isr == (1,)
    assert "orders-0 had replicas on other brokers too" in plan.notes[0]


@pytest.mark.parametrize("choices", [STRICT, Choices(unclean=True)])
def test_a_replica_that_lagged_is_taken_only_when_asked(choices: Choices) -> None:
    plan = one_topic(PartitionImage((1, 2), (2,), 2, 0), choices=choices)
    assert bool(plan.refusals) is not choices.unclean
    assert choices.unclean or "was not in sync here but on [2]" in plan.refusals[0]


def test_who_left_as_the_last_may_lead() -> None:
    assert one_topic(PartitionImage((1,), (), -1, 1, (1,))).refusals == []
    assert one_topic(PartitionImage((1, 2), (), -1, 1, (2,))).refusals != []


@pytest.mark.parametrize("choices", [STRICT, Choices(partial=True)])
def test_a_topic_that_is_not_whole_here_is_refused_or_left_out(choices: Choices) -> None:
    elsewhere = PartitionImage((2, 3), (2, 3), 2, 0)
    source = image({"orders": (ID, {0: alone(), 1: elsewhere}), "whole": (OTHER, {0: alone()})})
    here = held(("orders", 0, ID, 0), ("whole", 0, OTHER, 0))
    plan = plan_import(source, here, NODE, choices)
    assert [topic.name for topic in plan.topics] == ["whole"]
    told = plan.notes if choices.partial else plan.refusals
    assert "orders-1 (on broker 2, 3)" in told[0]
    assert bool(plan.refusals) is not choices.partial


def test_a_directory_of_another_topic_of_that_name_does_not_count() -> None:
    plan = plan_import(
        image({"orders": (ID, {0: alone()})}), held(("orders", 0, OTHER, 0)), NODE, STRICT
    )
    assert "is of topic id" in plan.refusals[0]


def test_topics_older_than_ids_take_that_of_their_directory() -> None:
    source = image({"orders": (ZERO_TOPIC_ID, {0: alone()})})
    assert plan_import(source, held(("orders", 0, ID, 0)), NODE, STRICT).topics[0].topic_id == ID
    old = plan_import(source, held(("orders", 0, None, 0)), NODE, STRICT)
    assert old.topics[0].topic_id == ZERO_TOPIC_ID


def test_directories_nobody_knows_are_told_and_left() -> None:
    plan = plan_import(image({}), held(*((f"t{n}", 0, ID, 0) for n in range(7))), NODE, STRICT)
    assert plan.topics == []
    assert "left as they are: /data/t0-0" in plan.notes[0]
    assert plan.notes[0].endswith("and 2 more")


def test_a_partition_that_lies_here_twice_is_refused() -> None:
    disk = FaultDisk()
    directories = [log_directory(disk, "/one"), log_directory(disk, "/two")]
    for directory in directories:
        add_replica(directory, "orders", 0, ID)
    plan = plan_import(image({}), survey(directories), NODE, STRICT)
    assert "/one/orders-0 and /two/orders-0 hold the same partition" in plan.refusals[0]


def test_what_has_no_place_is_told() -> None:
    source = ClusterImage("a test")
    source.left_behind["access control lists"] = 3
    plan = plan_import(source, held(), NODE, STRICT)
    assert plan.notes == ["left behind: 3 access control lists"]


def test_the_nodes_written_tell_the_same_cluster() -> None:
    source = image({"orders": (ID, {0: alone(3), 1: alone(5)})})
    source.configs[TOPICS]["orders"] = {"retention.ms": "1"}
    source.configs[BROKERS]["<default>"] = {"background.threads": "7"}
    source.controller_epoch = 9
    here = held(("orders", 0, ID, 3), ("orders", 1, ID, 5))
    plan = plan_import(source, here, NODE, STRICT)
    nodes: dict[str, Znode] = {}
    for one in operations(plan, source, CLUSTER, ProducerIdBlock(1, 0, 999)):
        assert "data" in one._fields
        assert isinstance(one, Set) == (one.path in nodes)
        nodes[one.path] = Znode(getattr(one, "data", None), 0, 1)
    assert set(znodes.with_parents(nodes)) == set(nodes)
    again = read_tree(nodes, "a test")
    assert again.topics == source.topics
    assert again.configs == source.configs
    assert (again.cluster_id, again.next_producer_id, again.controller_epoch) == (CLUSTER, 1000, 9)


def test_producer_ids_are_never_given_out_twice() -> None:
    assert own_producer_ids(0, 4000) == OWN_PRODUCER_IDS
    assert own_producer_ids(OWN_PRODUCER_IDS + 3000, OWN_PRODUCER_IDS + 1) == (
        OWN_PRODUCER_IDS + 3000
    )
    assert own_producer_ids(0, OWN_PRODUCER_IDS + 1) == OWN_PRODUCER_IDS + 2
    assert last_block(0, NODE) is None
    assert last_block(5, NODE) == ProducerIdBlock(NODE, 0, 4)
    assert last_block(OWN_PRODUCER_IDS, NODE) == ProducerIdBlock(
        NODE, OWN_PRODUCER_IDS - 1000, OWN_PRODUCER_IDS - 1
    )
