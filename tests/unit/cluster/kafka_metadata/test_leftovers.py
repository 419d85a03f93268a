"""What only Tidelog understands is put into Kafka's words, whenever it dies meanwhile."""

import pytest

from cluster.kafka_metadata.held import survey
from cluster.kafka_metadata.leftovers import (
    name_broker_epoch,
    name_brokers,
    name_topics,
    settle_checkpoints,
)
from storage.log_directory import LogDirectory
from storage.log_dirs import (
    MetaProperties,
    read_meta_properties,
    take_clean_shutdown_mark,
    write_clean_shutdown_mark,
)
from storage.partition_metadata import read_topic_id
from storage.reused_names import is_newer_than_checkpoints, mark_newer
from tests.support.fault_disk import Crash, FaultDisk
from tests.support.kafka_directories import ROOT, add_replica, alone, at, image, log_directory

ID = bytes(15) + b"\x07"
OFFSETS = {at("new"): 5, at("old"): 7}


def doubted(disk: FaultDisk) -> LogDirectory:
    directory = log_directory(disk)
    path = add_replica(directory, "new", 0, ID)
    add_replica(directory, "old", 0, ID)
    for file in (directory.recovery_points, directory.log_starts, directory.high_watermarks):
        file.write(OFFSETS)
    mark_newer(directory.disk, path)
    directory.disk.fsync_dir(path)
    directory.disk.fsync_dir(ROOT)
    return directory


def settle(directory: LogDirectory) -> None:
    settle_checkpoints([directory], survey([directory]))


def test_checkpoints_speak_of_no_log_they_were_not_written_for() -> None:
    directory = doubted(FaultDisk())
    settle(directory)
    for file in (directory.recovery_points, directory.log_starts, directory.high_watermarks):
        assert file.read() == {at("old"): 7}
    assert not is_newer_than_checkpoints(directory.disk, f"{ROOT}/new-0")


@pytest.mark.parametrize("change", range(1, 20))
def test_a_mark_goes_only_after_the_entries_it_denies(change: int) -> None:
    disk = FaultDisk()
    directory = doubted(disk)
    disk.crash_at(change)
    try:
        settle(directory)
    except Crash:
        pass
    disk.power_cut()
    again = LogDirectory(disk, ROOT)
    for file in (again.recovery_points, again.log_starts, again.high_watermarks):
        marked = is_newer_than_checkpoints(disk, f"{ROOT}/new-0")
        assert file.read() == {at("old"): 7} or (marked and file.read() == OFFSETS)


def test_directories_without_doubts_are_not_written() -> None:
    disk = FaultDisk()
    directory = log_directory(disk)
    add_replica(directory, "old", 0, ID)
    before = disk.changes
    settle(directory)
    assert disk.changes == before


def test_a_replica_that_lost_its_topics_id_gets_it_back() -> None:
    directory = log_directory(FaultDisk())
    path = add_replica(directory, "orders", 0, None)
    add_replica(directory, "unknown", 0, None)
    ours = image({"orders": (ID, {0: alone()})})
    name_topics([directory], survey([directory]), ours)
    assert read_topic_id(directory.disk, path) == ID
    assert read_topic_id(directory.disk, f"{ROOT}/unknown-0") is None


def test_brokers_with_zookeeper_are_named_as_such() -> None:
    disk = FaultDisk()
    meta = MetaProperties(1, 4, "neWjG8c6QXGTHmQX52fApw", "FuLjb99hARicF1CY18Rl7A")
    directories = [log_directory(disk, "/one", meta), log_directory(disk, "/two")]
    assert name_brokers(directories, 0) == ["/one"]
    assert read_meta_properties(disk, "/one") == meta._replace(version=0)
    assert b"broker.id=4" in disk.read_file("/one/meta.properties")


def test_only_a_clean_shutdown_is_told_with_the_epoch_kafka_knows() -> None:
    disk = FaultDisk()
    clean, unclean = log_directory(disk, "/one"), log_directory(disk, "/two")
    write_clean_shutdown_mark(disk, "/one", 3)
    name_broker_epoch([clean, unclean], 17)
    assert take_clean_shutdown_mark(disk, "/one") == 17
    assert take_clean_shutdown_mark(disk, "/two") is None
