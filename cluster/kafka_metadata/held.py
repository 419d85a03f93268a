"""What replicas lie in the log directories of a stopped broker, by their names and small files."""

from collections.abc import Sequence
from typing import NamedTuple

from cluster.kafka_metadata.image import ClusterImage, PartitionImage, TopicImage
from cluster.kafka_metadata.kraft_log import METADATA_DIRECTORY
from protocol.model import NO_LEADER, ZERO_TOPIC_ID, TopicPartition
from storage.epochs import LeaderEpochCache
from storage.errors import CorruptFileError
from storage.filenames import SNAPSHOT, parse_segment_file_name
from storage.log_directory import LogDirectory
from storage.partition_metadata import read_topic_id
from storage.producer.snapshot import read_snapshot


class HeldReplica(NamedTuple):
    """A live replica's directory; the id is zero where it names none, the epoch -1 where none."""

    partition: TopicPartition
    path: str
    log_dir: str
    topic_id: bytes
    latest_epoch: int


class Held(NamedTuple):
    """Replicas by partition, and the directories of those that are in two log directories."""

    replicas: dict[TopicPartition, HeldReplica]
    twice: list[tuple[str, str]]


def survey(directories: Sequence[LogDirectory]) -> Held:
    """Everything that lies there; Kafka's own metadata log is no replica."""
    held = Held({}, [])
    for directory in directories:
        for partition, name in directory.discover().live:
            if name == METADATA_DIRECTORY:
                continue
            replica = _replica(directory, partition, f"{directory.path}/{name}")
            known = held.replicas.setdefault(partition, replica)
            if known is not replica:
                held.twice.append((known.path, replica.path))
    return held


def _replica(directory: LogDirectory, partition: TopicPartition, path: str) -> HeldReplica:
    try:
        topic_id = read_topic_id(directory.disk, path) or ZERO_TOPIC_ID
    except CorruptFileError:
        topic_id = ZERO_TOPIC_ID  # What a power cut left of it; metadata knows.
    epochs = LeaderEpochCache(directory.disk, path)
    try:
        epochs.load()
    except CorruptFileError:
        pass  # Found again in the batches when the log is recovered.
    return HeldReplica(partition, path, directory.path, topic_id, epochs.latest_epoch)


def image_of_directories(held: Held, node_id: int) -> ClusterImage:
    """A cluster as far as directories tell: topics, ids, how many partitions, leader epochs."""
    image = ClusterImage("the directories' names alone")
    image.settings_unknown = True
    for (name, index), replica in sorted(held.replicas.items()):
        topic = image.topics.setdefault(name, TopicImage(name, replica.topic_id, {}))
        if topic.topic_id == ZERO_TOPIC_ID:
            topic = image.topics[name] = topic._replace(topic_id=replica.topic_id)
        epoch = max(replica.latest_epoch, 0)
        topic.partitions[index] = PartitionImage((node_id,), (node_id,), NO_LEADER, epoch)
    for topic in image.topics.values():
        for index in range(max(topic.partitions)):
            topic.partitions.setdefault(index, PartitionImage((), (), NO_LEADER, 0))
    return image


def highest_producer_id(directories: Sequence[LogDirectory], held: Held) -> int:
    """The highest id in the producer snapshots that lie here; -1 without any."""
    disks = {directory.path: directory.disk for directory in directories}
    highest = -1
    for replica in held.replicas.values():
        disk = disks[replica.log_dir]
        for name in disk.listdir(replica.path):
            parsed = parse_segment_file_name(name)
            if parsed is None or parsed.kind != SNAPSHOT or parsed.suffix:
                continue
            try:
                producers = read_snapshot(disk, f"{replica.path}/{name}")
            except CorruptFileError:
                continue  # Deleted when the log is loaded.
            highest = max([highest, *(producer.producer_id for producer in producers)])
    return highest
