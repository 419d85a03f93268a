"""What this broker answers Metadata and routing questions from.

A view of the cluster as the controller last described it (Kafka's ZkMetadataCache): filled by
`apply` alone, read everywhere. A TopicImage never changes: a change puts a new one in its place,
so holding an image across an await is safe and identity tells whether a topic changed. `version`
grows with every change of anything, `brokers_version` with changes of the broker set.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from cluster.controller.messages import (
    LEADER_DURING_DELETE,
    Endpoint,
    LiveBroker,
    MetadataUpdate,
    PartitionMetadata,
)
from cluster.features import NO_FEATURES, Features
from protocol.model import ZERO_TOPIC_ID, TopicPartition

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})

_NO_OVERRIDES: Mapping[str, str] = {}


class PartitionImage(NamedTuple):
    """One partition; leader is -1 when it has none."""

    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...]
    partition_epoch: int


class TopicImage:
    """One topic with its partitions in the order of their numbers; immutable."""

    __slots__ = ("is_internal", "name", "partitions", "topic_id")

    def __init__(self, name: str, topic_id: bytes, partitions: Iterable[PartitionImage]) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions: tuple[PartitionImage, ...] = tuple(partitions)
        self.is_internal = name in INTERNAL_TOPICS

    def partition(self, index: int) -> PartitionImage | None:
        """The partition of that number, also while lower numbers are not known yet."""
        partitions = self.partitions
        if 0 <= index < len(partitions) and partitions[index].partition == index:
            return partitions[index]
        return next((one for one in partitions if one.partition == index), None)


class EntityConfigs:
    """Settings of the entities of one type that have any; `version` grows with each change."""

    __slots__ = ("_configs", "version")

    def __init__(self) -> None:
        self._configs: dict[str, Mapping[str, str]] = {}
        self.version = 0

    def of(self, name: str) -> Mapping[str, str]:
        """What is set for the entity of that name; empty for one that nobody set anything for."""
        return self._configs.get(name, _NO_OVERRIDES)

    def names(self) -> list[str]:
        """The entities that have settings, those set first before others."""
        return list(self._configs)

    def set(self, name: str, configs: Mapping[str, str]) -> None:
        """Replace what is set for an entity; nothing forgets it."""
        if configs:
            self._configs[name] = dict(configs)
        else:
            self._configs.pop(name, None)
        self.version += 1


class MetadataCache:
    """Topics, partitions, brokers and topic configs that this broker knows."""

    def __init__(self, cluster_id: str) -> None:
        self.cluster_id = cluster_id
        self.controller_id = -1
        self.version = 0
        self.brokers_version = 0
        self.brokers: dict[int, LiveBroker] = {}
        self.features: Features = NO_FEATURES
        """The levels the cluster works at; the controller puts others in their place."""
        self.group_configs = EntityConfigs()
        self.client_metrics = EntityConfigs()
        self._topics: dict[str, TopicImage] = {}
        self._names: dict[bytes, str] = {}
        self._overrides: dict[str, Mapping[str, str]] = {}

    def topic(self, name: str) -> TopicImage | None:
        """The topic of that name."""
        return self._topics.get(name)

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        """The topic of that id; never one for the zero id."""
        name = self._names.get(topic_id)
        return None if name is None else self._topics.get(name)

    def topics(self) -> Mapping[str, TopicImage]:
        """All topics by name, live: copy what has to outlast an await."""
        return self._topics

    def partition(self, tp: TopicPartition) -> PartitionImage | None:
        """The partition, or None when its topic or its number is unknown."""
        topic = self._topics.get(tp[0])
        return None if topic is None else topic.partition(tp[1])

    def endpoint(self, broker_id: int, listener: str) -> Endpoint | None:
        """Where that broker serves that listener; None when it is not alive or has none."""
        broker = self.brokers.get(broker_id)
        return None if broker is None else broker.endpoints.get(listener)

    def topic_overrides(self, name: str) -> Mapping[str, str]:
        """The configs set on the topic itself; empty for an unknown topic."""
        return self._overrides.get(name, _NO_OVERRIDES)

    def set_topic_overrides(self, name: str, overrides: Mapping[str, str]) -> None:
        """Replace the configs set on a topic; known before the topic is, as Kafka writes them."""
        if overrides:
            self._overrides[name] = dict(overrides)
        else:
            self._overrides.pop(name, None)
        self.version += 1

    def apply(self, update: MetadataUpdate) -> list[TopicPartition]:
        """Merge an update; return the partitions it removed.

        Brokers are replaced, partitions merged without comparing epochs, as Kafka's cache does.
        """
        self.version += 1
        self.controller_id = update.controller_id
        brokers = {broker.id: broker for broker in update.live_brokers}
        if brokers != self.brokers:
            self.brokers = brokers
            self.brokers_version += 1
        by_topic: dict[str, list[PartitionMetadata]] = {}
        for partition in update.partitions:
            by_topic.setdefault(partition.tp[0], []).append(partition)
        removed: list[TopicPartition] = []
        for name, partitions in by_topic.items():
            removed += self._merge(name, partitions)
        return removed

    def _merge(self, name: str, changes: list[PartitionMetadata]) -> list[TopicPartition]:
        old = self._topics.get(name)
        images = {} if old is None else {one.partition: one for one in old.partitions}
        removed = []
        for change in changes:
            index = change.tp[1]
            if change.leader == LEADER_DURING_DELETE:
                if images.pop(index, None) is not None:
                    removed.append(change.tp)
                continue
            images[index] = PartitionImage(
                index,
                change.leader,
                change.leader_epoch,
                change.replicas,
                change.isr,
                change.offline_replicas,
                change.partition_epoch,
            )
        if old is not None:
            self._names.pop(old.topic_id, None)
        if not images:
            self._topics.pop(name, None)
            self._overrides.pop(name, None)
            return removed
        topic_id = changes[-1].topic_id
        if topic_id != ZERO_TOPIC_ID:
            self._names[topic_id] = name
        ordered = [images[index] for index in sorted(images)]
        self._topics[name] = TopicImage(name, topic_id, ordered)
        return removed
