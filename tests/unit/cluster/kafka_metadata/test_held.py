"""What lies in log directories, told by names and small files."""

from cluster.kafka_metadata.held import highest_producer_id, image_of_directories, survey
from cluster.kafka_metadata.image import PartitionImage
from protocol.model import ZERO_TOPIC_ID
from storage.filenames import SNAPSHOT, segment_path
from storage.producer.entry import ProducerEntry
from storage.producer.snapshot import encode_snapshot
from tests.support.fault_disk import FaultDisk
from tests.support.kafka_directories import add_replica, at, log_directory

ID = bytes(15) + b"\x07"


def test_live_replicas_are_found_with_id_and_epoch() -> None:
    disk = FaultDisk()
    directories = [log_directory(disk, "/one"), log_directory(disk, "/two")]
    add_replica(directories[0], "orders", 0, ID, epoch=3)
    add_replica(directories[1], "orders", 1, None, epoch=-1)
    for name in ("__cluster_metadata-0", f"orders-2.{'0' * 32}-delete", "lost+found"):
        disk.mkdir(f"/one/{name}")
    held = survey(directories)
    assert held.replicas.keys() == {at("orders", 0), at("orders", 1)}
    first, second = held.replicas[at("orders", 0)], held.replicas[at("orders", 1)]
    assert (first.topic_id, first.latest_epoch, first.log_dir) == (ID, 3, "/one")
    assert (second.topic_id, second.latest_epoch) == (ZERO_TOPIC_ID, -1)
    assert held.twice == []


def test_a_partition_in_two_directories_is_told() -> None:
    disk = FaultDisk()
    directories = [log_directory(disk, "/one"), log_directory(disk, "/two")]
    paths = tuple(add_replica(directory, "orders", 0, ID) for directory in directories)
    assert survey(directories).twice == [paths]


def test_unreadable_small_files_count_as_missing() -> None:
    disk = FaultDisk()
    directory = log_directory(disk)
    path = add_replica(directory, "orders", 0, ID)
    disk.write_file(f"{path}/partition.metadata", b"")
    disk.write_file(f"{path}/leader-epoch-checkpoint", b"rubbish")
    (replica,) = survey([directory]).replicas.values()
    assert (replica.topic_id, replica.latest_epoch) == (ZERO_TOPIC_ID, -1)


def test_directories_alone_tell_topics_ids_and_epochs() -> None:
    directory = log_directory(FaultDisk())
    add_replica(directory, "orders", 2, ID, epoch=4)
    add_replica(directory, "orders", 0, None, epoch=-1)
    topic = image_of_directories(survey([directory]), 1).topics["orders"]
    assert topic.topic_id == ID
    assert topic.partitions[2] == PartitionImage((1,), (1,), -1, 4)
    assert topic.partitions[0] == PartitionImage((1,), (1,), -1, 0)
    assert topic.partitions[1].replicas == ()


def test_the_highest_producer_id_is_that_of_any_readable_snapshot() -> None:
    directory = log_directory(FaultDisk())
    path = add_replica(directory, "orders", 0, ID)
    disk = directory.disk
    assert highest_producer_id([directory], survey([directory])) == -1
    for offset, producer_id in ((5, 70), (9, 30)):
        file = segment_path(path, offset, SNAPSHOT)
        disk.write_file(file, encode_snapshot([ProducerEntry(producer_id)]))
    disk.write_file(segment_path(path, 12, SNAPSHOT), b"rubbish")
    assert highest_producer_id([directory], survey([directory])) == 70
