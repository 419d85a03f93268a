"""Changes wake nobody until the callback is over, then each partition once, in bounded turns."""

from collections.abc import Callable

from broker.replication.change import (
    CHANGES_PER_TURN,
    HIGH_WATERMARK,
    LOG_END,
    NOTHING,
    ChangeQueue,
    PartitionChange,
)
from protocol.model import TopicPartition

A = TopicPartition("a", 0)
B = TopicPartition("b", 0)


class Turns:
    """The loop's queue of things to call soon, and what was woken."""

    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []
        self.woken: list[tuple[TopicPartition, PartitionChange]] = []
        self.queue = ChangeQueue(self.soon.append, self.wake)

    def wake(self, tp: TopicPartition, change: PartitionChange) -> None:
        self.woken.append((tp, change))

    def turn(self) -> None:
        soon, self.soon[:] = list(self.soon), []
        for function in soon:
            function()


def test_nothing_is_woken_inside_the_change() -> None:
    turns = Turns()
    turns.queue.add(A, LOG_END)
    assert turns.woken == []
    turns.turn()
    assert turns.woken == [(A, LOG_END)]


def test_changes_of_one_partition_are_merged_and_drained_once() -> None:
    turns = Turns()
    turns.queue.add(A, LOG_END)
    turns.queue.add(B, LOG_END)
    turns.queue.add(A, HIGH_WATERMARK)
    assert len(turns.soon) == 1
    turns.turn()
    assert turns.woken == [(A, LOG_END | HIGH_WATERMARK), (B, LOG_END)]


def test_no_change_schedules_nothing() -> None:
    turns = Turns()
    turns.queue.add(A, NOTHING)
    assert not turns.soon
    assert len(turns.queue) == 0


def test_a_change_made_while_draining_waits_for_a_later_turn() -> None:
    turns = Turns()

    def wake(tp: TopicPartition, change: PartitionChange) -> None:
        turns.woken.append((tp, change))
        if tp == A:
            turns.queue.add(B, LOG_END)

    turns.queue = ChangeQueue(turns.soon.append, wake)
    turns.queue.add(A, LOG_END)
    turns.turn()
    assert turns.woken == [(A, LOG_END)]
    turns.turn()
    assert turns.woken == [(A, LOG_END), (B, LOG_END)]
    assert not turns.soon


def test_a_turn_wakes_a_bounded_number() -> None:
    turns = Turns()
    for index in range(CHANGES_PER_TURN + 1):
        turns.queue.add(TopicPartition("t", index), LOG_END)
    turns.turn()
    assert len(turns.woken) == CHANGES_PER_TURN
    turns.turn()
    assert len(turns.woken) == CHANGES_PER_TURN + 1
    assert not turns.soon


def test_a_wake_that_raises_does_not_lose_the_others() -> None:
    turns = Turns()

    def wake(tp: TopicPartition, change: PartitionChange) -> None:
        if tp == A:
            raise RuntimeError("bug")
        turns.woken.append((tp, change))

    turns.queue = ChangeQueue(turns.soon.append, wake)
    turns.queue.add(A, LOG_END)
    turns.queue.add(B, LOG_END)
    try:
        turns.turn()
    except RuntimeError:
        pass
    turns.turn()
    assert turns.woken == [(B, LOG_END)]
