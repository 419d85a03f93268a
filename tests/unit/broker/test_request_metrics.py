"""Requests are counted and their time is told apart by phase."""

from broker.request_metrics import PHASES, RequestMetrics, RequestMetricsRegistry
from runtime.metrics import RESERVOIR_SIZE


def test_time_is_told_apart_by_phase() -> None:
    metrics = RequestMetrics("Fetch")
    metrics.observe([(10.0, 11.0, 13.0, 17.0, 100)], 25.0)
    totals = {phase: metrics.phase_total_s(phase) for phase in PHASES}
    assert totals == {"queue": 1.0, "local": 2.0, "remote": 4.0, "send": 8.0, "total": 15.0}
    medians = {phase: metrics.phase_quantiles_s(phase, [0.5])[0] for phase in PHASES}
    assert medians == totals
    assert (metrics.count, metrics.response_bytes) == (1, 100)


def test_quantiles_are_of_the_newest_requests() -> None:
    metrics = RequestMetrics("Fetch")
    for number in range(RESERVOIR_SIZE + 10):
        metrics.observe([(0.0, 0.0, float(number), float(number), 0)], float(number))
    assert metrics.phase_quantiles_s("local", [0.0]) == [10.0]
    assert metrics.count == RESERVOIR_SIZE + 10


def test_without_requests_quantiles_are_zero() -> None:
    assert RequestMetrics("Fetch").phase_quantiles_s("total", [0.5, 0.99]) == [0.0, 0.0]


def test_the_registry_gives_the_same_metrics_by_name() -> None:
    registry = RequestMetricsRegistry()
    assert registry.of("Fetch") is registry.of("Fetch")
    registry.of("Produce")
    assert [metrics.name for metrics in registry] == ["Fetch", "Produce"]
