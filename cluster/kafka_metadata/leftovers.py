"""What only Tidelog understands in a log directory, put into Kafka's words before Kafka has it.

newer-than-checkpoints    the checkpoints' entries for that name are another log's: the entries
                          go first, then the mark; a crash in between leaves both readings right
partition.metadata        one that a power cut emptied before its log was flushed is written
                          again: Kafka does not start on it
meta.properties           version 0 names `broker.id`, for Kafka with ZooKeeper
.kafka_cleanshutdown      names the epoch of the broker's last registration, which a KRaft
                          controller compares before it believes that nothing was lost
"""

from collections.abc import Sequence

from cluster.kafka_metadata.held import Held
from cluster.kafka_metadata.image import ClusterImage
from protocol.model import ZERO_TOPIC_ID
from storage.filenames import CLEAN_SHUTDOWN_FILE
from storage.log_directory import LogDirectory
from storage.log_dirs import read_meta_properties, write_clean_shutdown_mark, write_meta_properties
from storage.partition_metadata import write_topic_id
from storage.reused_names import is_newer_than_checkpoints, remove_mark

ZOOKEEPER_VERSION = 0
"""Version of the meta.properties that name the node as `broker.id`."""


def settle_checkpoints(directories: Sequence[LogDirectory], held: Held) -> None:
    """No checkpoint speaks of a log it was not written for; durable."""
    for directory in directories:
        doubted = {
            replica.partition: replica.path
            for replica in held.replicas.values()
            if replica.log_dir == directory.path
            and is_newer_than_checkpoints(directory.disk, replica.path)
        }
        if not doubted:
            continue
        for file in (directory.recovery_points, directory.log_starts, directory.high_watermarks):
            offsets = directory.read_checkpoint(file)
            file.write({one: offsets[one] for one in offsets if one not in doubted})
        for path in doubted.values():
            remove_mark(directory.disk, path)
            directory.disk.fsync_dir(path)


def name_topics(directories: Sequence[LogDirectory], held: Held, ours: ClusterImage) -> None:
    """Every replica of a topic with an id names it; durable."""
    disks = {directory.path: directory.disk for directory in directories}
    for partition, replica in held.replicas.items():
        topic = ours.topics.get(partition.topic)
        if topic is not None and ZERO_TOPIC_ID == replica.topic_id != topic.topic_id:
            write_topic_id(disks[replica.log_dir], replica.path, topic.topic_id)


def name_brokers(directories: Sequence[LogDirectory], now_ms: int) -> list[str]:
    """meta.properties are as Kafka with ZooKeeper has them; which were written."""
    written = []
    for directory in directories:
        found = read_meta_properties(directory.disk, directory.path)
        if found is not None and found.version != ZOOKEEPER_VERSION:
            properties = found._replace(version=ZOOKEEPER_VERSION)
            write_meta_properties(directory.disk, directory.path, properties, now_ms)
            written.append(directory.path)
    return written


def name_broker_epoch(directories: Sequence[LogDirectory], broker_epoch: int) -> None:
    """A clean shutdown is told as one of the broker's last registration; others stay unclean."""
    for directory in directories:
        if directory.disk.exists(f"{directory.path}/{CLEAN_SHUTDOWN_FILE}"):
            write_clean_shutdown_mark(directory.disk, directory.path, broker_epoch)
