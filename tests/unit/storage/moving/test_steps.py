"""What a copy lacks, or has too much of, decided from two logs' extents and epochs."""

import pytest

from storage.epochs import LeaderEpochCache
from storage.moving.steps import Action, Extent, Step, agreed_end_offset, next_step
from tests.support.fault_disk import FaultDisk


def extent(first: int, end: int, *epochs: tuple[int, int]) -> Extent:
    cache = LeaderEpochCache(FaultDisk(), "/")
    for epoch, start in epochs:
        cache.assign(epoch, start)
    return Extent(first, end, cache)


@pytest.mark.parametrize(
    ("current", "future", "expected"),
    [
        (extent(0, 0), extent(0, 0), Step(Action.NOTHING, 0)),
        (extent(0, 9), extent(0, 0), Step(Action.COPY, 0)),
        (extent(0, 9, (1, 0)), extent(0, 4, (1, 0)), Step(Action.COPY, 4)),
        (extent(0, 9, (1, 0)), extent(0, 9, (1, 0)), Step(Action.NOTHING, 9)),
        # Retention took what the copy would have needed next.
        (extent(20, 30), extent(0, 4), Step(Action.BEGIN, 20)),
        # The log was cut, or a power cut took its end.
        (extent(0, 5, (1, 0)), extent(0, 9, (1, 0)), Step(Action.CUT, 5)),
        # The copy has an epoch that the log has thrown away.
        (extent(0, 12, (1, 0), (3, 6)), extent(0, 9, (1, 0), (2, 4)), Step(Action.CUT, 4)),
        (extent(0, 12, (1, 0)), extent(0, 9, (1, 0), (2, 4)), Step(Action.CUT, 4)),
        # An epoch that ended earlier in the log than in the copy.
        (extent(0, 12, (1, 0), (2, 5)), extent(0, 9, (1, 0)), Step(Action.CUT, 5)),
        # Nothing of the copy can be believed.
        (extent(0, 12, (5, 0)), extent(0, 9, (6, 0)), Step(Action.CUT, 0)),
        (extent(8, 12, (5, 8)), extent(8, 14, (6, 8)), Step(Action.CUT, 8)),
        (extent(8, 12, (3, 0), (5, 8)), extent(0, 14, (4, 2)), Step(Action.BEGIN, 8)),
    ],
)
def test_next_step(current: Extent, future: Extent, expected: Step) -> None:
    assert next_step(current, future) == expected


def test_a_log_without_epochs_is_compared_by_its_end() -> None:
    assert agreed_end_offset(extent(0, 9), extent(0, 12, (1, 0))) == 9
    assert agreed_end_offset(extent(0, 9, (1, 0)), extent(0, 12)) == 9


def test_an_epoch_that_has_written_nothing_yet_takes_nothing_away() -> None:
    current = extent(0, 9, (1, 0), (2, 9))
    assert next_step(current, extent(0, 9, (1, 0), (2, 9))) == Step(Action.NOTHING, 9)
    assert next_step(current, extent(0, 9, (1, 0))) == Step(Action.NOTHING, 9)
