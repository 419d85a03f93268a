"""Indexes answer as a linear scan of their entries would, wherever the entries are kept."""

from bisect import bisect_right

from hypothesis import given
from hypothesis import strategies as st

from storage.segment.file_records import FilePool
from storage.segment.offset_index import OffsetIndex
from storage.segment.time_index import TimeIndex
from tests.support.fault_disk import FaultDisk

BASE = 1000
STEPS = st.lists(st.tuples(st.integers(1, 50), st.integers(1, 5000)), max_size=60)
WRITES = st.sets(st.integers(0, 60))


@given(STEPS, WRITES, st.lists(st.integers(BASE - 5, BASE + 3200), max_size=20))
def test_offsets_are_found_as_by_a_scan(
    steps: list[tuple[int, int]], writes: set[int], targets: list[int]
) -> None:
    index = OffsetIndex(FaultDisk(), FilePool(1), "/i", BASE, 1 << 16)
    entries = []
    offset, position = BASE - 1, -1
    for slot, (offset_step, position_step) in enumerate(steps):
        offset, position = offset + offset_step, position + position_step
        index.append(offset, position)
        entries.append((offset, position))
        if slot in writes:
            index.write_out()
    for target in [*targets, *(entry[0] for entry in entries)]:
        below = [entry for entry in entries if entry[0] <= target]
        assert index.lookup(target) == (below[-1] if below else (BASE, 0))
        at = target * 10
        after = [entry[0] for entry in entries if entry[1] >= at]
        assert index.first_at_or_after_position(at) == (after[0] if after else None)
    for target in targets[:3]:
        index.truncate_to(target)
        entries = [entry for entry in entries if entry[0] < target]
        assert [index.entry(slot) for slot in range(index.count)] == entries


@given(st.lists(st.tuples(st.integers(-5, 50), st.integers(1, 9)), max_size=60), WRITES)
def test_times_are_found_as_by_a_scan(steps: list[tuple[int, int]], writes: set[int]) -> None:
    index = TimeIndex(FaultDisk(), FilePool(1), "/t", BASE, 1 << 16)
    entries: list[tuple[int, int]] = []
    offset = BASE
    for slot, (time_step, offset_step) in enumerate(steps):
        last = entries[-1][0] if entries else 0
        timestamp, offset = max(last + time_step, last), offset + offset_step
        index.maybe_append(timestamp, offset)
        if timestamp > (entries[-1][0] if entries else -1):
            entries.append((timestamp, offset))
        if slot in writes:
            index.write_out()
    times = [entry[0] for entry in entries]
    for target in range(-2, (times[-1] if times else 0) + 3):
        at = bisect_right(times, target)
        assert index.lookup(target) == (entries[at - 1] if at else (-1, BASE))
    assert index.last_entry == (entries[-1] if entries else (-1, BASE))
