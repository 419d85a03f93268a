"""The cap on memory holds, and never stops everybody."""

from broker.network.request_memory import RequestMemory


class Holder:
    def __init__(self) -> None:
        self.woken = 0

    def room_again(self) -> None:
        self.woken += 1


def test_below_the_cap_everyone_gets_what_is_left() -> None:
    memory = RequestMemory(1000)
    memory.change(400)
    assert memory.room == 600
    assert memory.room_for(Holder()) == 600


def test_at_the_cap_one_passes_and_the_others_wait_in_order() -> None:
    memory = RequestMemory(1000)
    passing, second, third = Holder(), Holder(), Holder()
    memory.change(1000)
    assert memory.room == 0
    assert memory.room_for(passing) == 1000
    assert memory.room_for(second) == 0
    assert memory.room_for(second) == 0
    assert memory.room_for(third) == 0
    assert memory.waiting == 2
    assert memory.is_passing(passing)
    memory.change(500)
    assert memory.room_for(passing) == 1000
    memory.finished(passing)
    assert (second.woken, third.woken) == (1, 0)
    assert memory.is_passing(second)
    assert memory.room_for(second) == 1000


def test_memory_given_back_below_the_cap_wakes_all_that_wait() -> None:
    memory = RequestMemory(1000)
    passing, first, second = Holder(), Holder(), Holder()
    memory.change(1500)
    for holder in (passing, first, second):
        memory.room_for(holder)
    memory.change(-400)
    assert (first.woken, second.woken) == (0, 0)
    memory.change(-400)
    assert (first.woken, second.woken) == (1, 1)
    assert memory.waiting == 0
    assert memory.room_for(second) == 300


def test_a_closed_connection_neither_waits_nor_passes() -> None:
    memory = RequestMemory(1000)
    passing, gone, waiting = Holder(), Holder(), Holder()
    memory.change(1000)
    for holder in (passing, gone, waiting):
        memory.room_for(holder)
    memory.forget(gone)
    assert memory.waiting == 1
    memory.forget(passing)
    assert (gone.woken, waiting.woken) == (0, 1)
    assert not memory.is_passing(passing)
