"""The topics of the cluster as consumer groups look at them: ids, partition counts and hashes.

A topic's hash is worked out once for each image of it, whoever asks; racks are in it, so a change
of the brokers makes all of them anew. Source: TopicMetadata, Utils.computeTopicHash (4.3).
"""

from collections.abc import Collection, Iterable, Mapping

from cluster.metadata_cache import MetadataCache, TopicImage
from protocol.model import TopicId


class GroupTopics:
    """Looks at the metadata of this broker; shared by all shards."""

    def __init__(self, metadata: MetadataCache) -> None:
        self._metadata = metadata
        self._hashes: dict[str, tuple[TopicImage, int]] = {}
        self._brokers_version = -1
        self._ids: set[TopicId] = set()
        self._ids_version = -1
        self._last_creation = -1

    @property
    def version(self) -> int:
        """Grows with every change of anything."""
        return self._metadata.version

    @property
    def last_creation(self) -> int:
        """The version in which it was last seen that a topic was created."""
        if self._ids_version != self.version:
            self._ids_version = self.version
            ids = {image.topic_id for image in self._metadata.topics().values()}
            if not ids <= self._ids:
                self._last_creation = self.version
            self._ids = ids
        return self._last_creation

    def names(self) -> Collection[str]:
        """All topics, live; internal ones too."""
        return self._metadata.topics()

    def name(self, topic_id: TopicId) -> str | None:
        """The topic of that id."""
        image = self._metadata.topic_by_id(topic_id)
        return None if image is None else image.name

    def ids(self, names: Iterable[str]) -> list[TopicId]:
        """The ids of those that exist."""
        images = map(self._metadata.topic, names)
        return [image.topic_id for image in images if image is not None]

    def partition_counts(self, names: Iterable[str]) -> Mapping[TopicId, int]:
        """The ids of those that exist, with how many partitions each has."""
        images = map(self._metadata.topic, names)
        return {image.topic_id: len(image.partitions) for image in images if image is not None}

    def hash_of(self, names: Iterable[str]) -> int:
        """By which a group knows that nothing of these topics has changed."""
        from broker.coordinator.group.metadata_hash import group_hash

        hashes = {}
        for name in names:
            image = self._metadata.topic(name)
            if image is not None:
                hashes[name] = self._hash(image)
        return group_hash(hashes)

    def _hash(self, image: TopicImage) -> int:
        if self._metadata.brokers_version != self._brokers_version:
            self._brokers_version = self._metadata.brokers_version
            self._hashes.clear()
        from broker.coordinator.group.metadata_hash import topic_hash

        known = self._hashes.get(image.name)
        if known is None or known[0] is not image:
            known = image, topic_hash(image.topic_id, image.name, self._racks(image))
            self._hashes[image.name] = known
        return known[1]

    def _racks(self, image: TopicImage) -> list[list[str]]:
        """For each partition, the racks of its replicas, where those are known."""
        brokers = self._metadata.brokers
        racks = {one.id: one.rack for one in brokers.values() if one.rack is not None}
        return [
            [racks[replica] for replica in partition.replicas if replica in racks]
            for partition in image.partitions
        ]
