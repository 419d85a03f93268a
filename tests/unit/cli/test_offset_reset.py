"""Where a group goes on reading, mode by mode."""

import pytest

from cli.offset_reset import Place, Reset, parse_duration, parse_scope, parse_time

PLACE = Place(earliest=10, latest=100, committed=50, at_time=70)


@pytest.mark.parametrize(
    ("reset", "target"),
    [
        (Reset("earliest"), 10),
        (Reset("latest"), 100),
        (Reset("current"), 50),
        (Reset("offset", 60), 60),
        (Reset("offset", 5), 10),
        (Reset("offset", 500), 100),
        (Reset("shift", 7), 57),
        (Reset("shift", -45), 10),
        (Reset("time", 1), 70),
    ],
)
def test_each_mode_stays_within_the_ends(reset: Reset, target: int) -> None:
    assert reset.target(PLACE) == target


@pytest.mark.parametrize("mode", ["current", "shift", "time"])
def test_what_is_not_there_counts_as_the_end(mode: str) -> None:
    assert Reset(mode).target(Place(10, 100)) == 100


def test_times_and_durations_are_iso() -> None:
    assert parse_time("2023-11-14T22:13:20") == parse_time("2023-11-14T23:13:20+01:00")
    assert parse_time("2023-11-14T22:13:20.5") == 1_700_000_000_500
    assert parse_duration("P1DT2H3M4S") == 93_784_000
    assert parse_duration("PT5M") == 300_000
    for wrong in ("P", "PT", "1D", "P1H", "PT1D", ""):
        with pytest.raises(ValueError, match="duration"):
            parse_duration(wrong)


def test_a_scope_is_topics_and_perhaps_partitions() -> None:
    assert parse_scope(("a", "b:0,2")) == {"a": None, "b": {0, 2}}
    with pytest.raises(ValueError, match="invalid literal"):
        parse_scope(("b:x",))
