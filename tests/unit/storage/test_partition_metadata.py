"""partition.metadata says which topic a directory belongs to, durably."""

import pytest

from storage.errors import CorruptFileError
from storage.partition_metadata import (
    encode_partition_metadata,
    read_topic_id,
    sync_topic_id,
    write_topic_id,
)
from tests.support.fault_disk import FaultDisk
from tests.support.storage_golden import PARTITIONS, disk_with, golden_partition

TOPIC_ID = bytes(range(16))


@pytest.mark.parametrize("name", PARTITIONS)
def test_kafka_s_file_is_read_and_written_alike(name: str) -> None:
    topic_id = read_topic_id(disk_with(name), name)
    assert topic_id is not None
    assert encode_partition_metadata(topic_id) == golden_partition(name)["partition.metadata"]


def test_there_may_be_none() -> None:
    assert read_topic_id(FaultDisk(), "/") is None


@pytest.mark.parametrize("sync", [True, False])
def test_an_id_survives_a_power_cut(sync: bool) -> None:
    disk = FaultDisk()
    disk.mkdir("/d")
    disk.sync_all()
    write_topic_id(disk, "/d", TOPIC_ID, sync=sync)
    if not sync:
        sync_topic_id(disk, "/d")
    disk.power_cut()
    assert read_topic_id(disk, "/d") == TOPIC_ID


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"version: 1\ntopic_id: 4rksbjtcQjaJx41Svz72OA",
        b"version: 0\n",
        b"version: 0\ntopic_id: short",
        b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA",
        b"nonsense",
        b"\xff",
    ],
)
def test_anything_else_is_refused(content: bytes) -> None:
    disk = FaultDisk()
    disk.write_file("/partition.metadata", content)
    with pytest.raises(CorruptFileError):
        read_topic_id(disk, "")
