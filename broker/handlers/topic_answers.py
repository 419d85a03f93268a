"""Topics as Metadata answers show them, made once for each image of a topic.

Clients ask for the same topics again and again, and some ask for all: what an answer says of a
topic is kept until the topic or the set of brokers changes. It depends on the listener asked,
since a leader that does not serve that listener is none to its clients.
"""

from typing import Final, NamedTuple

from cluster.metadata_cache import MetadataCache, PartitionImage, TopicImage
from protocol.errors import ErrorCode
from protocol.messages.metadata import MetadataResponsePartition, MetadataResponseTopic
from protocol.model import NO_LEADER

TOPIC_OPERATIONS: Final = 3576
"""Read, write, create, delete, alter, describe, and both for configs: with no authorizer, all."""

CLUSTER_OPERATIONS: Final = 8096


class View(NamedTuple):
    """How a request looks at topics."""

    listener: str
    knows_missing_listeners: bool
    """From v6 a leader without the listener is LISTENER_NOT_FOUND."""
    operations: int


class TopicAnswers:
    """The answers made so far, by view and name."""

    def __init__(self, metadata: MetadataCache) -> None:
        self.metadata = metadata
        self._brokers_version = -1
        self._made: dict[View, dict[str, tuple[TopicImage, MetadataResponseTopic]]] = {}

    def made(self, view: View) -> dict[str, tuple[TopicImage, MetadataResponseTopic]]:
        """Those of one view; valid until the brokers change, so not to be kept over an await."""
        metadata = self.metadata
        if self._brokers_version != metadata.brokers_version:
            self._made.clear()
            self._brokers_version = metadata.brokers_version
        made = self._made.get(view)
        if made is None:
            made = self._made[view] = {}
        if len(made) > 2 * len(metadata.topics()) + 100:
            made.clear()  # Names of deleted topics gather; they are few and cheap to make again.
        return made

    def answer(self, topic: TopicImage, view: View) -> MetadataResponseTopic:
        """What the view sees of the topic. Shared between answers: never changed."""
        made = self.made(view)
        known = made.get(topic.name)
        if known is not None and known[0] is topic:
            return known[1]
        answer = MetadataResponseTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=topic.is_internal,
            partitions=[self._partition(one, view) for one in topic.partitions],
            topic_authorized_operations=view.operations,
        )
        made[topic.name] = (topic, answer)
        return answer

    def unmade_partitions(self, view: View) -> int:
        """How many partitions would have to be made to answer for all topics."""
        made = self.made(view)
        return sum(
            len(topic.partitions)
            for name, topic in self.metadata.topics().items()
            if (known := made.get(name)) is None or known[0] is not topic
        )

    def _partition(self, partition: PartitionImage, view: View) -> MetadataResponsePartition:
        error, leader = find_leader(self.metadata, partition, view)
        return MetadataResponsePartition(
            error_code=error,
            partition_index=partition.partition,
            leader_id=leader,
            leader_epoch=partition.leader_epoch,
            replica_nodes=list(partition.replicas),
            isr_nodes=list(partition.isr),
            offline_replicas=list(partition.offline),
        )


def find_leader(
    metadata: MetadataCache, partition: PartitionImage, view: View
) -> tuple[ErrorCode, int]:
    """The leader as clients of the view's listener may reach it, or why they cannot."""
    if metadata.endpoint(partition.leader, view.listener) is not None:
        return ErrorCode.NONE, partition.leader
    if view.knows_missing_listeners and partition.leader in metadata.brokers:
        return ErrorCode.LISTENER_NOT_FOUND, NO_LEADER
    return ErrorCode.LEADER_NOT_AVAILABLE, NO_LEADER
