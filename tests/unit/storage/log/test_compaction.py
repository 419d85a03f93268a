"""A cleaned segment takes the place of those it was made of, whole or not at all."""

import random

import pytest

from storage.audit import audit_log_dir
from storage.filenames import CLEANED, LOG, OFFSET_INDEX, TIME_INDEX, segment_path
from storage.log.compaction import remove_cleaned, swap_in
from storage.log.results import ReadBound
from storage.segment.time_index import TimeIndex
from tests.support.cleaning import CleaningHarness
from tests.support.fault_disk import Crash, FaultDisk
from tests.support.log_harness import LOG_DIR, START_MS, read_all

DIRECTORY = f"{LOG_DIR}/orders-0"


def filled(disk: FaultDisk) -> CleaningHarness:
    """Three sealed segments and an active one; a `.cleaned` segment for the first two."""
    harness = CleaningHarness(disk)
    for name in (b"first", b"second", b"third"):
        harness.put([(b"k", name)])
        harness.put([(b"l", name)])
        harness.roll()
    harness.flush()
    harness.checkpoint()
    made = {
        LOG: disk.read_file(segment_path(DIRECTORY, 2, LOG)),
        OFFSET_INDEX: b"",
        TIME_INDEX: TimeIndex.layout.pack(START_MS, 2),
    }
    for kind, data in made.items():
        disk.write_file(segment_path(DIRECTORY, 0, kind, CLEANED), data, sync=True)
    disk.fsync_dir(DIRECTORY)
    return harness


OLD = [(n, name) for n, name in enumerate([b"first"] * 2 + [b"second"] * 2 + [b"third"] * 2)]


def test_readers_find_the_new_segment_and_those_of_the_old_keep_theirs() -> None:
    disk = FaultDisk()
    harness = filled(disk)
    held = harness.log.read(0, 1000, ReadBound.LOG_END, True).slice
    assert held is not None
    jobs = swap_in(harness.log, 0, (0, 2), harness.now_ms)
    assert jobs is not None
    assert harness.bases() == [0, 4, 6]
    assert harness.content() == OLD[2:]
    harness.run(jobs)
    assert b"first" in held.read()
    held.release()
    names = disk.listdir(DIRECTORY)
    assert not [name for name in names if name.endswith((".deleted", ".swap", ".cleaned"))]
    assert segment_path("", 2, ".snapshot")[1:] not in names
    assert audit_log_dir(disk, LOG_DIR) == []


def test_positions_remembered_of_old_files_are_forgotten() -> None:
    harness = filled(FaultDisk())
    log = harness.log
    log.high_watermark = 3
    assert read_all(log, 2, ReadBound.HIGH_WATERMARK) == [(2, b"second")]
    swap_in(log, 0, (0, 2), harness.now_ms)
    assert read_all(log, 0, ReadBound.HIGH_WATERMARK) == [(2, b"second")]


@pytest.mark.parametrize("replaced", [(0, 3), (2, 0), (0, 2, 4, 6), (4, 6)])
def test_a_log_that_has_other_segments_is_left_alone(replaced: tuple[int, ...]) -> None:
    disk = FaultDisk()
    harness = filled(disk)
    before = set(disk.listdir(DIRECTORY))
    assert swap_in(harness.log, 0, replaced, harness.now_ms) is None
    assert set(disk.listdir(DIRECTORY)) == before
    assert harness.content() == OLD


def test_appends_go_on_and_a_restart_finds_the_same() -> None:
    disk = FaultDisk()
    harness = filled(disk)
    harness.run(swap_in(harness.log, 0, (0, 2), harness.now_ms) or ())
    harness.put([(b"k", b"more")])
    wanted = harness.content()
    harness.close()
    again = CleaningHarness(disk)
    assert again.content() == wanted == [*OLD[2:], (6, b"more")]


def changes_of_a_swap() -> int:
    disk = FaultDisk()
    harness = filled(disk)
    before = disk.changes
    harness.run(swap_in(harness.log, 0, (0, 2), harness.now_ms) or ())
    return disk.changes - before


@pytest.mark.parametrize("power_cut", [False, True, 1, 2, 3])
@pytest.mark.parametrize("change", range(1, changes_of_a_swap() + 1))
def test_stopped_anywhere_the_old_segments_are_found_or_the_new_one(
    change: int, power_cut: int
) -> None:
    disk = FaultDisk()
    harness = filled(disk)
    disk.crash_at(change)
    with pytest.raises(Crash):
        harness.run(swap_in(harness.log, 0, (0, 2), harness.now_ms) or ())
    if power_cut is False:
        disk.restart()
    else:
        disk.power_cut(None if power_cut is True else random.Random(power_cut))
    again = CleaningHarness(disk)
    assert again.content() in (OLD, OLD[2:])
    assert audit_log_dir(disk, LOG_DIR) == []
    assert {name.rpartition(".")[2] for name in disk.listdir(DIRECTORY)}.isdisjoint(
        {"cleaned", "swap", "deleted"}
    )


def test_what_a_cleaning_left_is_removed_and_nothing_else() -> None:
    disk = FaultDisk()
    harness = filled(disk)
    remove_cleaned(disk, DIRECTORY)
    assert not [name for name in disk.listdir(DIRECTORY) if name.endswith(CLEANED)]
    assert harness.content() == OLD
