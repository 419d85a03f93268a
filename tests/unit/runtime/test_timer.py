"""The timing wheel fires every timer once, never early, at most a tick late."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.timer import TimerEntry, TimingWheel


def wheel(start_ms: int = 0) -> TimingWheel:
    return TimingWheel(tick_ms=1, wheel_size=4, start_ms=start_ms)


def nothing() -> None:
    return


def fire(entries: list[TimerEntry]) -> None:
    for entry in entries:
        entry.fire()


def test_a_timer_fires_at_its_deadline_and_not_before() -> None:
    timers = wheel()
    entry = timers.add(100, nothing)
    assert timers.advance(99) == []
    assert timers.advance(100) == [entry]
    assert timers.advance(1000) == []


def test_a_coarse_tick_rounds_up() -> None:
    timers = TimingWheel(tick_ms=10, wheel_size=4, start_ms=0)
    entry = timers.add(11, nothing)
    assert timers.advance(19) == []
    assert timers.advance(20) == [entry]


def test_a_passed_deadline_is_due_at_the_next_advance() -> None:
    timers = wheel(start_ms=50)
    entry = timers.add(20, nothing)
    assert timers.next_deadline_ms == 50
    assert timers.advance(50) == [entry]


def test_a_cancelled_timer_never_fires() -> None:
    timers = wheel()
    entry = timers.add(10, nothing)
    entry.cancel()
    entry.cancel()
    assert not entry.active
    assert timers.advance(20) == []
    assert timers.next_deadline_ms is None


def test_a_due_timer_may_cancel_another_due_timer() -> None:
    timers = wheel()
    calls: list[str] = []
    second: list[TimerEntry] = []

    def first() -> None:
        calls.append("first")
        second[0].cancel()

    timers.add(10, first)
    second.append(timers.add(10, lambda: calls.append("second")))
    fire(timers.advance(10))
    assert calls == ["first"]


def test_a_timer_fires_once() -> None:
    timers = wheel()
    calls: list[int] = []
    entry = timers.add(1, lambda: calls.append(1))
    due = timers.advance(5)
    fire(due)
    fire(due)
    assert calls == [1]
    assert not entry.active


def test_the_next_deadline_is_no_later_than_the_earliest_timer() -> None:
    timers = wheel()
    timers.add(1000, nothing)
    entry = timers.add(7, nothing)
    deadline = timers.next_deadline_ms
    assert deadline is not None
    assert deadline <= 7
    entry.cancel()
    deadline = timers.next_deadline_ms
    assert deadline is not None
    assert deadline <= 1000
    assert len(timers) == 1


def test_earlier_timers_come_first() -> None:
    timers = wheel()
    late = timers.add(300, nothing)
    early = timers.add(3, nothing)
    assert timers.advance(1000) == [early, late]


def test_time_going_back_changes_nothing() -> None:
    timers = wheel(start_ms=100)
    timers.advance(200)
    entry = timers.add(210, nothing)
    assert timers.advance(50) == []
    assert timers.advance(210) == [entry]


@pytest.mark.parametrize("wheel_size", [2, 3, 64])
@given(data=st.data())
def test_the_wheel_does_what_a_sorted_list_does(wheel_size: int, data: st.DataObject) -> None:
    timers = TimingWheel(tick_ms=1, wheel_size=wheel_size, start_ms=1000)
    now = 1000
    armed: dict[TimerEntry, int] = {}
    steps = st.one_of(
        st.tuples(st.just("add"), st.integers(-5, 5000)),
        st.tuples(st.just("advance"), st.integers(0, 3000)),
        st.tuples(st.just("cancel"), st.integers(0, 100)),
    )
    for step, number in data.draw(st.lists(steps, max_size=60)):
        if step == "add":
            armed[timers.add(now + number, nothing)] = now + number
        elif step == "cancel" and armed:
            entry = list(armed)[number % len(armed)]
            entry.cancel()
            del armed[entry]
        elif step == "advance":
            now += number
            due = timers.advance(now)
            assert sorted(map(id, due)) == sorted(
                id(entry) for entry, deadline in armed.items() if deadline <= now
            )
            for entry in due:
                entry.fire()
                del armed[entry]
        deadline = timers.next_deadline_ms
        assert (deadline is None) == (not armed)
        if deadline is not None:
            assert deadline <= max(min(armed.values()), now)
        assert len(timers) == len(armed)
