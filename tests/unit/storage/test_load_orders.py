"""A loading carried out elsewhere ends as one here does: with a log, a failure, or damage."""

import errno

import pytest

from storage.load_orders import LoadOutcome, execute
from storage.log_directory import LogDirectory
from storage.log_loading import LoadTask
from storage.log_manager import LogManager
from storage.segment.recovery import unwatched
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import (
    LOG_DIR,
    START_MS,
    TOPIC_ID,
    LogHarness,
    environment,
)

LOG = f"{LOG_DIR}/orders-0/{0:020d}.log"


def started(disk: FaultDisk) -> tuple[LogManager, LoadTask]:
    directory = LogDirectory(disk, LOG_DIR)
    directory.open()
    harness_config = LogHarness(FaultDisk()).config
    manager = LogManager([directory], environment())
    (task,) = manager.load_tasks(START_MS, lambda _t: harness_config, lambda _p: TOPIC_ID)
    return manager, task


def killed() -> FaultDisk:
    disk = FaultDisk()
    harness = LogHarness(disk)
    for value in (b"a", b"b"):
        harness.append([value])
    harness.flush()
    harness.checkpoint()
    harness.append([b"c"])
    disk.restart()
    return disk


def carried_out(disk: FaultDisk) -> tuple[LogManager, LoadTask, LoadOutcome]:
    manager, task = started(disk)
    outcome = execute(task.order(), disk, unwatched)
    task.take(outcome)
    return manager, task, outcome


def test_the_log_that_comes_back_is_taken_in() -> None:
    manager, task, _ = carried_out(killed())
    report = manager.finish_load([task])
    assert (report.loaded, report.recovered) == (1, 1)
    assert manager.all_logs()[0].log_end_offset == 3
    assert task.changed_files


def test_a_disk_that_fails_there_fails_here() -> None:
    disk = killed()
    disk.fail("listdir", errno.EIO, path_ends="orders-0")
    manager, task, outcome = carried_out(disk)
    assert outcome.error is not None
    assert manager.finish_load([task]).offline == [LOG_DIR]


def test_damage_found_there_is_told_here() -> None:
    disk = killed()
    data = bytearray(disk.read_file(LOG))
    data[65] ^= 1
    disk.write_file(LOG, bytes(data))
    manager, task, _ = carried_out(disk)
    (found,) = manager.finish_load([task]).damaged
    assert found.cause.path == LOG


def test_what_the_watch_raises_gives_it_up() -> None:
    disk = killed()
    _, task = started(disk)

    def stop(_nbytes: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(task.order(), disk, stop)


def test_a_recovery_is_measured_from_the_segment_of_the_recovery_point_on() -> None:
    disk = killed()
    disk.write_file(f"{LOG_DIR}/orders-0/{3:020d}.log", b"12345")
    disk.write_file(f"{LOG_DIR}/orders-0/{9:020d}.log", b"1234567")
    _, task = started(disk)
    assert task.measure() == (3, disk.file_size(LOG) + 12)
    disk.restart()
    disk.write_file(f"{LOG_DIR}/recovery-point-offset-checkpoint", b"0\n1\norders 0 5\n")
    _, task = started(disk)
    assert task.measure() == (2, 12)
    disk.fail("listdir", errno.EIO, path_ends="orders-0")
    assert task.measure() == (0, 0)
