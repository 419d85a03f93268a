"""`.txnindex`: what overlaps a read is always reported."""

import pytest

from storage.errors import CorruptFileError, InvalidIndexOffsetError
from storage.segment.transaction_index import AbortedEntry, TransactionIndex
from tests.support.fault_disk import FaultDisk

ENTRIES = [
    AbortedEntry(0, 0, 10, 11),
    AbortedEntry(1, 5, 15, 13),
    AbortedEntry(2, 18, 35, 25),
    AbortedEntry(3, 32, 50, 40),
]


def index() -> tuple[FaultDisk, TransactionIndex]:
    disk = FaultDisk()
    made = TransactionIndex(disk, "/x", 0)
    for entry in ENTRIES:
        made.append(entry)
    return disk, made


def test_there_is_no_file_before_the_first_entry() -> None:
    disk = FaultDisk()
    made = TransactionIndex(disk, "/x", 0)
    assert made.entries() == []
    made.truncate_to(0)
    made.rewrite(())
    assert not disk.exists("/x")
    made.append(ENTRIES[0])
    assert disk.file_size("/x") == 34


@pytest.mark.parametrize(
    ("fetch_offset", "upper_bound", "found", "complete"),
    [
        (0, 100, [0, 1, 2, 3], False),
        (0, 32, [0, 1, 2], True),
        (0, 35, [0, 1, 2, 3], True),
        (10, 35, [0, 1, 2, 3], True),
        (11, 35, [1, 2, 3], True),
        (20, 41, [2, 3], False),
        (51, 60, [], False),
    ],
)
def test_transactions_that_overlap_are_collected(
    fetch_offset: int, upper_bound: int, found: list[int], complete: bool
) -> None:
    _, made = index()
    expected = ([ENTRIES[number] for number in found], complete)
    assert made.collect(fetch_offset, upper_bound) == expected


def test_markers_come_in_order() -> None:
    _, made = index()
    with pytest.raises(InvalidIndexOffsetError):
        made.append(AbortedEntry(4, 45, 50, 60))


@pytest.mark.parametrize(("offset", "left"), [(51, 4), (50, 3), (36, 3), (10, 0), (11, 1)])
def test_truncation_drops_markers_at_or_after(offset: int, left: int) -> None:
    disk, made = index()
    made.truncate_to(offset)
    assert made.entries() == ENTRIES[:left]
    assert TransactionIndex(disk, "/x", 0).entries() == ENTRIES[:left]


def test_entries_are_read_back_and_replaced() -> None:
    disk, _ = index()
    again = TransactionIndex(disk, "/x", 0)
    again.sanity_check()
    assert again.entries() == ENTRIES
    again.rewrite(ENTRIES[1:])
    assert again.entries() == TransactionIndex(disk, "/x", 0).entries() == ENTRIES[1:]
    again.rewrite(())
    assert TransactionIndex(disk, "/x", 0).entries() == []


def test_a_file_that_cannot_be_this_segment_s_is_refused() -> None:
    disk, _ = index()
    with pytest.raises(CorruptFileError, match="below"):
        TransactionIndex(disk, "/x", 11).sanity_check()
    disk.write_file("/x", bytes(33))
    with pytest.raises(CorruptFileError, match="whole number"):
        TransactionIndex(disk, "/x", 0).entries()
    disk.write_file("/x", b"\xff" * 34)
    with pytest.raises(CorruptFileError, match="version"):
        TransactionIndex(disk, "/x", 0).entries()
