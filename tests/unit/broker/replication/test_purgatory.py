"""Operations complete exactly once: at registration, by a wake-up, by time; cancelled, never."""

from collections.abc import Callable

import pytest

from broker.replication.purgatory import DelayedOperation, Purgatory
from protocol.model import TopicPartition

A = TopicPartition("a", 0)
B = TopicPartition("b", 0)


class Timer:
    def __init__(self, delay_ms: int, callback: Callable[[], None]) -> None:
        self.delay_ms = delay_ms
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Timers:
    def __init__(self) -> None:
        self.armed: list[Timer] = []

    def after(self, delay_ms: int, callback: Callable[[], None]) -> Timer:
        timer = Timer(delay_ms, callback)
        self.armed.append(timer)
        return timer


class Waiting(DelayedOperation):
    def __init__(self, due: bool | Exception = False) -> None:
        super().__init__()
        self.due = due
        self.events: list[object] = []

    def is_due(self, key: TopicPartition | None) -> bool:
        self.events.append(("try", key))
        if isinstance(self.due, Exception):
            raise self.due
        return self.due

    def on_complete(self) -> None:
        self.events.append("complete")

    def on_expiration(self) -> None:
        self.events.append("expired")

    def on_failure(self, error: Exception) -> None:
        self.events.append(error)


@pytest.fixture
def timers() -> Timers:
    return Timers()


@pytest.fixture
def purgatory(timers: Timers) -> Purgatory:
    return Purgatory("Fetch", timers.after)


def test_an_operation_due_after_registration_completes_and_arms_no_timer(
    purgatory: Purgatory, timers: Timers
) -> None:
    operation = Waiting(due=True)
    assert purgatory.watch(operation, [A], 100)
    assert operation.events == [("try", None), "complete"]
    assert timers.armed == []
    assert purgatory.size == 0
    assert purgatory.watched(A) == 0


def test_it_is_registered_before_the_second_try(purgatory: Purgatory) -> None:
    seen = []

    class Peeking(Waiting):
        def is_due(self, key: TopicPartition | None) -> bool:
            seen.append((purgatory.watched(A), purgatory.watched(B)))
            return False

    purgatory.watch(Peeking(), [A, B], 100)
    assert seen == [(1, 1)]


def test_a_wake_up_completes_once_and_disarms_the_timer(
    purgatory: Purgatory, timers: Timers
) -> None:
    operation = Waiting()
    assert not purgatory.watch(operation, [A, B], 100)
    operation.due = True
    assert purgatory.wake(A) == 1
    assert purgatory.wake(A) == 0
    assert purgatory.wake(B) == 0
    assert operation.events == [("try", None), ("try", A), "complete"]
    assert timers.armed[0].cancelled
    timers.armed[0].callback()
    assert operation.events.count("complete") == 1
    assert purgatory.expired_total == 0


def test_time_running_out_expires_then_completes_once(purgatory: Purgatory, timers: Timers) -> None:
    operation = Waiting()
    purgatory.watch(operation, [A], 250)
    assert timers.armed[0].delay_ms == 250
    timers.armed[0].callback()
    operation.due = True
    purgatory.wake(A)
    assert operation.events == [("try", None), "expired", "complete"]
    assert purgatory.expired_total == 1
    assert purgatory.size == 0


def test_a_cancelled_operation_is_forgotten_without_an_answer(
    purgatory: Purgatory, timers: Timers
) -> None:
    operation = Waiting()
    purgatory.watch(operation, [A, B], 100)
    operation.cancel()
    operation.due = True
    assert purgatory.wake(A) == 0
    assert "complete" not in operation.events
    assert purgatory.size == 0
    assert timers.armed[0].cancelled


def test_a_wake_up_elsewhere_tries_nothing(purgatory: Purgatory) -> None:
    operation = Waiting()
    purgatory.watch(operation, [A], 100)
    assert purgatory.wake(B) == 0
    assert operation.events == [("try", None)]


def test_the_same_key_twice_is_one_registration(purgatory: Purgatory) -> None:
    operation = Waiting()
    purgatory.watch(operation, [A, A], 100)
    assert purgatory.watched(A) == 1
    purgatory.wake(A)
    assert operation.events == [("try", None), ("try", A)]


def test_an_operation_that_raises_when_tried_fails_and_the_others_are_woken(
    purgatory: Purgatory,
) -> None:
    broken, fine = Waiting(), Waiting()
    purgatory.watch(broken, [A], 100)
    purgatory.watch(fine, [A], 100)
    broken.due = error = RuntimeError("bug")
    fine.due = True
    assert purgatory.wake(A) == 1
    assert broken.events[-1] is error
    assert fine.events[-1] == "complete"
    assert purgatory.size == 0


def test_an_operation_that_raises_when_completing_fails_once(purgatory: Purgatory) -> None:
    class Broken(Waiting):
        def on_complete(self) -> None:
            raise RuntimeError("bug")

    operation = Broken(due=True)
    purgatory.watch(operation, [A], 100)
    operation.expire()
    assert [e for e in operation.events if isinstance(e, RuntimeError)] == [operation.events[-1]]


def test_completing_may_watch_again_under_the_same_key(purgatory: Purgatory) -> None:
    following = Waiting()

    class Again(Waiting):
        def on_complete(self) -> None:
            purgatory.watch(following, [A], 100)

    first = Again()
    purgatory.watch(first, [A], 100)
    first.due = True
    assert purgatory.wake(A) == 1
    assert purgatory.watched(A) == 1


def test_closing_completes_everything_as_expired(purgatory: Purgatory) -> None:
    operations = [Waiting(), Waiting()]
    for operation in operations:
        purgatory.watch(operation, [A, B], 100)
    purgatory.close()
    assert all(operation.events[-2:] == ["expired", "complete"] for operation in operations)
    assert purgatory.size == 0
