"""Segments that fit one are rewritten into one."""

from storage.cleaner.grouping import MOST_SEGMENTS, GroupLimits, IndexBytes, group_segments
from storage.cleaner.order import Source

LARGE = GroupLimits(1 << 30, 1 << 20)


def sources(*sizes: int, span: int = 10) -> list[Source]:
    return [Source(index * span, (index + 1) * span, size) for index, size in enumerate(sizes)]


def bases(groups: list[list[Source]]) -> list[list[int]]:
    return [[source.base_offset for source in group] for group in groups]


def grouped(
    found: list[Source], limits: GroupLimits, indexes: list[IndexBytes] | None = None
) -> list[list[int]]:
    return bases(group_segments(found, indexes or [IndexBytes(0, 0)] * len(found), limits))


def test_a_group_holds_no_more_bytes_than_a_segment() -> None:
    assert grouped(sources(40, 60, 1, 100, 50), GroupLimits(100, 100)) == [
        [0, 10],
        [20],
        [30],
        [40],
    ]


def test_a_segment_that_is_too_large_is_a_group_by_itself() -> None:
    assert grouped(sources(10, 500, 10), GroupLimits(100, 100)) == [[0], [10], [20]]


def test_a_group_holds_no_more_index_entries_than_an_index() -> None:
    offsets = [IndexBytes(60, 0), IndexBytes(40, 0), IndexBytes(8, 0)]
    times = [IndexBytes(0, 60), IndexBytes(0, 48), IndexBytes(0, 12)]
    assert grouped(sources(1, 1, 1), GroupLimits(99, 100), offsets) == [[0, 10], [20]]
    assert grouped(sources(1, 1, 1), GroupLimits(99, 100), times) == [[0], [10, 20]]


def test_offsets_of_a_group_span_no_more_than_31_bits() -> None:
    half = 1 << 30
    assert grouped(sources(1, 1, 1, span=half), LARGE) == [[0, half], [2 * half]]


def test_an_empty_segment_joins_whatever_its_offsets() -> None:
    half = 1 << 30
    assert grouped(sources(1, 1, 0, span=half), LARGE) == [[0, half, 2 * half]]


def test_a_group_is_renamed_in_one_turn_so_it_has_few_members() -> None:
    groups = grouped(sources(*[0] * (MOST_SEGMENTS + 1)), LARGE)
    assert [len(group) for group in groups] == [MOST_SEGMENTS, 1]


def test_nothing_makes_no_group() -> None:
    assert group_segments([], [], LARGE) == []
