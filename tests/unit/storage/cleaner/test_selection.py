"""Which log is cleaned, and how far."""

from typing import NamedTuple

import pytest

from storage.cleaner.selection import (
    NEVER_CLEANED,
    Dirt,
    LagLimits,
    LogFacts,
    first_dirty_offset,
    measure,
)

NOW = 1_000_000
NO_LAG = LagLimits(0, 1 << 62)


class Piece(NamedTuple):
    """A segment as selection sees it."""

    base_offset: int
    size: int
    largest: int = 0
    first: int = -1

    def largest_timestamp(self) -> int:
        return self.largest

    def first_batch_timestamp(self) -> int:
        return self.first


LOG = [Piece(0, 100), Piece(10, 200), Piece(20, 400), Piece(30, 800)]


def facts(dirty: int = NEVER_CLEANED, start: int = 0, end: int = 40, stable: int = 40) -> LogFacts:
    return LogFacts(dirty, start, end, stable)


def test_a_log_never_cleaned_is_dirty_up_to_its_active_segment() -> None:
    assert measure(LOG, facts(), NO_LAG, NOW) == Dirt(0, 30, 0, 700, 0)


def test_bytes_are_counted_by_whole_segments() -> None:
    """The segment that holds the first dirty offset counts on both sides, as in Kafka."""
    assert measure(LOG, facts(dirty=10), NO_LAG, NOW) == Dirt(10, 30, 100, 600, 0)
    assert measure(LOG, facts(dirty=15), NO_LAG, NOW) == Dirt(15, 30, 300, 600, 0)
    assert measure(LOG, facts(dirty=30), NO_LAG, NOW) == Dirt(30, 30, 700, 0, 0)


@pytest.mark.parametrize(("stable", "end_offset"), [(0, 0), (9, 0), (10, 10), (29, 20), (30, 30)])
def test_nothing_beyond_the_last_stable_offset_is_cleaned(stable: int, end_offset: int) -> None:
    assert measure(LOG, facts(stable=stable), NO_LAG, NOW).end_offset == end_offset


def test_a_segment_with_a_young_record_waits_and_all_after_it() -> None:
    log = [Piece(0, 1, 10), Piece(10, 1, NOW - 50), Piece(20, 1, 10), Piece(30, 1, 10)]
    assert measure(log, facts(), LagLimits(100, 1 << 62), NOW).end_offset == 10
    assert measure(log, facts(), LagLimits(49, 1 << 62), NOW).end_offset == 30
    assert measure(log, facts(dirty=20), LagLimits(100, 1 << 62), NOW).end_offset == 30


@pytest.mark.parametrize(
    ("dirty", "expected"), [(NEVER_CLEANED, 5), (4, 5), (5, 5), (7, 7), (40, 40), (41, 5)]
)
def test_a_first_dirty_offset_that_cannot_be_counts_as_the_log_start(
    dirty: int, expected: int
) -> None:
    assert first_dirty_offset(facts(dirty=dirty, start=5)) == expected


def test_a_log_is_due_above_its_ratio() -> None:
    dirt = Dirt(10, 30, 300, 100, 0)
    assert dirt.ratio == 0.25
    assert dirt.is_due(0.24)
    assert not dirt.is_due(0.25)


def test_an_overdue_log_is_due_whatever_its_ratio() -> None:
    log = [Piece(0, 100), Piece(10, 1, first=500), Piece(20, 1, first=400), Piece(30, 1, first=1)]
    assert measure(log, facts(dirty=10), LagLimits(0, NOW - 401), NOW).overdue_ms == 1
    dirt = measure(log, facts(dirty=10), LagLimits(0, NOW - 1000), NOW)
    assert dirt.overdue_ms == 600
    assert dirt.is_due(0.99)
    assert measure(log, facts(dirty=10), LagLimits(0, NOW - 400), NOW).overdue_ms == 0


def test_a_batch_without_time_never_makes_a_log_overdue() -> None:
    assert measure(LOG, facts(), LagLimits(0, 1), NOW).overdue_ms == 0


def test_a_log_without_dirt_is_not_due() -> None:
    assert not Dirt(30, 30, 700, 0, 99).is_due(0.0)
    assert Dirt(0, 0, 0, 0, 0).ratio == 0.0
    assert measure([Piece(0, 10)], facts(), NO_LAG, NOW) == Dirt(0, 0, 0, 0, 0)


def test_a_log_that_begins_late_is_measured_from_its_first_segment() -> None:
    assert measure(LOG[1:], facts(start=12), NO_LAG, NOW) == Dirt(12, 30, 200, 600, 0)
