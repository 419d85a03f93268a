"""`.index`: floors, order, room, truncation."""

import pytest

from storage.errors import InvalidIndexOffsetError
from storage.segment.file_records import FilePool
from storage.segment.offset_index import OffsetIndex
from tests.support.fault_disk import FaultDisk

BASE = 100


def index(max_bytes: int = 80, *entries: tuple[int, int]) -> OffsetIndex:
    made = OffsetIndex(FaultDisk(), FilePool(2), "/i", BASE, max_bytes)
    for offset, position in entries:
        made.append(offset, position)
    return made


def test_an_empty_index_points_to_the_start() -> None:
    assert index().lookup(105) == (BASE, 0)
    assert index().last_offset == BASE
    assert index().first_at_or_after_position(0) is None


@pytest.mark.parametrize("written", [False, True])
def test_lookup_finds_the_greatest_entry_at_or_below(written: bool) -> None:
    made = index(80, (101, 10), (105, 50), (109, 90))
    if written:
        made.write_out()
    expected = [(BASE, 0), (101, 10), (101, 10), (105, 50), (105, 50), (109, 90)]
    assert [made.lookup(offset) for offset in (100, 101, 104, 105, 108, 500)] == expected
    assert [made.lookup(offset, private=True) for offset in (104, 500)] == [(101, 10), (109, 90)]
    assert [made.first_at_or_after_position(at) for at in (0, 10, 11, 90, 91)] == [
        101,
        101,
        105,
        109,
        None,
    ]
    assert made.entry(1) == (105, 50)
    assert made.last_offset == 109
    with pytest.raises(IndexError):
        made.entry(3)


def test_offsets_must_grow_and_fit() -> None:
    made = index(80, (105, 50))
    for offset in (105, 104, BASE - 1, BASE + 2**31):
        with pytest.raises(InvalidIndexOffsetError):
            made.append(offset, 60)
    assert made.count == 1


def test_a_full_index_takes_no_more() -> None:
    made = index(17, (101, 1), (102, 2))
    assert made.is_full
    with pytest.raises(InvalidIndexOffsetError, match="full"):
        made.append(103, 3)


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize(
    ("offset", "left"),
    [(100, 0), (101, 0), (102, 1), (105, 1), (106, 2), (109, 2), (110, 3), (999, 3)],
)
def test_truncation_drops_entries_at_or_after(offset: int, left: int, written: bool) -> None:
    made = index(80, (101, 10), (105, 50), (109, 90))
    if written:
        made.write_out()
    made.truncate_to(offset)
    assert made.count == left
    made.append(200, 500)
    assert made.lookup(300) == (200, 500)
