"""Indexes: each entry against the batch it means."""

import struct

import pytest

from storage.audit import Question, audit_log_dirs
from storage.invariants.finding import Severity
from tests.support.kept_logs import edit, found, kept_log, names, problems
from tests.support.log_harness import LOG_DIR

ENTRY = struct.Struct(">ii")
TIME = struct.Struct(">qi")


def entries(data: bytes, shape: struct.Struct) -> list[tuple[int, ...]]:
    return list(shape.iter_unpack(data))


def test_an_entry_that_lands_inside_a_batch_is_found() -> None:
    disk = kept_log()
    path = names(disk, ".index")[0]
    ((_, position), *_) = entries(disk.read_file(path), ENTRY)
    edit(disk, path, 4, (position + 1).to_bytes(4, "big"))
    assert "none begins there" in problems(disk)


def test_an_entry_beyond_the_log_is_found() -> None:
    disk = kept_log()
    path = names(disk, ".index")[0]
    disk.write_file(path, disk.read_file(path) + ENTRY.pack(900, 9000))
    assert "lies beyond the log" in problems(disk)
    path = names(disk, ".timeindex")[0]
    disk.write_file(path, disk.read_file(path) + TIME.pack(1 << 60, 900))
    assert "lies beyond the log" in problems(disk)


def test_an_offset_that_is_not_the_last_of_its_batch_is_found() -> None:
    disk = kept_log()
    path = names(disk, ".index")[0]
    ((offset, _), *_) = entries(disk.read_file(path), ENTRY)
    edit(disk, path, 0, (offset - 1).to_bytes(4, "big"))
    assert "points at no batch that ends so" in problems(disk)


def test_an_entry_over_several_batches_is_in_order_as_old_followers_wrote_them() -> None:
    disk = kept_log()
    path = names(disk, ".index")[0]
    ((offset, _), *_) = entries(disk.read_file(path), ENTRY)
    edit(disk, path, 0, (offset + 1).to_bytes(4, "big"))
    assert found(disk) == []
    every = audit_log_dirs(disk, [LOG_DIR], Question())
    assert any("cover several batches" in finding.problem for finding in every)
    assert "points at no batch" in problems(disk, Question(strict=True))
    edit(disk, path, 0, (2**20).to_bytes(4, "big"))
    assert "does not ascend" in problems(disk)


def test_a_closed_segment_s_last_time_is_its_greatest() -> None:
    disk = kept_log()
    path = names(disk, ".timeindex")[0]
    disk.write_file(path, disk.read_file(path)[:-12])
    assert "the last entry has timestamp" in problems(disk)


def test_a_missing_index_is_made_anew_by_the_next_start() -> None:
    disk = kept_log()
    disk.unlink(names(disk, ".index")[0])
    (finding,) = found(disk)
    assert finding.severity == Severity.WARNING
    assert "makes it anew" in finding.problem


def test_zeros_at_the_end_are_in_order_where_appends_may_go_on() -> None:
    disk = kept_log()
    path = names(disk, ".index")[-1]
    disk.write_file(path, disk.read_file(path) + bytes(800))
    assert "does not ascend" in problems(disk)
    disk.unlink(f"{LOG_DIR}/.kafka_cleanshutdown")
    assert found(disk) == []


@pytest.mark.parametrize(
    ("at", "data", "problem"),
    [
        (0, b"\xff\xff", "version"),
        (2, (9).to_bytes(8, "big"), "should be"),
        (10, (9).to_bytes(8, "big"), "should be"),
        (26, (9).to_bytes(8, "big"), "should be"),
        (18, (20).to_bytes(8, "big"), "names no marker"),
        (18, (5).to_bytes(8, "big"), "below the segment's base"),
    ],
)
def test_every_field_of_an_aborted_transaction_is_compared(
    at: int, data: bytes, problem: str
) -> None:
    disk = kept_log()
    edit(disk, names(disk, ".txnindex")[0], at, data)
    assert problem in problems(disk)


def test_an_aborted_transaction_that_is_missing_or_repeated_is_found() -> None:
    disk = kept_log()
    path = names(disk, ".txnindex")[0]
    data = disk.read_file(path)
    disk.write_file(path, data + data)
    assert "cannot follow" in problems(disk)
    disk.write_file(path, b"")
    assert "readers would see its records" in problems(disk)
