"""Lag and idleness of the loop."""

import pytest

from broker.metrics.loop_health import PROBE_MS, LoopHealth
from tests.support.manual_clock import ManualClock


def test_a_probe_that_comes_late_is_lag() -> None:
    clock = ManualClock()
    health = LoopHealth(clock)
    health.probe()
    clock.advance(PROBE_MS + 30)
    health.probe()
    assert health.lag_s.count == 1
    assert health.lag_s.maximum == pytest.approx(0.030, abs=0.001)


def test_a_thread_that_only_waited_was_idle() -> None:
    clock = ManualClock()
    health = LoopHealth(clock)
    clock.advance(60_000)
    assert health.idle_fraction() > 0.9
