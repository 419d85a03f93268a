"""A recovery that is itself stopped, at any change it makes, is done again to the same end."""

import contextlib
import random
from collections.abc import Callable

import pytest

from config.topic_config import LogConfig
from protocol.records.builder import build_batch
from storage.audit import audit_log_dir
from storage.segment.time_index import TimeIndex
from tests.support.fault_disk import Crash, FaultDisk
from tests.support.log_harness import LOG_DIR, START_MS, LogHarness, records

CONFIG = LogConfig(
    segment_bytes=400, index_interval_bytes=80, segment_index_bytes=1024, file_delete_delay_ms=0
)
DIRECTORY = f"{LOG_DIR}/orders-0"


def lived(flushed_until: int) -> FaultDisk:
    """Fifteen batches of a producer in several segments; some of them below the recovery point."""
    disk = FaultDisk()
    harness = LogHarness(disk, CONFIG)
    for number in range(15):
        harness.append(
            [b"value-%02d" % number], 1, producer_id=5, producer_epoch=0, base_sequence=number
        )
        if number == flushed_until:
            harness.flush()
            harness.log.update_high_watermark(number)
            harness.checkpoint()
    disk.restart()
    disk.sync_all()
    return disk


def log_path(disk: FaultDisk, which: int) -> str:
    names = sorted(name for name in disk.listdir(DIRECTORY) if name.endswith(".log"))
    return f"{DIRECTORY}/{names[which]}"


def torn_tail() -> FaultDisk:
    disk = lived(8)
    path = log_path(disk, -1)
    disk.write_file(path, disk.read_file(path)[:-9])
    return disk


def a_bad_batch_in_the_midst() -> FaultDisk:
    disk = lived(4)
    path = log_path(disk, -2)
    data = bytearray(disk.read_file(path))
    data[100] ^= 1
    disk.write_file(path, bytes(data))
    return disk


def indexes_lost_below_the_recovery_point() -> FaultDisk:
    disk = lived(12)
    disk.unlink(log_path(disk, 0).replace(".log", ".index"))
    disk.write_file(log_path(disk, 1).replace(".log", ".timeindex"), b"seven b")
    return disk


def a_cleaning_that_was_swapped_in_by_half() -> FaultDisk:
    disk = lived(12)
    first, second = log_path(disk, 0), log_path(disk, 1)
    kept = build_batch(records([b"kept"], START_MS))
    disk.write_file(first.replace(".log", ".index.swap"), b"")
    times = TimeIndex.layout.pack(START_MS, 0)
    disk.write_file(first.replace(".log", ".timeindex.swap"), times)
    last = int(second[-24:-4])
    tail = build_batch(records([b"tail"], START_MS), base_offset=last)
    disk.write_file(first + ".swap", bytes(kept) + bytes(tail))
    return disk


Made = Callable[[], FaultDisk]
CASES = [
    torn_tail,
    a_bad_batch_in_the_midst,
    indexes_lost_below_the_recovery_point,
    a_cleaning_that_was_swapped_in_by_half,
]


def files(disk: FaultDisk) -> dict[str, bytes]:
    return {name: disk.read_file(f"{DIRECTORY}/{name}") for name in disk.listdir(DIRECTORY)}


def state(harness: LogHarness) -> list[object]:
    log = harness.log
    return [
        harness.content(),
        log.log_start_offset,
        log.log_end_offset,
        log.latest_epoch,
        [(entry.producer_id, entry.last_sequence) for entry in log.active_producers()],
    ]


@pytest.mark.parametrize("case", CASES)
def test_a_second_recovery_changes_no_file(case: Made) -> None:
    disk = case()
    disk.sync_all()
    first = state(LogHarness(disk, CONFIG))
    disk.restart()
    after = files(disk)
    assert state(LogHarness(disk, CONFIG)) == first
    assert files(disk) == after
    assert audit_log_dir(disk, LOG_DIR) == []


@pytest.mark.parametrize("power_cut", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_a_stopped_recovery_is_done_again_to_the_same_end(case: Made, power_cut: bool) -> None:
    disk = case()
    disk.sync_all()
    expected = state(LogHarness(disk, CONFIG))
    for change in range(1, 200):
        disk = case()
        disk.sync_all()
        disk.torn_writes = True
        disk.crash_at(change)
        with contextlib.suppress(Crash):
            LogHarness(disk, CONFIG)
            return
        if power_cut:
            disk.power_cut(random.Random(change))
        else:
            disk.restart()
        harness = LogHarness(disk, CONFIG)
        assert harness.report.damaged == [], change
        assert state(harness) == expected, change
        disk.restart()
        LogHarness(disk, CONFIG).close()
        assert audit_log_dir(disk, LOG_DIR) == [], change
    raise AssertionError("never came to its end")
