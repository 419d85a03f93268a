"""A segment that reaches beyond what its indexes can name becomes several, whenever it stops."""

import contextlib
import random

import pytest

from config.topic_config import LogConfig
from protocol.records.builder import build_batch
from storage.audit import audit_log_dir
from storage.log.splitting import split_overflowed
from storage.log.tidying import tidy
from tests.support.fault_disk import Crash, FaultDisk
from tests.support.log_harness import LOG_DIR, LogHarness, records

COMPACTED = LogConfig(compact=True, delete=False)
"""Where offsets are missing: elsewhere that means records are lost."""
FAR = 2**31 + 5
VALUES = [(0, b"a"), (1, b"b"), (FAR, b"c"), (FAR + 1, b"d"), (3 * FAR, b"e")]
DIRECTORY = f"{LOG_DIR}/orders-0"
DATA = b"".join(bytes(build_batch(records([value]), base_offset=at)) for at, value in VALUES)
BATCH = len(DATA) // len(VALUES)


def written(*, clean: bool) -> FaultDisk:
    """A log whose one segment holds offsets up to six times what fits; more was appended after."""
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"x"])
    harness.flush()
    harness.checkpoint()
    if clean:
        harness.close()
    disk.restart()
    disk.write_file(f"{DIRECTORY}/{0:020d}.log", DATA)
    after = build_batch(records([b"f"]), base_offset=4 * FAR)
    disk.write_file(f"{DIRECTORY}/{4 * FAR:020d}.log", bytes(after))
    if clean:
        for kind in (".index", ".timeindex"):
            disk.write_file(f"{DIRECTORY}/{4 * FAR:020d}{kind}", b"")
    disk.sync_all()
    return disk


def test_each_part_holds_what_fits_and_the_rest_goes_with_the_last() -> None:
    disk = FaultDisk()
    disk.mkdir("/log")
    disk.write_file(f"/log/{0:020d}.log", DATA + b"half a batch")
    assert split_overflowed(disk, "/log", 0) == [0, FAR, 3 * FAR]
    found = tidy(disk, "/log")
    assert found.base_offsets == [0, FAR, 3 * FAR]
    assert [disk.file_size(f"/log/{base:020d}.log") for base in found.base_offsets] == [
        2 * BATCH,
        2 * BATCH,
        BATCH + len(b"half a batch"),
    ]


@pytest.mark.parametrize("clean", [True, False])
def test_an_overflowed_segment_is_split_when_its_log_is_loaded(clean: bool) -> None:
    harness = LogHarness(written(clean=clean), COMPACTED)
    assert harness.content() == [*VALUES, (4 * FAR, b"f")]
    assert [segment.base_offset for segment in harness.log.segments] == [
        0,
        FAR,
        3 * FAR,
        4 * FAR,
    ]


@pytest.mark.parametrize("power_cut", [True, False])
def test_a_split_stopped_at_any_change_loses_and_repeats_nothing(power_cut: bool) -> None:
    for change in range(1, 200):
        disk = written(clean=False)
        disk.crash_at(change)
        with contextlib.suppress(Crash):
            LogHarness(disk, COMPACTED)
            return
        if power_cut:
            disk.power_cut(random.Random(change))
        else:
            disk.restart()
        assert LogHarness(disk, COMPACTED).content() == [*VALUES, (4 * FAR, b"f")], change
        disk.restart()
        assert LogHarness(disk, COMPACTED).content() == [*VALUES, (4 * FAR, b"f")], change
        assert audit_log_dir(disk, LOG_DIR) == [], change
    raise AssertionError("never came to its end")
