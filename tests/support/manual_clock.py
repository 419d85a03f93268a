"""A clock that moves when the test says so."""


class ManualClock:
    """Both times of the Clock port, started apart so that mixing them up shows."""

    def __init__(self, now_ms: int = 1_700_000_000_000, monotonic_s: float = 1000.0) -> None:
        self._now_ms = now_ms
        self._monotonic_s = monotonic_s

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic(self) -> float:
        return self._monotonic_s

    def advance(self, milliseconds: int) -> None:
        self._now_ms += milliseconds
        self._monotonic_s += milliseconds / 1000
