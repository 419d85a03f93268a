"""What the embedded store holds after a Kafka broker's directories were taken over: pure decisions.

The broker becomes the only one of its cluster. Each topic it holds whole keeps its name, id, number
of partitions and settings; its replicas are those of this node.

Leader epochs never go back, and no epoch is led by two: this node goes on in the epoch in which it
led or nobody did, and begins the next one where another broker led. As a restart of Tidelog raises
no epoch, a KRaft controller that takes the directories back finds none above its own and begins
with a greater one.

Producer ids are never given out twice. ZooKeeper is told which were used, so Kafka's own count goes
on; KRaft cannot be told, so Tidelog's are from a range that Kafka's count never gets to.
"""

from typing import Final, NamedTuple

from cluster import znodes
from cluster.controller.context import creation, first_leadership
from cluster.controller.topics import TopicPlan
from cluster.kafka_metadata.held import Held, HeldReplica
from cluster.kafka_metadata.image import BROKERS, ClusterImage, TopicImage
from cluster.store.opening import root_nodes
from cluster.store.port import Create, Operation, Set
from cluster.znodes import PartitionState, ProducerIdBlock
from protocol.model import NO_LEADER, ZERO_TOPIC_ID, TopicPartition, topic_id_to_text

OWN_PRODUCER_IDS: Final = 1 << 48
"""Where the ids begin that KRaft does not know of: at 1000 new ids a second Kafka gets there in
nine thousand years."""
_CONTROLLER_EPOCH = 0


class Choices(NamedTuple):
    """What the operator allows: topics that are not whole here left out, replicas that lagged."""

    partial: bool = False
    unclean: bool = False


class ImportedTopic(NamedTuple):
    """A topic as it will be."""

    name: str
    topic_id: bytes
    states: dict[int, PartitionState]
    configs: dict[str, str]


class ImportPlan(NamedTuple):
    """What is taken over, what the operator should know, and why it cannot be: each one line."""

    topics: list[ImportedTopic]
    notes: list[str]
    refusals: list[str]


def plan_import(source: ClusterImage, held: Held, node_id: int, choices: Choices) -> ImportPlan:
    """Decide on every topic of the source and every directory that lies here."""
    plan = ImportPlan([], [], [])
    plan.refusals.extend(
        f"{pair[0]} and {pair[1]} hold the same partition: remove the one that Kafka did not use"
        for pair in held.twice
    )
    reduced = []
    for name in sorted(source.topics):
        topic = source.topics[name]
        missing = _not_here(topic, held, node_id)
        if missing:
            _leave_out(plan, topic, missing, choices)
            continue
        states = {}
        for index, partition in sorted(topic.partitions.items()):
            replica = held.replicas[TopicPartition(name, index)]
            leaders = partition.isr + partition.eligible
            if leaders and node_id not in leaders and not choices.unclean:
                plan.refusals.append(
                    f"{name}-{index} was not in sync here but on {list(leaders)}: import the"
                    f" directories of one of those, or lose what only they have (--unclean)"
                )
            if len(partition.replicas) > 1:
                reduced.append(f"{name}-{index}")
            epoch = _leader_epoch(partition.leader, partition.leader_epoch, node_id, replica)
            states[index] = PartitionState(node_id, epoch, (node_id,), _CONTROLLER_EPOCH)
        topic_id = _topic_id(topic, held)
        plan.topics.append(ImportedTopic(name, topic_id, states, source.topic_configs(name)))
    if reduced:
        plan.notes.append(
            f"{_some(reduced)} had replicas on other brokers too: from now on on node {node_id}"
            f" alone"
        )
    plan.notes.extend(_unserved(source, held))
    plan.notes.extend(
        f"left behind: {count} {what}" for what, count in (+source.left_behind).items()
    )
    return plan


def operations(
    plan: ImportPlan, source: ClusterImage, cluster_id: str, block: ProducerIdBlock | None
) -> list[Operation]:
    """The nodes of the new store. `block` is the newest block of producer ids given out."""
    made: list[Operation] = [*root_nodes(cluster_id)]
    for topic in plan.topics:
        replicas = {index: state.isr for index, state in topic.states.items()}
        described = TopicPlan(topic.name, topic.topic_id, replicas, topic.configs)
        made += creation(described, has_configs=False)
        made += first_leadership(topic.name, topic.states)
    for name, values in source.configs[BROKERS].items():
        made.append(Create(znodes.config(BROKERS, name), znodes.encode_config(values)))
    if block is not None:
        data = znodes.encode_producer_id_block(block)
        made.append(Set(znodes.PRODUCER_ID_BLOCK, data))
    if source.controller_epoch:
        epoch = b"%d" % source.controller_epoch
        made.append(Create(znodes.CONTROLLER_EPOCH, epoch))
    return made


def own_producer_ids(earlier: int, highest_seen: int) -> int:
    """The next id of Tidelog's own range, beyond those of earlier stays and those in the logs."""
    return max(OWN_PRODUCER_IDS, earlier, highest_seen + 1)


def last_block(next_producer_id: int, node_id: int) -> ProducerIdBlock | None:
    """The block after which `next_producer_id` comes; None before the first."""
    if next_producer_id == 0:
        return None
    return ProducerIdBlock(node_id, max(next_producer_id - 1000, 0), next_producer_id - 1)


def _leader_epoch(leader: int, stored: int, node_id: int, replica: HeldReplica) -> int:
    epoch = max(stored, replica.latest_epoch, 0)
    return epoch if leader in (node_id, NO_LEADER) else epoch + 1


def _topic_id(topic: TopicImage, held: Held) -> bytes:
    if topic.topic_id != ZERO_TOPIC_ID or not topic.partitions:
        return topic.topic_id
    return held.replicas[TopicPartition(topic.name, min(topic.partitions))].topic_id


def _not_here(topic: TopicImage, held: Held, node_id: int) -> list[str]:
    """What of the topic does not lie here, in words."""
    missing = []
    for index, partition in sorted(topic.partitions.items()):
        replica = held.replicas.get(TopicPartition(topic.name, index))
        if replica is None:
            others = [one for one in partition.replicas if one != node_id]
            where = f" (on broker {_some(list(map(str, others)))})" if others else ""
            missing.append(f"{topic.name}-{index}{where}")
        elif replica.topic_id not in (ZERO_TOPIC_ID, topic.topic_id) and (
            topic.topic_id != ZERO_TOPIC_ID
        ):
            missing.append(
                f"{topic.name}-{index} ({replica.path} is of topic id"
                f" {topic_id_to_text(replica.topic_id)})"
            )
    return missing


def _leave_out(plan: ImportPlan, topic: TopicImage, missing: list[str], choices: Choices) -> None:
    if choices.partial:
        plan.notes.append(f"left out: topic {topic.name}, without {_some(missing)}")
        return
    plan.refusals.append(
        f"topic {topic.name} does not lie here whole, without {_some(missing)}: name all log"
        f" directories, move its partitions here with kafka-reassign-partitions.sh first, or"
        f" leave it out (--partial)"
    )


def _unserved(source: ClusterImage, held: Held) -> list[str]:
    """Directories of topics the source does not know."""
    unknown = sorted(
        replica.path
        for partition, replica in held.replicas.items()
        if partition.topic not in source.topics
        or partition.partition not in source.topics[partition.topic].partitions
    )
    if not unknown:
        return []
    return [f"not known to {source.origin}, left as they are: {_some(unknown)}"]


def _some(names: list[str]) -> str:
    """A few names, and how many more there are."""
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
