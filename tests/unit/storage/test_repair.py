"""A repair takes over everything that is right, keeps offsets, and lists what is lost."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.topic_config import LogConfig
from protocol.records.batch import iterate_batches
from protocol.records.builder import build_batch
from storage.log.results import ReadBound
from storage.repair import LogReport, repair_log
from storage.repair_log_dir import repair_log_dir
from tests.support.fault_disk import FaultDisk
from tests.support.kept_logs import PARTITION_DIR, edit, kept_log, names
from tests.support.log_harness import LOG_DIR, LogHarness, read_all, records

TARGET = "/new"


def repaired(disk: FaultDisk, known_end_offset: int = 0) -> LogReport:
    return repair_log(disk, PARTITION_DIR, f"{TARGET}", known_end_offset, lambda _nbytes: None)


def content(disk: FaultDisk, log_dir: str) -> list[tuple[int, bytes | None]]:
    """What a broker serves from a log directory."""
    log = LogHarness(disk, LogConfig(), log_dir).log
    return read_all(log, log.log_start_offset, ReadBound.LOG_END)


def flip(disk: FaultDisk, path: str, at: int) -> None:
    edit(disk, path, at, bytes((disk.read_file(path)[at] ^ 1,)))


def position_of(disk: FaultDisk, path: str, offset: int) -> int:
    position = 0
    for batch in iterate_batches(disk.read_file(path)):
        if batch.base_offset == offset:
            return position
        position += batch.size
    raise AssertionError(offset)


def test_a_sound_log_is_copied_to_the_byte() -> None:
    disk = kept_log()
    report = repaired(disk)
    assert (report.losses, report.gaps, report.notes) == ([], [], [])
    assert (report.start_offset, report.log_end_offset, report.batches) == (0, 22, 22)
    for path in names(disk, ""):
        if not path.endswith(("index", ".tmp")):
            copy = path.replace(PARTITION_DIR, TARGET)
            assert disk.read_file(copy) == disk.read_file(path), path
    assert disk.open_count == 0


def test_a_damaged_batch_leaves_a_gap_and_is_named() -> None:
    disk = kept_log()
    path = names(disk, ".log")[0]
    position = position_of(disk, path, 4)
    flip(disk, path, position + 65)
    report = repaired(disk)
    ((first, end, where, at, reason),) = report.losses
    assert (first, end, where, at) == (4, 5, path, position)
    assert "checksum" in reason
    kept = [
        batch.base_offset for batch in iterate_batches(disk.read_file(f"{TARGET}/{0:020d}.log"))
    ]
    assert 4 not in kept
    assert {3, 5} <= set(kept)


def test_a_batch_whose_offset_was_damaged_is_told_by_the_one_behind_it() -> None:
    disk = kept_log()
    path = names(disk, ".log")[0]
    edit(disk, path, position_of(disk, path, 2) + 6, b"\1")
    report = repaired(disk)
    assert [(loss.first, loss.end) for loss in report.losses] == [(2, 3)]
    assert "is beyond that of the batch behind it" in report.losses[0].reason


def test_an_offset_that_goes_back_is_not_taken_over() -> None:
    disk = kept_log()
    path = names(disk, ".log")[0]
    edit(disk, path, position_of(disk, path, 5) + 7, b"\1")
    report = repaired(disk)
    assert [(loss.first, loss.end) for loss in report.losses] == [(5, 6)]


def test_a_lost_end_that_is_known_keeps_its_offsets_from_being_given_again() -> None:
    disk = kept_log()
    last = names(disk, ".log")[-1]
    disk.write_file(last, b"")
    report = repaired(disk, known_end_offset=22)
    assert report.log_end_offset == 22
    assert [(loss.first, loss.end) for loss in report.losses] == [] or report.losses[-1].end == 22
    assert disk.exists(f"{TARGET}/{22:020d}.log")


def test_a_file_that_cannot_be_read_is_lost_and_the_others_are_not() -> None:
    disk = kept_log()
    first, second, *_ = names(disk, ".log")
    disk.fail("pread", 5, path_ends=first)
    report = repaired(disk)
    assert report.losses[0].first == 0
    assert report.losses[0].end == int(second.rpartition("/")[2][:20])
    assert "cannot be read" in report.losses[0].reason


def test_a_missing_segment_is_a_gap_without_damage() -> None:
    disk = kept_log()
    _, second, third, *_ = names(disk, ".log")
    disk.unlink(second)
    first, end = (int(path.rpartition("/")[2][:20]) for path in (second, third))
    assert repaired(disk).gaps == [(first, end)]


def test_garbage_that_held_no_record_is_noted() -> None:
    disk = kept_log()
    path = names(disk, ".log")[0]
    disk.write_file(path, disk.read_file(path) + b"\xff" * 50)
    report = repaired(disk)
    assert report.losses == []
    assert "no record was in it" in report.notes[0]


def test_a_cleaning_that_was_cut_short_counts_as_a_start_would_take_it() -> None:
    disk = kept_log()
    first, second, *_ = names(disk, ".log")
    both = disk.read_file(first) + disk.read_file(second)
    disk.write_file(f"{first}.swap", both)
    disk.unlink(first)
    assert repaired(disk).losses == []
    copied = disk.read_file(f"{TARGET}/{0:020d}.log")
    assert copied == both
    disk = kept_log()
    disk.write_file(f"{first}.swap", both)
    disk.write_file(f"{first}.cleaned", b"")
    assert repaired(disk).batches == 22
    assert disk.read_file(f"{TARGET}/{0:020d}.log") == disk.read_file(first)


def test_without_a_target_nothing_is_written() -> None:
    disk = kept_log()
    flip(disk, names(disk, ".log")[0], 70)
    changes = disk.changes
    report = repair_log(disk, PARTITION_DIR, None, 0, lambda _nbytes: None)
    assert len(report.losses) == 1
    assert disk.changes == changes


def test_a_leader_epoch_that_the_next_batch_denies_is_not_believed() -> None:
    disk = kept_log()
    edit(disk, names(disk, ".log")[0], 15, b"\7")
    disk.unlink(f"{PARTITION_DIR}/leader-epoch-checkpoint")
    repaired(disk)
    assert disk.read_file(f"{TARGET}/leader-epoch-checkpoint") == b"0\n2\n0 1\n3 10\n"


def test_epochs_without_a_batch_stay_known_if_the_rest_agrees() -> None:
    disk = kept_log()
    disk.write_file(f"{PARTITION_DIR}/leader-epoch-checkpoint", b"0\n3\n0 0\n3 10\n5 22\n")
    repaired(disk)
    assert disk.read_file(f"{TARGET}/leader-epoch-checkpoint") == b"0\n3\n0 0\n3 10\n5 22\n"
    disk = kept_log()
    disk.write_file(f"{PARTITION_DIR}/leader-epoch-checkpoint", b"0\n2\n0 0\n3 12\n")
    repaired(disk)
    assert disk.read_file(f"{TARGET}/leader-epoch-checkpoint") == b"0\n2\n0 0\n3 10\n"


def test_producers_before_the_first_segment_are_known_from_its_snapshot() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk, LogConfig(segment_bytes=150, index_interval_bytes=100))
    data = build_batch(records([b"a"]), producer_id=4, producer_epoch=0, base_sequence=0)
    harness.log.append_as_leader(memoryview(data), 0, harness.now_ms)
    for _ in range(4):
        harness.append([b"x" * 60])
    harness.close()
    first = names(disk, ".log")[0]
    for kind in (".log", ".index", ".timeindex"):
        disk.unlink(first.replace(".log", kind))
    report = repaired(disk)
    assert report.start_offset > 0
    snapshots = [name for name in disk.listdir(TARGET) if name.endswith(".snapshot")]
    assert disk.read_file(f"{TARGET}/{max(snapshots)}") == disk.read_file(
        names(disk, ".snapshot")[-1]
    )


@settings(max_examples=40, deadline=None)
@given(
    flips=st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 7)), min_size=1, max_size=5)
)
def test_whatever_is_flipped_the_result_is_sound_and_holds_only_what_was_written(
    flips: list[tuple[int, int]],
) -> None:
    disk = kept_log()
    whole = dict(content(kept_log(), LOG_DIR))
    every = names(disk, ".log")
    for at, bit in flips:
        path = every[at % len(every)]
        data = bytearray(disk.read_file(path))
        data[at % len(data)] ^= 1 << bit
        disk.write_file(path, bytes(data))
    report = repair_log_dir(disk, LOG_DIR, TARGET, lambda _nbytes: None)
    found = dict(content(disk, TARGET))
    lost = {
        offset
        for log in report.logs
        for loss in log.losses
        for offset in range(loss.first, loss.end)
    }
    moved = {offset for offset, value in found.items() if whole.get(offset) != value}
    assert len(moved) <= len(flips), "only a base offset is beyond proof"
    assert whole.keys() - found.keys() <= lost | moved | {
        offset for log in report.logs for first, end in log.gaps for offset in range(first, end)
    }


@pytest.mark.parametrize("known", [0, 22, 40])
def test_an_empty_directory_becomes_an_empty_log(known: int) -> None:
    disk = FaultDisk()
    disk.makedirs(PARTITION_DIR)
    report = repaired(disk, known)
    assert report.log_end_offset == known
    assert disk.exists(f"{TARGET}/{known:020d}.log")
