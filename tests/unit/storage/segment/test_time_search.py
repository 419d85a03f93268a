"""Searches by time: how much of one the loop does, and who closes the file."""

import pytest

from protocol.records.batch import parse_batch
from protocol.records.builder import build_batch
from protocol.records.record import Record
from storage.segment.time_search import AT_ONCE_BYTES, TimeSearch, TooFar
from tests.support.fault_disk import FaultDisk
from tests.unit.storage.segment.test_reading import append, open_segment


def planned(disk: FaultDisk, count: int, codec: int = 0, value: bytes = b"v") -> TimeSearch:
    """A search for the last of so many batches, from the first on."""
    segment = open_segment(disk, existing=False)
    for index in range(count):
        record = Record(0, 1000 + index, None, value, [])
        append(segment, [parse_batch(build_batch([record], base_offset=10 + index, codec=codec))])
    search = segment.plan_time_search(1000 + count - 1, 10)
    segment.close()
    return search


def test_what_is_near_and_plain_is_found_at_once() -> None:
    search = planned(FaultDisk(), 3)
    assert search.run_at_once() == (1002, 12, -1)
    search.release()


def test_what_is_packed_is_not_for_the_loop() -> None:
    disk = FaultDisk()
    search = planned(disk, 1, codec=1)
    with pytest.raises(TooFar):
        search.run_at_once()
    search.take_along()
    assert search.run() == (1000, 10, -1)


def test_what_is_large_is_not_for_the_loop() -> None:
    search = planned(FaultDisk(), 1, value=bytes(AT_ONCE_BYTES))
    with pytest.raises(TooFar):
        search.run_at_once()
    search.release()


@pytest.mark.parametrize("released", ["before", "after", "never"])
def test_every_descriptor_is_closed_once(released: str) -> None:
    disk = FaultDisk()
    search = planned(disk, 2)
    search.take_along()
    if released == "before":
        search.release()
    assert search.run() == (None if released == "before" else (1001, 11, -1))
    if released == "after":
        search.release()
    assert disk.open_count == 0
