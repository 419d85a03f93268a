"""What becomes of a directory that has the name of a log that is to be made."""

from collections.abc import Callable

import pytest

from protocol.errors import KafkaError
from storage.log_directory import LogDirectory
from storage.log_manager import LogManager
from storage.partition_metadata import write_topic_id
from storage.taken_names import clear_name
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import (
    LOG_DIR,
    PARTITION,
    START_MS,
    TOPIC_ID,
    LogHarness,
    environment,
)

PATH = f"{LOG_DIR}/orders-0"
OTHER_ID = bytes([9] * 16)
Prepare = Callable[[FaultDisk], None]


def nothing(_disk: FaultDisk) -> None:
    """A directory without a file."""


def empty_log(disk: FaultDisk) -> None:
    disk.write_file(f"{PATH}/{0:020d}.log", b"")
    disk.write_file(f"{PATH}/partition.metadata", b"version: 0\ntopic")


def some_bytes(disk: FaultDisk) -> None:
    disk.write_file(f"{PATH}/{0:020d}.log", b"x")


def of_this_topic(disk: FaultDisk) -> None:
    write_topic_id(disk, PATH, TOPIC_ID)


def of_another(disk: FaultDisk) -> None:
    some_bytes(disk)
    write_topic_id(disk, PATH, OTHER_ID)


def clear(prepare: Prepare, topic_id: bytes, *, is_new: bool) -> list[str]:
    disk = FaultDisk()
    disk.makedirs(PATH)
    prepare(disk)
    directory = LogDirectory(disk, LOG_DIR)
    found = clear_name([directory], PARTITION, topic_id, environment().unique, is_new=is_new)
    assert found == [directory]
    return disk.listdir(LOG_DIR)


@pytest.mark.parametrize(
    ("prepare", "is_new"),
    [
        (nothing, False),
        (empty_log, False),
        (of_another, False),
        (some_bytes, True),
        (of_another, True),
    ],
)
def test_what_is_of_another_topic_or_nothing_is_set_aside(prepare: Prepare, is_new: bool) -> None:
    (name,) = clear(prepare, TOPIC_ID, is_new=is_new)
    assert name.endswith("-stray")


@pytest.mark.parametrize(
    ("prepare", "topic_id", "is_new"),
    [
        (some_bytes, TOPIC_ID, False),
        (some_bytes, bytes(16), True),
        (of_this_topic, TOPIC_ID, False),
        (of_this_topic, TOPIC_ID, True),
    ],
)
def test_what_may_hold_records_of_the_topic_stays(
    prepare: Prepare, topic_id: bytes, is_new: bool
) -> None:
    with pytest.raises(KafkaError, match="exists and is not served"):
        clear(prepare, topic_id, is_new=is_new)


def test_a_directory_that_is_offline_is_not_asked() -> None:
    directory = LogDirectory(FaultDisk(), LOG_DIR)
    directory.offline = True
    unique = environment().unique
    assert clear_name([directory], PARTITION, TOPIC_ID, unique, is_new=True) == []


def test_a_topic_is_made_anew_though_a_power_cut_brought_its_predecessor_back() -> None:
    """Deleted before its first flush, it comes back with records and without an identity."""
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"of the old one"])
    harness.flush()
    disk.write_file(f"{PATH}/partition.metadata", b"")
    harness.manager.delete_async(PARTITION, START_MS)
    disk.power_cut()
    directory = LogDirectory(disk, LOG_DIR)
    directory.open()
    manager = LogManager([directory], environment(first_unique=9))
    manager.load(START_MS, lambda _topic: harness.config, lambda _partition: None)
    log = manager.get_or_create(PARTITION, OTHER_ID, harness.config, START_MS, is_new=True)
    assert log.log_end_offset == 0
    assert sum(name.endswith("-stray") for name in disk.listdir(LOG_DIR)) == 1
