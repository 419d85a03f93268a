"""What ZooKeeper must say before a Kafka broker takes its directories back: pure decisions.

No broker of the cluster runs meanwhile, so its tree is brought to what the embedded store says:

    /config/topics/<t>                     settings, before the topic as Kafka does it
    /brokers/topics/<t>                    partitions made here added, others' replicas kept
    /brokers/topics/<t>/partitions/<p>/state
                                           this node leads and is alone in sync, in an epoch that
                                           no log is ahead of: other replicas follow what it has
    /admin/delete_topics/<t>               topics deleted here, for the controller to carry out
    /latest_producer_id_block              the newest block given out here
    /config/brokers/<b>                    settings of brokers

Every operation names the version that was read, so a Kafka that starts in between refuses them.
One transaction a topic; done twice, the second finds nothing to do.
Source: KafkaZkClient, AdminZkClient, TopicZNode, TopicPartitionStateZNode of Kafka 3.9.
"""

from collections.abc import Mapping
from typing import NamedTuple

from cluster import znodes
from cluster.kafka_metadata.held import Held
from cluster.kafka_metadata.image import BROKERS, TOPICS, ClusterImage, TopicImage
from cluster.kafka_metadata.znode_tree import names_below
from cluster.store.port import Create, Delete, Operation, Set, Znode
from cluster.znodes import PartitionState, ProducerIdBlock
from protocol.model import TopicPartition

Nodes = Mapping[str, Znode]
_PARENTS = (
    znodes.BROKERS,
    znodes.TOPICS,
    znodes.DELETE_TOPICS,
    "/config/topics",
    "/config/brokers",
    "/config/changes",
    "/cluster",
)


class ZooKeeperPlan(NamedTuple):
    """Transactions in order, what the operator should know, and what stands in the way."""

    transactions: list[list[Operation]]
    notes: list[str]
    refusals: list[str]


class Tree(NamedTuple):
    """ZooKeeper's nodes and the cluster they tell of."""

    nodes: Nodes
    image: ClusterImage


def plan_zookeeper_export(
    ours: ClusterImage, tree: Tree, held: Held, node_id: int
) -> ZooKeeperPlan:
    """Everything that has to be written so that Kafka finds what is here."""
    theirs = tree.image
    plan = ZooKeeperPlan([], [], [])
    if theirs.cluster_id not in (None, ours.cluster_id):
        plan.refusals.append(
            f"{theirs.origin} is of cluster {theirs.cluster_id}, these directories are of"
            f" {ours.cluster_id}"
        )
    if theirs.live_brokers:
        plan.refusals.append(
            f"brokers {sorted(theirs.live_brokers)} are registered with {theirs.origin}: stop"
            f" them, and wait until their sessions have ended"
        )
    plan.transactions.append(_roots(tree, ours.cluster_id))
    for name, topic in sorted(ours.topics.items()):
        operations = _topic(tree, topic, ours.topic_configs(name), held, node_id)
        if operations:
            known = theirs.topics.get(name)
            plan.notes.append(_told(topic, known))
            plan.transactions.append(operations)
    for name in sorted(theirs.topics.keys() - ours.topics.keys()):
        if not _lies_here(theirs.topics[name], held):
            plan.notes.append(f"topic {name}: marked to be deleted")
            plan.transactions.append([Create(znodes.delete_topic(name))])
    plan.transactions.append(_broker_configs(tree, ours) + _producer_ids(tree, ours, node_id))
    filled = [one for one in plan.transactions if one]
    return ZooKeeperPlan(filled, plan.notes, plan.refusals)


def _roots(tree: Tree, cluster_id: str | None) -> list[Operation]:
    there = set(znodes.with_parents(tree.nodes))
    made: list[Operation] = [
        Create(path, b"") for path in znodes.with_parents(_PARENTS) if path not in there
    ]
    if tree.image.cluster_id is None and cluster_id is not None:
        made.append(Create(znodes.CLUSTER_ID, znodes.encode_cluster_id(cluster_id)))
    return made


def _topic(
    tree: Tree, topic: TopicImage, configs: Mapping[str, str], held: Held, node_id: int
) -> list[Operation]:
    nodes, name = tree.nodes, topic.name
    known = tree.image.topics.get(name)
    same = known is not None and known.topic_id == topic.topic_id
    made = _config(tree, TOPICS, name, configs, always=known is None)
    assigned = {
        index: _replicas(known if same else None, index, node_id) for index in topic.partitions
    }
    data = znodes.encode_topic(topic.topic_id, assigned)
    if known is None or not same or known.partitions.keys() != topic.partitions.keys():
        made.append(_put(nodes, znodes.topic(name), data))
    if znodes.partitions(name) not in nodes:
        made.append(Create(znodes.partitions(name), b""))
    for index in sorted(topic.partitions):
        made += _partition(tree, topic, index, held, node_id)
    made += _surplus(nodes, topic)
    return made


def _replicas(known: TopicImage | None, index: int, node_id: int) -> tuple[int, ...]:
    """Those Kafka assigned, this node among them."""
    assigned = known.partitions[index].replicas if known and index in known.partitions else ()
    return assigned if node_id in assigned else (*assigned, node_id)


def _partition(
    tree: Tree, topic: TopicImage, index: int, held: Held, node_id: int
) -> list[Operation]:
    nodes = tree.nodes
    path = znodes.partition_state(topic.name, index)
    replica = held.replicas.get(TopicPartition(topic.name, index))
    epoch = max(
        topic.partitions[index].leader_epoch, -1 if replica is None else replica.latest_epoch
    )
    if path in nodes:
        state = znodes.decode_partition_state(nodes[path].data, nodes[path].version)
        if state.leader == node_id and state.isr == (node_id,) and state.leader_epoch >= epoch:
            return []
        epoch = max(epoch, state.leader_epoch + (state.leader not in (node_id, -1)))
    made: list[Operation] = []
    if znodes.partition(topic.name, index) not in nodes:
        made.append(Create(znodes.partition(topic.name, index), b""))
    wanted = PartitionState(node_id, max(epoch, 0), (node_id,), tree.image.controller_epoch)
    made.append(_put(nodes, path, znodes.encode_partition_state(wanted)))
    return made


def _surplus(nodes: Nodes, topic: TopicImage) -> list[Operation]:
    """Partitions of a topic that was made anew here with fewer of them."""
    gone: list[Operation] = []
    for text in names_below(nodes, znodes.partitions(topic.name)):
        if int(text) not in topic.partitions:
            state = znodes.partition_state(topic.name, int(text))
            gone += [Delete(state, nodes[state].version)] if state in nodes else []
            gone.append(Delete(znodes.partition(topic.name, int(text))))
    return gone


def _config(
    tree: Tree, kind: str, name: str, configs: Mapping[str, str], *, always: bool = False
) -> list[Operation]:
    path = znodes.config(kind, name)
    there = tree.image.configs[kind].get(name, {})
    if there == configs and not (always and path not in tree.nodes):
        return []
    return [_put(tree.nodes, path, znodes.encode_config(configs))]


def _broker_configs(tree: Tree, ours: ClusterImage) -> list[Operation]:
    made: list[Operation] = []
    for name in sorted(ours.configs[BROKERS].keys() | tree.image.configs[BROKERS].keys()):
        made += _config(tree, BROKERS, name, ours.configs[BROKERS].get(name, {}))
    return made


def _producer_ids(tree: Tree, ours: ClusterImage, node_id: int) -> list[Operation]:
    following = ours.next_producer_id
    if following <= tree.image.next_producer_id:
        return []
    block = ProducerIdBlock(node_id, max(following - 1000, 0), following - 1)
    data = znodes.encode_producer_id_block(block)
    return [_put(tree.nodes, znodes.PRODUCER_ID_BLOCK, data)]


def _put(nodes: Nodes, path: str, data: bytes) -> Operation:
    return Set(path, data, nodes[path].version) if path in nodes else Create(path, data)


def _told(topic: TopicImage, known: TopicImage | None) -> str:
    if known is None:
        return f"topic {topic.name}: created, {len(topic.partitions)} partitions"
    if known.topic_id != topic.topic_id:
        return f"topic {topic.name}: made anew here, replaced"
    return f"topic {topic.name}: settings, partitions or leadership brought up to date"


def _lies_here(topic: TopicImage, held: Held) -> bool:
    """Whether a topic that is not served here was left out, not deleted."""
    return any(
        replica.topic_id == topic.topic_id
        for partition, replica in held.replicas.items()
        if partition.topic == topic.name
    )
