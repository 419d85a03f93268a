"""Salvage: everything right is found, wherever the damage is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.segment.salvage import Damaged, Sound, salvage
from tests.support.record_batches import batch_at, legacy

BATCHES = [bytes(batch_at(offset, 2, value=b"v" * 50).view) for offset in range(10, 30, 2)]
WHOLE = b"".join(BATCHES)


def pieces(data: bytes, base: int = 0) -> list[Sound | Damaged]:
    return list(salvage(lambda size, at: data[at : at + size], len(data), base))


def offsets(data: bytes, base: int = 0) -> list[int]:
    return [piece.header.base_offset for piece in pieces(data, base) if isinstance(piece, Sound)]


def test_an_undamaged_file_is_all_batches() -> None:
    assert offsets(WHOLE) == list(range(10, 30, 2))
    assert [piece for piece in pieces(WHOLE) if isinstance(piece, Damaged)] == []
    assert pieces(b"") == []


@given(position=st.integers(0, len(WHOLE) - 1), bit=st.integers(0, 7))
def test_one_flip_costs_one_batch_at_most_and_pieces_cover_the_file(
    position: int, bit: int
) -> None:
    data = bytearray(WHOLE)
    data[position] ^= 1 << bit
    found = pieces(bytes(data))
    sizes = [each.size if isinstance(each, Damaged) else each.header.size for each in found]
    assert sum(sizes) == len(WHOLE)
    assert sum(isinstance(each, Sound) for each in found) >= len(BATCHES) - 1


@given(first=st.integers(0, len(WHOLE)), garbage=st.binary(max_size=300), last=st.integers(0, 400))
def test_batches_behind_garbage_are_found_again(first: int, garbage: bytes, last: int) -> None:
    data = WHOLE[:first] + garbage + WHOLE[first + last :]
    size = len(BATCHES[0])
    untouched = [10 + 2 * slot for slot in range(len(BATCHES)) if (slot + 1) * size <= first]
    behind = -(-min(first + last, len(WHOLE)) // size)
    untouched += [10 + 2 * slot for slot in range(behind, len(BATCHES))]
    assert set(untouched) <= set(offsets(data))


@pytest.mark.parametrize("cut", [1, 10, 16, 60, 100])
def test_what_is_cut_short_is_damage_with_its_likely_offset(cut: int) -> None:
    *_, last = pieces(WHOLE + BATCHES[0][:cut])
    assert isinstance(last, Damaged)
    assert (last.position, last.size) == (len(WHOLE), cut)
    assert last.offset == (10 if cut >= 12 else None)


def test_a_batch_of_another_segment_s_offsets_is_no_place_to_go_on() -> None:
    data = b"\0" * 40 + bytes(batch_at(5).view)
    assert offsets(data, base=0) == [5]
    assert offsets(data, base=6) == []


def test_old_messages_are_sound_without_a_batch() -> None:
    found = pieces(legacy(0, 0) + legacy(1, 1))
    assert [isinstance(piece, Sound) and piece.batch is None for piece in found] == [True, True]


def test_the_search_goes_over_the_ends_of_chunks() -> None:
    garbage = b"\2" * ((1 << 20) - 7)
    assert offsets(garbage + WHOLE) == list(range(10, 30, 2))
