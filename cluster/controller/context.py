"""What the controller knows: the metadata store's content as it last read or wrote it.

Changed only after the store has committed the change, by the controller's queue alone.
"""

from collections.abc import Iterable, Iterator

from cluster import znodes
from cluster.controller.messages import LeaderAndIsr, LiveBroker, PartitionMetadata
from cluster.controller.topics import Replicas, TopicNames, TopicPlan
from cluster.store.port import Create, Operation, Set, Znode
from cluster.znodes import PartitionState
from protocol.model import TopicPartition

Configs = dict[str, dict[str, str]]


class TopicRecord:
    """A topic, its replicas and the stored leadership of its partitions.

    A partition without state waits for its first live replica.
    """

    __slots__ = ("name", "replicas", "states", "topic_id")

    def __init__(self, name: str, topic_id: bytes, replicas: Replicas) -> None:
        self.name = name
        self.topic_id = topic_id
        self.replicas = replicas
        self.states: dict[int, PartitionState] = {}


class ControllerContext:
    """Topics, their configs, the live brokers and which replicas are offline."""

    def __init__(self) -> None:
        self.topics: dict[str, TopicRecord] = {}
        self.names_by_id: dict[bytes, str] = {}
        self.names = TopicNames()
        self.deleting: set[str] = set()
        self.configs: dict[str, Configs] = {
            one: {} for one in ("topics", "brokers", *znodes.FREE_NAMES)
        }
        self.config_parents: set[str] = set()
        """Nodes above configs that are there; those of a younger type come with the first."""
        self.brokers: dict[int, LiveBroker] = {}
        self.offline: dict[TopicPartition, set[int]] = {}

    def load(
        self, topics: dict[str, Znode], configs: dict[str, Znode], marked: Iterable[str]
    ) -> None:
        """Take what the subtrees of topics and configs say, and the topics to be deleted."""
        self._load_topics(topics)
        for entity_type, entities in self.configs.items():
            parent = znodes.config_parent(entity_type)
            if parent in configs:
                self.config_parents.add(parent)
            prefix = f"{parent}/"
            for path, node in configs.items():
                if path.startswith(prefix):
                    name = znodes.config_entity(entity_type, path[len(prefix) :])
                    entities[name] = znodes.decode_config(node.data)
        self.deleting = set(marked)

    def add(self, plan: TopicPlan) -> TopicRecord:
        """A topic that was created, still without leadership."""
        record = TopicRecord(plan.name, plan.topic_id, dict(plan.replicas))
        self._add(record)
        self.configs["topics"][plan.name] = dict(plan.configs)
        return record

    def remove(self, name: str) -> None:
        """A topic that was deleted to its end."""
        record = self.topics.pop(name, None)
        if record is not None:
            self.names_by_id.pop(record.topic_id, None)
            for index in record.replicas:
                self.offline.pop(TopicPartition(name, index), None)
        self.names.remove(name)
        self.configs["topics"].pop(name, None)
        self.deleting.discard(name)

    def live_for(self, tp: TopicPartition) -> set[int]:
        """Brokers that are alive and whose replica of the partition is not offline."""
        return self.brokers.keys() - self.offline.get(tp, frozenset())

    def served(self) -> Iterator[TopicPartition]:
        """All partitions of the topics that are not being deleted."""
        for name, record in self.topics.items():
            if name not in self.deleting:
                for index in record.replicas:
                    yield TopicPartition(name, index)

    def allows_unclean_election(self, name: str) -> bool:
        """Whether the topic prefers to be served to keeping what was acknowledged."""
        return self.configs["topics"].get(name, {}).get("unclean.leader.election.enable") == "true"

    def leader_and_isr(self, tp: TopicPartition, *, is_new: bool) -> LeaderAndIsr | None:
        """The message for a partition that has leadership."""
        record = self.topics[tp.topic]
        state = record.states.get(tp.partition)
        if state is None:
            return None
        return LeaderAndIsr(
            tp,
            record.topic_id,
            state.leader,
            state.leader_epoch,
            state.isr,
            state.partition_epoch,
            record.replicas[tp.partition],
            is_new,
        )

    def partition_metadata(self, tp: TopicPartition) -> PartitionMetadata | None:
        """What brokers are told of a partition that has leadership."""
        record = self.topics[tp.topic]
        state = record.states.get(tp.partition)
        if state is None:
            return None
        replicas = record.replicas[tp.partition]
        live = self.live_for(tp)
        return PartitionMetadata(
            tp,
            record.topic_id,
            state.leader,
            state.leader_epoch,
            state.isr,
            state.partition_epoch,
            replicas,
            tuple(one for one in replicas if one not in live),
        )

    def _load_topics(self, nodes: dict[str, Znode]) -> None:
        states: list[tuple[str, int, Znode]] = []
        for path, node in nodes.items():
            parts = path[len(znodes.TOPICS) + 1 :].split("/")
            if len(parts) == 1 and parts[0]:
                assignment = znodes.decode_topic(node.data)
                self._add(TopicRecord(parts[0], assignment.topic_id, assignment.partitions))
            elif len(parts) == 4 and parts[3] == "state":
                states.append((parts[0], int(parts[2]), node))
        decoded: dict[tuple[bytes | None, int], PartitionState] = {}
        for name, index, node in states:
            record = self.topics.get(name)
            if record is None or index not in record.replicas:
                continue
            text = (node.data, node.version)
            if text not in decoded:  # Most partitions of a broker have the same few states.
                decoded[text] = znodes.decode_partition_state(*text)
            record.states[index] = decoded[text]

    def _add(self, record: TopicRecord) -> None:
        self.topics[record.name] = record
        self.names_by_id[record.topic_id] = record.name
        self.names.add(record.name)


def creation(plan: TopicPlan, *, has_configs: bool) -> list[Operation]:
    """The nodes of a new topic, in Kafka's order: its configs are there before it is."""
    config_path = znodes.config("topics", plan.name)
    config = znodes.encode_config(plan.configs)
    return [
        Set(config_path, config) if has_configs else Create(config_path, config),
        Create(znodes.topic(plan.name), znodes.encode_topic(plan.topic_id, plan.replicas)),
        Create(znodes.partitions(plan.name)),
    ]


def first_leadership(name: str, states: dict[int, PartitionState]) -> list[Operation]:
    """The nodes that give new partitions their leadership."""
    operations: list[Operation] = []
    encoded: dict[PartitionState, bytes] = {}
    for index, state in states.items():
        if state not in encoded:
            encoded[state] = znodes.encode_partition_state(state)
        operations.append(Create(znodes.partition(name, index)))
        operations.append(Create(znodes.partition_state(name, index), encoded[state]))
    return operations
