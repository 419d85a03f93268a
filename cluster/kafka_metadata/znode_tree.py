"""A cluster as znodes tell it, those of ZooKeeper and those of the embedded store alike."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from cluster import znodes
from cluster.kafka_metadata.image import BROKERS, TOPICS, ClusterImage, PartitionImage, TopicImage
from cluster.store.port import Znode
from protocol.model import NO_LEADER

ROOTS: Final = (
    "/brokers",
    znodes.CONFIG,
    znodes.CONTROLLER_EPOCH,
    znodes.CLUSTER_ID,
    znodes.PRODUCER_ID_BLOCK,
    znodes.DELETE_TOPICS,
    "/kafka-acl",
    "/kafka-acl-extended/prefixed",
    "/delegation_token/tokens",
)
"""The subtrees an image is made of."""
_MISSED: Final = (
    ("/kafka-acl/", 4, "access control lists"),
    ("/kafka-acl-extended/prefixed/", 5, "access control lists"),
    ("/config/users/", 4, "users with quotas or credentials"),
    ("/config/clients/", 4, "clients with quotas"),
    ("/config/ips/", 4, "addresses with quotas"),
    ("/delegation_token/tokens/", 4, "delegation tokens"),
)
"""What an image has no place for: where it is, how many parts its paths have, what it is."""


def read_tree(nodes: Mapping[str, Znode], origin: str) -> ClusterImage:
    """The cluster of these nodes, by path. ValueError or KeyError for data no Kafka wrote."""
    image = ClusterImage(origin)
    cluster_id = nodes.get(znodes.CLUSTER_ID)
    if cluster_id is not None and cluster_id.data:
        image.cluster_id = znodes.decode_cluster_id(cluster_id.data)
    block_node = nodes.get(znodes.PRODUCER_ID_BLOCK)
    block = znodes.decode_producer_id_block(None if block_node is None else block_node.data)
    image.next_producer_id = 0 if block is None else block.end + 1
    epoch = nodes.get(znodes.CONTROLLER_EPOCH)
    image.controller_epoch = int(epoch.data or b"0") if epoch is not None else 0
    image.live_brokers = {int(name) for name in names_below(nodes, znodes.BROKERS)}
    for entity_type in (TOPICS, BROKERS):
        for name in names_below(nodes, f"{znodes.CONFIG}/{entity_type}"):
            values = znodes.decode_config(nodes[znodes.config(entity_type, name)].data)
            if values:
                image.configs[entity_type][name] = values
    deleting = set(names_below(nodes, znodes.DELETE_TOPICS))
    for name in names_below(nodes, znodes.TOPICS):
        if name not in deleting:
            image.topics[name] = _topic(nodes, name)
    image.left_behind = _left_behind(nodes)
    return image


def names_below(nodes: Mapping[str, Znode], parent: str) -> Iterator[str]:
    """Names of a node's direct children."""
    prefix = f"{parent}/"
    for path in nodes:
        if path.startswith(prefix) and "/" not in path[len(prefix) :]:
            yield path[len(prefix) :]


def _topic(nodes: Mapping[str, Znode], name: str) -> TopicImage:
    assignment = znodes.decode_topic(nodes[znodes.topic(name)].data)
    partitions = {}
    for index, replicas in assignment.partitions.items():
        node = nodes.get(znodes.partition_state(name, index))
        if node is None:
            partitions[index] = PartitionImage(replicas, (), NO_LEADER, -1)
            continue
        state = znodes.decode_partition_state(node.data, node.version)
        partitions[index] = PartitionImage(replicas, state.isr, state.leader, state.leader_epoch)
    return TopicImage(name, assignment.topic_id, partitions)


def _left_behind(nodes: Mapping[str, Znode]) -> Counter[str]:
    found: Counter[str] = Counter()
    for path, node in nodes.items():
        for prefix, parts, what in _MISSED:
            if path.startswith(prefix) and path.count("/") >= parts - 1 and node.data:
                found[what] += 1
    return found
