"""Repairing a log directory: the result is whole and closed cleanly, or not there at all."""

import contextlib

import pytest

from config.topic_config import LogConfig
from storage.audit import Question, audit_log_dirs
from storage.invariants.finding import Severity
from storage.log_dirs import MetaProperties, write_meta_properties
from storage.repair_log_dir import (
    PARTIAL,
    DirectoryReport,
    repair_log_dir,
    repair_partition_directory,
)
from tests.support.fault_disk import Crash, FaultDisk
from tests.support.kept_logs import PARTITION_DIR, kept_log, names
from tests.support.log_harness import LOG_DIR, LogHarness

TARGET = "/new"


def repaired(disk: FaultDisk, target: str | None = TARGET) -> DirectoryReport:
    return repair_log_dir(disk, LOG_DIR, target, lambda _nbytes: None)


def damaged() -> FaultDisk:
    disk = kept_log()
    write_meta_properties(disk, LOG_DIR, MetaProperties(1, 3, None, None), 0)
    path = names(disk, ".log")[1]
    data = bytearray(disk.read_file(path))
    data[70] ^= 1
    disk.write_file(path, bytes(data))
    disk.sync_all()
    return disk


def wrong(disk: FaultDisk, log_dir: str) -> list[str]:
    every = audit_log_dirs(disk, [log_dir], Question(deep=True))
    return [str(finding) for finding in every if finding.severity >= Severity.WARNING]


def test_a_damaged_directory_becomes_a_sound_one() -> None:
    disk = damaged()
    assert wrong(disk, LOG_DIR)
    report = repaired(disk)
    assert report.lost == 1
    assert wrong(disk, TARGET) == []
    assert disk.read_file(f"{TARGET}/meta.properties") == disk.read_file(
        f"{LOG_DIR}/meta.properties"
    )
    assert not disk.exists(TARGET + PARTIAL)


def test_a_broker_goes_on_where_the_log_ended() -> None:
    disk = damaged()
    repaired(disk)
    harness = LogHarness(disk, LogConfig(), TARGET)
    assert harness.append([b"next"], epoch=3) == (22, 22)
    values = dict(harness.content())
    assert len(values) == 21
    assert values[22] == b"next"


def test_the_source_is_not_touched() -> None:
    disk = damaged()
    before = len(disk.calls)
    repaired(disk)
    assert {path.startswith(TARGET) or path == "/" for _, path in disk.calls[before:]} == {True}


def test_what_is_not_taken_over_is_named() -> None:
    disk = damaged()
    for state in ("delete", "future", "stray"):
        disk.makedirs(f"{LOG_DIR}/gone-1.{'0' * 32}-{state}")
    disk.write_file(f"{LOG_DIR}/notes.txt", b"x")
    disk.write_file(f"{LOG_DIR}/replication-offset-checkpoint", b"rubbish")
    left = dict(repaired(disk).left_out)
    assert left[f"{LOG_DIR}/notes.txt"] == "not a file of a log directory"
    assert sum("not the directory of a live log" in reason for reason in left.values()) == 3
    assert "made anew" in left[f"{LOG_DIR}/replication-offset-checkpoint"]
    assert sorted(disk.listdir(TARGET)) == sorted(
        ["orders-0", "meta.properties", ".kafka_cleanshutdown"]
        + [f"{name}-offset-checkpoint" for name in ("recovery-point", "log-start", "cleaner")]
        + ["replication-offset-checkpoint"]
    )


def test_metadata_is_copied_as_it_is() -> None:
    disk = damaged()
    disk.makedirs(f"{LOG_DIR}/__cluster_metadata-0")
    disk.write_file(f"{LOG_DIR}/__cluster_metadata-0/quorum-state", b"{}")
    disk.write_file(f"{LOG_DIR}/tidelog-metadata.sqlite", b"tables")
    disk.write_file(f"{LOG_DIR}/tidelog-metadata.sqlite-wal", b"more")
    repaired(disk)
    assert disk.read_file(f"{TARGET}/__cluster_metadata-0/quorum-state") == b"{}"
    assert disk.read_file(f"{TARGET}/tidelog-metadata.sqlite-wal") == b"more"


def test_one_partition_can_be_repaired_by_itself() -> None:
    disk = damaged()
    report = repair_partition_directory(disk, PARTITION_DIR, "/orders-0", lambda _nbytes: None)
    assert report.lost == 1
    assert disk.exists("/orders-0/leader-epoch-checkpoint")


def test_a_dry_run_says_the_same_and_writes_nothing() -> None:
    disk = damaged()
    changes = disk.changes
    dry = repaired(disk, None)
    assert disk.changes == changes
    assert dry.lost == repaired(disk).lost


def test_log_start_and_first_dirty_offsets_are_kept_within_the_log() -> None:
    disk = damaged()
    disk.write_file(f"{LOG_DIR}/log-start-offset-checkpoint", b"0\n1\norders 0 2\n")
    disk.write_file(f"{LOG_DIR}/cleaner-offset-checkpoint", b"0\n1\norders 0 99\n")
    repaired(disk)
    assert disk.read_file(f"{TARGET}/log-start-offset-checkpoint") == b"0\n1\norders 0 2\n"
    assert disk.read_file(f"{TARGET}/cleaner-offset-checkpoint") == b"0\n1\norders 0 22\n"


def test_a_partition_that_cannot_be_listed_is_left_out() -> None:
    disk = damaged()
    disk.fail("listdir", 5, path_ends="orders-0")
    ((path, reason),) = repaired(disk).left_out
    assert path == PARTITION_DIR
    assert "cannot be read" in reason


def test_a_full_target_disk_ends_the_repair() -> None:
    disk = damaged()
    disk.fail("pwrite", 28, path_ends=".log")
    with pytest.raises(OSError, match="injected"):
        repaired(disk)


def test_stopped_at_any_change_the_result_is_whole_or_not_there() -> None:
    total = damaged()
    before = total.changes
    repaired(total)
    for change in range(1, total.changes - before + 1, 3):
        disk = damaged()
        disk.crash_at(change)
        with contextlib.suppress(Crash):
            repaired(disk)
        disk.power_cut()
        if disk.exists(TARGET):
            assert wrong(disk, TARGET) == [], change
