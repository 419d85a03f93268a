"""When a new segment begins."""

from typing import NamedTuple

import pytest

from storage.segment.rolling import RollLimits, roll_reason

LIMITS = RollLimits(segment_bytes=1000, segment_ms=100, jitter_ms=10)


class State(NamedTuple):
    size: int = 500
    base_offset: int = 0
    created_ms: int = 0
    rolling_timestamp: int = 50
    full_index: str | None = None


@pytest.mark.parametrize(
    ("state", "size", "timestamp", "last_offset", "now", "reason"),
    [
        (State(), 500, 60, 9, 0, None),
        (State(), 501, 60, 9, 0, "size"),
        (State(size=0), 1001, 60, 9, 0, "size"),
        (State(), 1, 140, 9, 10**9, None),
        (State(), 1, 141, 9, 0, "time"),
        (State(rolling_timestamp=-1), 1, 10**9, 9, 90, None),
        (State(rolling_timestamp=-1), 1, 0, 9, 91, "time"),
        (State(size=0), 1, 141, 9, 10**9, None),
        (State(full_index="offset index"), 1, 60, 9, 0, "offset index"),
        (State(), 1, 60, 2**31 - 1, 0, None),
        (State(), 1, 60, 2**31, 0, "offset range"),
    ],
)
def test_rolling(
    state: State, size: int, timestamp: int, last_offset: int, now: int, reason: str | None
) -> None:
    assert roll_reason(state, size, timestamp, last_offset, now, LIMITS) == reason
