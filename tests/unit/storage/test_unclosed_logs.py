"""A log that was not served since a crash is recovered when it is served again."""

import pytest

from config.topic_config import LogConfig
from protocol.model import TopicPartition
from protocol.records.builder import build_batch
from storage.log.results import ReadBound
from storage.log_directory import LogDirectory
from storage.log_loading import LoadReport
from storage.log_manager import LogManager
from storage.unclosed_logs import forget_unclosed, keep_unclosed, unclosed_since
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import (
    LOG_DIR,
    PARTITION,
    START_MS,
    TOPIC_ID,
    LogHarness,
    environment,
    read_all,
    records,
)

PATH = f"{LOG_DIR}/orders-0"
LOG = f"{PATH}/{0:020d}.log"
CONFIG = LogConfig()


def start(disk: FaultDisk, *, known: bool) -> tuple[LogManager, LoadReport]:
    """A broker whose metadata knows the topic, or lost it."""
    directory = LogDirectory(disk, LOG_DIR)
    directory.open()
    manager = LogManager([directory], environment())
    topic_id = TOPIC_ID if known else None
    return manager, manager.load(START_MS, lambda _topic: CONFIG, lambda _partition: topic_id)


def stop(disk: FaultDisk, manager: LogManager) -> None:
    """In order, and a power cut once all is said to be durable."""
    manager.close(START_MS, clean=True)
    disk.power_cut()


def torn() -> FaultDisk:
    """A power cut took the middle of three batches, of which the first was flushed."""
    disk = FaultDisk()
    harness = LogHarness(disk, CONFIG)
    harness.append([b"flushed"])
    harness.flush()
    harness.checkpoint()
    end = disk.file_size(LOG)
    harness.append([b"lost"])
    harness.append([b"beyond"])
    disk.sync_all()
    disk.power_cut()
    fd = disk.open(LOG)
    disk.pwrite(fd, bytes(20), end + 40)
    disk.fsync(fd)
    disk.close(fd)
    return disk


@pytest.mark.parametrize("stops", [1, 2])
def test_a_log_left_alone_after_a_crash_is_recovered_though_its_directory_is_clean(
    stops: int,
) -> None:
    disk = torn()
    for _ in range(stops):
        manager, report = start(disk, known=False)
        assert [one.path for one in report.unserved] == [PATH]
        stop(disk, manager)
    manager, report = start(disk, known=True)
    assert (report.loaded, report.recovered, report.damaged) == (1, 1, [])
    log = manager.get(PARTITION)
    assert log is not None
    assert read_all(log, 0, ReadBound.LOG_END) == [(0, b"flushed")]
    stop(disk, manager)
    manager, report = start(disk, known=True)
    assert (report.loaded, report.recovered) == (1, 0)


def test_a_start_that_ends_early_does_not_forget() -> None:
    disk = torn()
    manager, _ = start(disk, known=False)
    stop(disk, manager)
    directory = LogDirectory(disk, LOG_DIR)
    directory.open()
    manager = LogManager([directory], environment())
    tasks = manager.load_tasks(START_MS, lambda _topic: CONFIG, lambda _partition: TOPIC_ID)
    manager.abandon_load(tasks)
    assert disk.exists(f"{LOG_DIR}/.kafka_cleanshutdown")
    assert start(disk, known=True)[1].recovered == 1


def test_a_log_left_alone_after_a_clean_stop_is_trusted() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk, CONFIG)
    other = TopicPartition("other", 0)
    log = harness.manager.get_or_create(other, TOPIC_ID, CONFIG, START_MS)
    log.append_as_leader(memoryview(build_batch(records([b"x"]))), 0, START_MS)
    harness.close()
    manager, _ = start(disk, known=False)
    manager.close(START_MS, clean=True)
    assert start(disk, known=True)[1].recovered == 0


def test_a_copy_without_its_log_is_left_and_recovered_later() -> None:
    disk = FaultDisk()
    LogHarness(disk, CONFIG).close()
    disk.rename(PATH, f"{LOG_DIR}/orders-0.{1:032x}-future")
    disk.unlink(f"{LOG_DIR}/.kafka_cleanshutdown")
    manager, report = start(disk, known=True)
    (left,) = report.unserved
    assert left.path.endswith("-future")
    assert unclosed_since(disk, left.path) is not None
    manager.close(START_MS, clean=True)


def test_what_was_remembered_first_is_remembered() -> None:
    disk = FaultDisk()
    disk.makedirs(PATH)
    assert unclosed_since(disk, PATH) is None
    forget_unclosed(disk, PATH)
    keep_unclosed(disk, LOG_DIR, PATH)
    assert unclosed_since(disk, PATH) == b""
    forget_unclosed(disk, PATH)
    for name in (b"boot 1", b"boot 2"):
        disk.write_file(f"{LOG_DIR}/.boot-id", name)
        keep_unclosed(disk, LOG_DIR, PATH)
    assert unclosed_since(disk, PATH) == b"boot 1"
    forget_unclosed(disk, PATH)
    assert unclosed_since(disk, PATH) is None
