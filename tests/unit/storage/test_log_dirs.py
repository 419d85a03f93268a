"""Whose a log directory is, and whether it was closed cleanly."""

import datetime

import pytest

from storage.errors import CorruptFileError
from storage.log_dirs import (
    MetaProperties,
    encode_meta_properties,
    read_meta_properties,
    take_clean_shutdown_mark,
    write_clean_shutdown_mark,
    write_meta_properties,
)
from tests.support.fault_disk import Crash, FaultDisk
from tests.support.storage_golden import golden_files

KAFKA_S = MetaProperties(1, 1, "Mq01w22PRYSZN3vS7nX1CA", "kzEWHiXdTWWGvVF1d5aJDw")
WRITTEN = datetime.datetime(2026, 11, 21, 17, 55, 55, tzinfo=datetime.UTC)
WRITTEN_MS = int(WRITTEN.timestamp()) * 1000


def disk_with(content: bytes, name: str = "meta.properties") -> FaultDisk:
    disk = FaultDisk()
    disk.mkdir("/d")
    disk.write_file(f"/d/{name}", content)
    disk.sync_all()
    return disk


def test_kafka_s_file_is_read_and_written_alike() -> None:
    content = golden_files()["meta.properties"]
    assert read_meta_properties(disk_with(content), "/d") == KAFKA_S
    assert encode_meta_properties(KAFKA_S, WRITTEN_MS) == content


@pytest.mark.parametrize(
    "properties",
    [
        KAFKA_S,
        MetaProperties(0, 5, "cluster", None),
        MetaProperties(0, 5, None, None),
        MetaProperties(1, 0, "cluster", None),
    ],
)
def test_what_is_written_is_read_back_after_a_power_cut(properties: MetaProperties) -> None:
    disk = FaultDisk()
    disk.mkdir("/d")
    disk.sync_all()
    assert read_meta_properties(disk, "/d") is None
    write_meta_properties(disk, "/d", properties, WRITTEN_MS)
    disk.power_cut()
    assert read_meta_properties(disk, "/d") == properties


def test_version_0_names_the_broker() -> None:
    text = encode_meta_properties(MetaProperties(0, 5, "c", "d"), 0).decode().split("\n")
    assert text[1:] == [
        "#Thu Jan 01 00:00:00 UTC 1970",
        "broker.id=5",
        "directory.id=d",
        "version=0",
        "cluster.id=c",
        "",
    ]


def test_properties_may_be_written_by_hand() -> None:
    content = b"! note\n\n version = 1\nnode.id: 7\ncluster.id=a\\=b\n"
    assert read_meta_properties(disk_with(content), "/d") == MetaProperties(1, 7, "a=b", None)


@pytest.mark.parametrize(
    "content",
    [b"", b"version=1\n", b"version=2\nnode.id=1\n", b"version=x\n", b"version=0\nnode.id=1\n"],
)
def test_anything_else_is_refused(content: bytes) -> None:
    with pytest.raises(CorruptFileError):
        read_meta_properties(disk_with(content), "/d")


def test_the_clean_mark_is_kafka_s_and_is_taken_once() -> None:
    content = golden_files()[".kafka_cleanshutdown"]
    disk = FaultDisk()
    disk.mkdir("/d")
    write_clean_shutdown_mark(disk, "/d", 16)
    assert disk.read_file("/d/.kafka_cleanshutdown") == content
    assert take_clean_shutdown_mark(disk, "/d") == 16
    assert take_clean_shutdown_mark(disk, "/d") is None


@pytest.mark.parametrize("content", [b"", b"nonsense", b'{"version":0}', b'{"brokerEpoch":x}'])
def test_the_mark_counts_whatever_it_holds(content: bytes) -> None:
    assert take_clean_shutdown_mark(disk_with(content, ".kafka_cleanshutdown"), "/d") == -1


def test_a_mark_that_was_taken_does_not_come_back() -> None:
    disk = FaultDisk()
    disk.mkdir("/d")
    disk.sync_all()
    write_clean_shutdown_mark(disk, "/d")
    assert take_clean_shutdown_mark(disk, "/d") == -1
    disk.power_cut()
    assert take_clean_shutdown_mark(disk, "/d") is None


def test_a_crash_while_writing_the_mark_leaves_none_or_a_whole_one() -> None:
    for change in range(1, 6):
        disk = FaultDisk()
        disk.mkdir("/d")
        disk.sync_all()
        disk.crash_at(change)
        with pytest.raises(Crash):
            write_clean_shutdown_mark(disk, "/d", 3)
        disk.restart()
        assert take_clean_shutdown_mark(disk, "/d") in (None, 3)


def test_an_unknown_version_is_called_that_whatever_else_the_file_holds() -> None:
    with pytest.raises(CorruptFileError, match="unrecognized version 2"):
        read_meta_properties(disk_with(b"version=2\nbroker.uuid=x\n"), "/d")
