"""What stopped Kafka brokers left: metadata logs and znodes of real ones, directories alike."""

import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

from cluster.kafka_metadata.image import ClusterImage, PartitionImage, TopicImage
from cluster.kafka_metadata.kraft import read_cluster
from cluster.store.port import Znode
from protocol.model import TopicPartition
from runtime.disk import OsDisk
from storage.epochs import LeaderEpochCache
from storage.log_directory import LogDirectory
from storage.log_dirs import MetaProperties, write_meta_properties
from storage.partition_metadata import write_topic_id
from tests.support.fault_disk import FaultDisk

GOLDEN = Path(__file__).parents[1] / "golden" / "cluster-metadata.tar.xz"
KRAFT = ("kafka-4.3.1", "kafka-3.9.2")
ROOT = "/data"
CLUSTER = "neWjG8c6QXGTHmQX52fApw"


def golden_files() -> dict[str, bytes]:
    """Files by path: metadata directories of two versions, znodes as JSON."""
    with tarfile.open(GOLDEN) as archive:
        return {
            member.name: file.read()
            for member in archive
            if (file := archive.extractfile(member)) is not None
        }


def golden_disk(version: str) -> FaultDisk:
    """A disk with the metadata log of a real broker below ROOT."""
    disk = FaultDisk()
    disk.makedirs(f"{ROOT}/__cluster_metadata-0")
    for path, data in golden_files().items():
        if path.startswith(version):
            disk.write_file(f"{ROOT}{path.removeprefix(version)}", data)
    return disk


def stopped_kraft_broker(folder: Path, version: str = KRAFT[0]) -> ClusterImage:
    """A real directory with a real metadata log and the replicas it tells of; the cluster."""
    metadata = folder / "__cluster_metadata-0"
    metadata.mkdir(parents=True)
    for path, data in golden_files().items():
        if path.startswith(version):
            (metadata / Path(path).name).write_bytes(data)
    disk = OsDisk()
    meta = MetaProperties(1, 1, CLUSTER, "FuLjb99hARicF1CY18Rl7A")
    write_meta_properties(disk, str(folder), meta, 0)
    cluster = read_cluster(disk, str(folder))
    directory = LogDirectory(disk, str(folder))
    for topic in cluster.topics.values():
        for index, partition in topic.partitions.items():
            add_replica(directory, topic.name, index, topic.topic_id, partition.leader_epoch)
    return cluster


def golden_znodes() -> dict[str, Znode]:
    """What a real ZooKeeper held after the same life."""
    nodes = json.loads(golden_files()["zookeeper-3.9.2.json"])
    return {path: Znode(data.encode(), version, 1) for path, (data, version) in nodes.items()}


def log_directory(
    disk: FaultDisk, path: str = ROOT, meta: MetaProperties | None = None
) -> LogDirectory:
    """An open log directory; its meta.properties are a ZooKeeper broker's unless given."""
    directory = LogDirectory(disk, path)
    directory.open()
    write_meta_properties(disk, path, meta or MetaProperties(0, 1, CLUSTER, None), 0)
    return directory


def add_replica(
    directory: LogDirectory, name: str, index: int, topic_id: bytes | None, epoch: int = 0
) -> str:
    """A live replica's directory, without id where that is None; its path."""
    path = f"{directory.path}/{name}-{index}"
    directory.disk.mkdir(path)
    if topic_id is not None:
        write_topic_id(directory.disk, path, topic_id)
    if epoch >= 0:
        epochs = LeaderEpochCache(directory.disk, path)
        epochs.assign(epoch, 0)
        epochs.write()
    return path


def image(topics: Mapping[str, tuple[bytes, Mapping[int, PartitionImage]]]) -> ClusterImage:
    """A cluster of these topics: {name: (id, partitions)}."""
    made = ClusterImage("a test")
    made.cluster_id = CLUSTER
    for name, (topic_id, partitions) in topics.items():
        made.topics[name] = TopicImage(name, topic_id, dict(partitions))
    return made


def alone(leader_epoch: int = 0, node: int = 1) -> PartitionImage:
    """A partition that has one replica, which leads."""
    return PartitionImage((node,), (node,), node, leader_epoch)


def at(name: str, index: int = 0) -> TopicPartition:
    """A partition by name."""
    return TopicPartition(name, index)
