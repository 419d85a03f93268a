"""Counters and summaries as plain Python values.

The hot path adds integers; whoever exports them reads the attributes. Nothing here knows labels,
names or a metrics library: an owner keeps its counters as attributes and a collector asks it.
"""

from collections.abc import Iterable, Sequence

RESERVOIR_SIZE = 1024
"""Observations a summary keeps: a power of two, so that the ring's slot is a mask away."""


class Counter:
    """A number that only grows; hot paths may write `counter.value += n` themselves."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def add(self, amount: int = 1) -> None:
        """Grow by `amount`."""
        self.value += amount


class Summary:
    """Count, total and maximum of all observations, quantiles of the newest ones.

    The ring is made at the first observation: most summaries of a broker are never used.
    """

    __slots__ = ("_ring", "count", "maximum", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.maximum = 0.0
        self._ring: list[float] = []

    def observe(self, value: float) -> None:
        """Take one value in."""
        ring = self._ring
        if len(ring) < RESERVOIR_SIZE:
            ring.append(value)
        else:
            ring[self.count & (RESERVOIR_SIZE - 1)] = value
        self.count += 1
        self.total += value
        if value > self.maximum:  # noqa: PLR1730 - max() costs four times the comparison
            self.maximum = value

    def quantiles(self, fractions: Sequence[float]) -> list[float]:
        """The given quantiles (0 … 1) of the newest observations; zeros when there are none."""
        return quantiles(self._ring, fractions)


def quantiles(values: Iterable[float], fractions: Sequence[float]) -> list[float]:
    """Nearest-rank quantiles of any values; zeros when there are none."""
    ordered = sorted(values)
    if not ordered:
        return [0.0] * len(fractions)
    last = len(ordered) - 1
    return [ordered[min(int(fraction * len(ordered)), last)] for fraction in fractions]
