"""A KRaft cluster as its metadata log tells it: records replayed into an image.

What a topic's partitions, settings and the producer ids say is replayed; registrations of brokers
and what else has no place in an image is counted where people would miss it. Between the begin and
the end of a metadata transaction records wait; an aborted or unfinished one never happened.
Source: TopicsDelta, PartitionRegistration.merge, ConfigurationsDelta, MetadataBatchLoader (4.3).
"""

from typing import Final

from cluster.kafka_metadata.image import BROKERS, TOPICS, ClusterImage, PartitionImage, TopicImage
from cluster.kafka_metadata.kraft_log import METADATA_DIRECTORY, read_records
from cluster.znodes import DEFAULT_ENTITY
from protocol.internal.cluster_metadata import (
    UNCHANGED_LEADER,
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    Skipped,
    TopicRecord,
)
from protocol.model import ResourceType
from protocol.schema.message import Message
from runtime.disk import Disk
from storage.errors import CorruptFileError

MISSED: Final = {
    "AccessControlEntryRecord": 1,
    "RemoveAccessControlEntryRecord": -1,
    "UserScramCredentialRecord": 1,
    "RemoveUserScramCredentialRecord": -1,
    "DelegationTokenRecord": 1,
    "RemoveDelegationTokenRecord": -1,
    "ClientQuotaRecord": 1,
}
"""What an image has no place for and somebody relies on: records that add one, and take one."""
_ENTITY_TYPES = {int(ResourceType.TOPIC): TOPICS, int(ResourceType.BROKER): BROKERS}


class Replay:
    """Applies records to an image, each transaction of them at its end."""

    def __init__(self, image: ClusterImage) -> None:
        self.image = image
        self._names: dict[bytes, str] = {}
        self._waiting: list[Message | Skipped] | None = None

    def take(self, record: Message | Skipped) -> None:
        """The next record of the log."""
        if isinstance(record, BeginTransactionRecord):
            self._waiting = []
        elif isinstance(record, AbortTransactionRecord):
            self._waiting = None
        elif isinstance(record, EndTransactionRecord):
            waiting, self._waiting = self._waiting or [], None
            for one in waiting:
                self._apply(one)
        elif self._waiting is not None:
            self._waiting.append(record)
        else:
            self._apply(record)

    def _apply(self, record: Message | Skipped) -> None:
        image = self.image
        if isinstance(record, TopicRecord):
            self._names[record.topic_id] = record.name
            image.topics[record.name] = TopicImage(record.name, record.topic_id, {})
        elif isinstance(record, PartitionRecord):
            self._of(record.topic_id).partitions[record.partition_id] = PartitionImage(
                tuple(record.replicas),
                tuple(record.isr),
                record.leader,
                record.leader_epoch,
                _eligible(record),
            )
        elif isinstance(record, PartitionChangeRecord):
            partitions = self._of(record.topic_id).partitions
            partitions[record.partition_id] = changed(partitions[record.partition_id], record)
        elif isinstance(record, RemoveTopicRecord):
            name = self._names.pop(record.topic_id)
            del image.topics[name]
            image.configs[TOPICS].pop(name, None)
        elif isinstance(record, ConfigRecord):
            self._configure(record)
        elif isinstance(record, RegisterBrokerRecord):
            image.broker_epochs[record.broker_id] = record.broker_epoch
        elif isinstance(record, ProducerIdsRecord):
            image.next_producer_id = record.next_producer_id
        elif isinstance(record, Skipped) and record.name in MISSED:
            name = record.name.removeprefix("Remove")
            image.left_behind[name] += MISSED[record.name]

    def _of(self, topic_id: bytes) -> TopicImage:
        return self.image.topics[self._names[topic_id]]

    def _configure(self, record: ConfigRecord) -> None:
        entities = self.image.configs.get(_ENTITY_TYPES.get(record.resource_type, ""))
        if entities is None:
            return
        name = record.resource_name or DEFAULT_ENTITY
        values = entities.setdefault(name, {})
        if record.value is None:
            values.pop(record.name, None)
        else:
            values[record.name] = record.value
        if not values:
            del entities[name]


def changed(partition: PartitionImage, record: PartitionChangeRecord) -> PartitionImage:
    """The partition after the change; to name a leader raises the leader epoch."""
    if record.replicas is not None:
        partition = partition._replace(replicas=tuple(record.replicas))
    if record.isr is not None:
        partition = partition._replace(isr=tuple(record.isr))
    if record.eligible_leader_replicas is not None or record.last_known_elr is not None:
        partition = partition._replace(eligible=_eligible(record))
    if record.leader != UNCHANGED_LEADER:
        epoch = partition.leader_epoch + 1
        partition = partition._replace(leader=record.leader, leader_epoch=epoch)
    return partition


def _eligible(record: PartitionRecord | PartitionChangeRecord) -> tuple[int, ...]:
    both = (*(record.eligible_leader_replicas or ()), *(record.last_known_elr or ()))
    return tuple(dict.fromkeys(both))


def read_cluster(disk: Disk, metadata_dir: str) -> ClusterImage:
    """The cluster that the `__cluster_metadata-0` in a directory tells of.

    CorruptFileError names the file that cannot be read, or contradicts itself.
    """
    directory = f"{metadata_dir}/{METADATA_DIRECTORY}"
    replay = Replay(ClusterImage(f"the metadata log {directory}"))
    for offset, record in read_records(disk, directory):
        try:
            replay.take(record)
        except KeyError as error:
            text = f"the record at offset {offset} is about what was never created: {error}"
            raise CorruptFileError(directory, text) from error
    return replay.image
