"""The tree a real ZooKeeper held, read as a cluster."""

from cluster import znodes
from cluster.kafka_metadata.image import BROKERS, TOPICS, PartitionImage
from cluster.kafka_metadata.znode_tree import names_below, read_tree
from cluster.store.port import Znode
from protocol.model import topic_id_to_text
from tests.support.kafka_directories import CLUSTER, golden_znodes


def test_a_real_tree_is_what_was_done_to_it() -> None:
    image = read_tree(golden_znodes(), "a test")
    counts = {name: len(topic.partitions) for name, topic in image.topics.items()}
    assert counts == {"orders": 3, "grown": 2, "__transaction_state": 1}
    assert topic_id_to_text(image.topics["orders"].topic_id) == "_O4VgiFmReWlrRM54idoOA"
    assert image.topics["orders"].partitions[2] == PartitionImage((1,), (1,), 1, 0)
    assert image.configs[TOPICS]["orders"]["max.message.bytes"] == "5000"
    assert "grown" not in image.configs[TOPICS]
    assert image.configs[BROKERS]["<default>"] == {"background.threads": "7"}
    assert (image.cluster_id, image.controller_epoch) == (CLUSTER, 1)
    assert image.next_producer_id == 1000
    assert image.live_brokers == set()
    assert image.left_behind == {"users with quotas or credentials": 1}


def test_an_empty_tree_is_a_cluster_without_anything() -> None:
    image = read_tree({}, "a test")
    assert (image.topics, image.cluster_id, image.next_producer_id) == ({}, None, 0)


def test_topics_to_be_deleted_are_none() -> None:
    nodes = golden_znodes() | {znodes.delete_topic("orders"): Znode(b"", 0, 1)}
    assert "orders" not in read_tree(nodes, "a test").topics


def test_a_partition_nobody_led_yet_has_no_leader() -> None:
    nodes = golden_znodes()
    del nodes[znodes.partition_state("orders", 1)]
    image = read_tree(nodes, "a test")
    assert image.topics["orders"].partitions[1] == PartitionImage((1,), (), -1, -1)


def test_brokers_that_run_are_seen() -> None:
    nodes = golden_znodes() | {znodes.broker(3): Znode(b"{}", 1, 1)}
    assert read_tree(nodes, "a test").live_brokers == {3}


def test_only_direct_children_are_below() -> None:
    nodes = dict.fromkeys(("/a", "/a/b", "/a/b/c", "/ab"), Znode(b"", 0, 1))
    assert list(names_below(nodes, "/a")) == ["b"]
