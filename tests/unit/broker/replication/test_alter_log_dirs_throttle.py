"""The pace of moves."""

from broker.replication.alter_log_dirs_throttle import FEWEST_BYTES, MOST_BYTES, MoveThrottle

MAX_LONG = (1 << 63) - 1


def test_what_was_taken_is_paid_back_at_the_rate() -> None:
    throttle = MoveThrottle(lambda: 1000, 0)
    assert throttle.delay_ms(0) == 0
    throttle.record(2000, 0)
    assert throttle.delay_ms(0) == 2000
    assert throttle.delay_ms(1500) == 500
    assert throttle.delay_ms(2000) == 0


def test_a_pause_gives_a_quarter_of_a_second_at_most() -> None:
    throttle = MoveThrottle(lambda: 1000, 0)
    assert throttle.delay_ms(60_000) == 0
    throttle.record(1250, 60_000)
    assert throttle.delay_ms(60_000) == 1000


def test_a_changed_rate_counts_at_once() -> None:
    rate = [1000]
    throttle = MoveThrottle(lambda: rate[0], 0)
    throttle.record(10_000, 0)
    assert throttle.delay_ms(0) == 10_000
    rate[0] = 1_000_000
    assert throttle.delay_ms(0) == 10
    assert throttle.delay_ms(10) == 0


def test_a_clock_that_jumps_back_gives_nothing() -> None:
    throttle = MoveThrottle(lambda: 1000, 10_000)
    throttle.record(1000, 10_000)
    assert throttle.delay_ms(5000) == 1000
    assert throttle.delay_ms(6000) == 0


def test_slices_are_small_for_slow_rates() -> None:
    assert MoveThrottle(lambda: MAX_LONG, 0).slice_bytes() == MOST_BYTES
    assert MoveThrottle(lambda: 1, 0).slice_bytes() == FEWEST_BYTES
    assert MoveThrottle(lambda: 800_000, 0).slice_bytes() == 100_000
    throttle = MoveThrottle(lambda: MAX_LONG, 0)
    throttle.record(1 << 40, 0)
    assert throttle.delay_ms(1) == 0
