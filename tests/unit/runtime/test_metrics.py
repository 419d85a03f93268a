"""Counters and summaries hold what was observed."""

from runtime.metrics import RESERVOIR_SIZE, Counter, Summary, quantiles


def test_a_counter_adds_up() -> None:
    counter = Counter()
    counter.add()
    counter.add(4)
    counter.value += 1
    assert counter.value == 6


def test_a_summary_counts_everything_and_keeps_the_newest() -> None:
    summary = Summary()
    for value in range(RESERVOIR_SIZE * 2):
        summary.observe(float(value))
    assert summary.count == RESERVOIR_SIZE * 2
    assert summary.total == sum(range(RESERVOIR_SIZE * 2))
    assert summary.maximum == RESERVOIR_SIZE * 2 - 1
    assert summary.quantiles([0.0, 1.0]) == [float(RESERVOIR_SIZE), RESERVOIR_SIZE * 2 - 1.0]


def test_quantiles_of_nothing_are_zero() -> None:
    assert Summary().quantiles([0.5, 0.99]) == [0.0, 0.0]


def test_quantiles_are_nearest_ranks() -> None:
    assert quantiles([float(n) for n in range(1, 101)], [0.5, 0.99]) == [51.0, 100.0]
