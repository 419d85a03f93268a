"""`.timeindex`: floors, strictly growing timestamps, the slot kept for closing."""

import pytest

from storage.errors import InvalidIndexOffsetError
from storage.segment.file_records import FilePool
from storage.segment.time_index import TimeIndex
from tests.support.fault_disk import FaultDisk

BASE = 45


def index(max_bytes: int = 120, *entries: tuple[int, int]) -> TimeIndex:
    made = TimeIndex(FaultDisk(), FilePool(2), "/t", BASE, max_bytes)
    for timestamp, offset in entries:
        made.maybe_append(timestamp, offset)
    return made


def test_an_empty_index_knows_no_time() -> None:
    assert index().last_entry == (-1, BASE)
    assert index().lookup(100) == (-1, BASE)


@pytest.mark.parametrize("written", [False, True])
def test_lookup_finds_the_greatest_entry_at_or_below(written: bool) -> None:
    made = index(120, (10, 55), (20, 65))
    if written:
        made.write_out()
    assert [made.lookup(time) for time in (9, 10, 19, 20, 99)] == [
        (-1, BASE),
        (10, 55),
        (10, 55),
        (20, 65),
        (20, 65),
    ]
    assert made.entry(0) == (10, 55)


def test_a_timestamp_that_is_not_greater_adds_nothing() -> None:
    made = index(120, (10, 55))
    made.maybe_append(10, 60)
    made.maybe_append(10, 55)
    assert made.count == 1


def test_going_back_is_an_error() -> None:
    made = index(120, (10, 55))
    with pytest.raises(InvalidIndexOffsetError, match="offset 54"):
        made.maybe_append(11, 54)
    with pytest.raises(InvalidIndexOffsetError, match="timestamp 9"):
        made.maybe_append(9, 56)
    with pytest.raises(InvalidIndexOffsetError, match="relative"):
        made.maybe_append(11, BASE + 2**31)
    assert made.last_entry == (10, 55)


def test_the_last_slot_is_for_closing() -> None:
    made = index(36, (10, 55), (20, 65))
    assert made.is_full
    with pytest.raises(InvalidIndexOffsetError, match="full"):
        made.maybe_append(30, 75)
    made.maybe_append(30, 75, closing=True)
    assert made.last_entry == (30, 75)


@pytest.mark.parametrize(("offset", "left"), [(55, 0), (56, 1), (65, 1), (66, 2)])
def test_truncation_goes_by_offset(offset: int, left: int) -> None:
    made = index(120, (10, 55), (20, 65))
    made.truncate_to(offset)
    assert made.count == left
    assert made.last_entry == [(-1, BASE), (10, 55), (20, 65)][left]
