"""Bytes take their time at the rate."""

from storage.cleaner.throttle import Throttle, step_bytes


def test_who_moved_a_second_s_worth_waits_a_second() -> None:
    throttle = Throttle()
    assert throttle.delay_ms(1000, 1000.0, 50_000) == 1000
    assert throttle.delay_ms(500, 1000.0, 51_000) == 500


def test_all_share_one_rate() -> None:
    throttle = Throttle()
    assert [throttle.delay_ms(1000, 1000.0, 0) for _ in range(3)] == [1000, 2000, 3000]


def test_idle_time_is_not_saved_up() -> None:
    throttle = Throttle()
    throttle.delay_ms(1000, 1000.0, 0)
    assert throttle.delay_ms(1000, 1000.0, 60_000) == 1000


def test_without_a_limit_nobody_waits() -> None:
    throttle = Throttle()
    assert throttle.delay_ms(1 << 40, 1.7976931348623157e308, 5) == 0
    assert throttle.delay_ms(1 << 40, 0.0, 5) == 0


def test_steps_are_as_large_as_the_rate_allows_in_a_period() -> None:
    assert step_bytes(1e300, 4096, 64, 100) == 4096
    assert step_bytes(10_000.0, 4096, 64, 100) == 1000
    assert step_bytes(1.0, 4096, 64, 100) == 64
