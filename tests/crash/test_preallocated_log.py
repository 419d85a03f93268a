"""KIP-20: a segment's file is as large as it may become from the start, and never afterwards."""

import contextlib
import random

import pytest

from config.topic_config import LogConfig
from storage.audit import audit_log_dir
from tests.support.fault_disk import Crash, FaultDisk
from tests.support.log_harness import LOG_DIR, PARTITION, LogHarness

CONFIG = LogConfig(
    segment_bytes=500, index_interval_bytes=100, preallocate=True, file_delete_delay_ms=0
)
DIRECTORY = f"{LOG_DIR}/orders-0"


def sizes(disk: FaultDisk) -> list[int]:
    names = sorted(name for name in disk.listdir(DIRECTORY) if name.endswith(".log"))
    return [disk.file_size(f"{DIRECTORY}/{name}") for name in names]


def test_a_file_has_its_full_size_until_it_is_rolled_or_closed() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk, CONFIG)
    assert sizes(disk) == [500]
    harness.append([b"x" * 200])
    first = harness.log.size
    assert (sizes(disk), first < 500) == ([500], True)
    harness.append([b"x" * 300])
    assert sizes(disk) == [first, 500], "rolled"
    harness.close()
    assert sizes(disk) == [segment.size for segment in harness.log.segments], "closed"
    again = LogHarness(disk, CONFIG)
    assert again.append([b"y"]) == (2, 2)
    assert sizes(disk)[-1] == again.log.segments.active.size, (
        "an existing file is opened at its end"
    )
    assert [value for _, value in again.content()] == [b"x" * 200, b"x" * 300, b"y"]


def test_a_kill_leaves_zeros_that_recovery_takes_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk = FaultDisk()
    harness = LogHarness(disk, CONFIG)
    harness.append([b"x"])
    disk.restart()
    assert sizes(disk) == [500]
    again = LogHarness(disk, CONFIG)
    assert sizes(disk) == [again.log.size]
    assert again.log.log_end_offset == 1
    assert [record for record in caplog.records if record.levelname != "INFO"] == []


def test_zeros_behind_the_records_of_a_clean_log_are_no_damage() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk, CONFIG)
    harness.append([b"x"])
    harness.close()
    path = f"{DIRECTORY}/{0:020d}.log"
    data = disk.read_file(path)
    disk.write_file(path, data + bytes(300))
    again = LogHarness(disk, CONFIG)
    assert again.manager.get(PARTITION) is again.log
    assert again.append([b"y"]) == (1, 1)
    assert disk.read_file(path).startswith(data)


def live(disk: FaultDisk, acknowledged: list[bytes], flushed: list[bytes]) -> None:
    harness = LogHarness(disk, CONFIG)
    for number in range(12):
        value = b"%02d" % number * 40
        harness.append([value])
        acknowledged.append(value)
        if number % 5 == 4:
            harness.flush()
            flushed[:] = acknowledged
            harness.checkpoint()
    harness.close()
    flushed[:] = acknowledged


@pytest.mark.parametrize("power_cut", [False, True])
def test_a_preallocated_log_stopped_at_any_change_keeps_what_it_promised(power_cut: bool) -> None:
    for change in range(1, 400):
        disk = FaultDisk()
        acknowledged: list[bytes] = []
        flushed: list[bytes] = []
        disk.torn_writes = True
        disk.crash_at(change)
        with contextlib.suppress(Crash):
            live(disk, acknowledged, flushed)
            return
        if power_cut:
            disk.power_cut(random.Random(change))
        else:
            disk.restart()
        kept = flushed if power_cut else acknowledged
        first = LogHarness(disk, CONFIG)
        assert first.report.damaged == [], change
        content = first.content()
        assert [value for _, value in content][: len(kept)] == kept, change
        disk.restart()
        assert LogHarness(disk, CONFIG).content() == content, change
        disk.restart()
        LogHarness(disk, CONFIG).close()
        assert audit_log_dir(disk, LOG_DIR) == [], change
    raise AssertionError("never came to its end")
