"""Cleanings in a process of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.cleaner_process import CleanerProcesses, advance, forget
from protocol.records.batch import iterate_batches
from protocol.records.builder import build_batch
from protocol.records.record import Record
from storage.cleaner.order import CleaningInterrupted, CleaningOrder, Source, Uncleanable
from storage.filenames import CLEANED, LOG, segment_path
from storage.segment.file_set import SegmentSettings


@pytest.fixture
def processes() -> Iterator[CleanerProcesses]:
    running = CleanerProcesses()
    yield running
    running.close()


def order(folder: Path, data: bytes) -> CleaningOrder:
    Path(segment_path(str(folder), 0, LOG)).write_bytes(data)
    return CleaningOrder(
        str(folder),
        (Source(0, 10, len(data)),),
        (),
        0,
        {},
        0,
        0,
        1 << 20,
        SegmentSettings(4096, 1 << 16),
        4096,
        100,
        90,
        bytes(16),
    )


TWICE = bytes(build_batch([Record(0, 0, b"k", b"%d" % n, []) for n in range(2)]))


def test_a_cleaning_is_done_step_by_step(tmp_path: Path, processes: CleanerProcesses) -> None:
    progress = processes.begin(0, order(tmp_path, TWICE), 1)
    groups = []
    while progress.stats is None:
        progress = processes.advance(0, 1)
        if progress.group is not None:
            groups.append(progress.group)
    assert [group.base_offset for group in groups] == [0]
    assert progress.stats.messages_written == 1
    (batch,) = iterate_batches(Path(segment_path(str(tmp_path), 0, LOG, CLEANED)).read_bytes())
    assert [record.value for record in batch.records()] == [b"1"]


def test_what_is_wrong_with_a_log_is_told_across(
    tmp_path: Path, processes: CleanerProcesses
) -> None:
    damaged = bytearray(TWICE)
    damaged[-1] ^= 1
    with pytest.raises(Uncleanable, match="checksum"):
        processes.begin(0, order(tmp_path, bytes(damaged)), 1 << 20)


def test_a_file_that_is_gone_is_an_error_of_the_system(
    tmp_path: Path, processes: CleanerProcesses
) -> None:
    wanted = order(tmp_path, TWICE)
    Path(segment_path(str(tmp_path), 0, LOG)).unlink()
    with pytest.raises(FileNotFoundError):
        processes.begin(0, wanted, 1 << 20)


def test_a_slot_that_was_given_up_starts_over(tmp_path: Path, processes: CleanerProcesses) -> None:
    processes.begin(0, order(tmp_path, TWICE), 1)
    processes.forget(0)
    processes.forget(0)
    with pytest.raises(CleaningInterrupted):
        processes.advance(0, 1)
    processes.begin(0, order(tmp_path, TWICE), 1)


def test_closed_processes_clean_nothing(tmp_path: Path, processes: CleanerProcesses) -> None:
    processes.begin(0, order(tmp_path, TWICE), 1)
    processes.close()
    for slot in (0, 1):
        with pytest.raises(CleaningInterrupted):
            processes.begin(slot, order(tmp_path, TWICE), 1)


def test_a_child_without_a_cleaning_says_so() -> None:
    forget()
    with pytest.raises(CleaningInterrupted):
        advance(1)
