"""Each change wakes those it can satisfy, and nobody else."""

import pytest

from broker.replication import change
from broker.replication.change import PartitionChange
from broker.replication.purgatories import Purgatories
from broker.replication.purgatory import DelayedOperation
from protocol.model import TopicPartition

TP = TopicPartition("t", 0)


class Timer:
    def cancel(self) -> None:
        pass


class Waiting(DelayedOperation):
    tries = 0

    def is_due(self, key: TopicPartition | None) -> bool:
        self.tries += 1
        return False

    def on_complete(self) -> None:
        pass


@pytest.mark.parametrize(
    ("bits", "woken"),
    [
        (change.LOG_END, {"followers"}),
        (change.HIGH_WATERMARK, {"produce", "readers"}),
        (change.FLUSHED, {"produce"}),
        (change.LOG_START, {"deletions"}),
        (change.LEADERSHIP, {"produce", "readers", "followers", "deletions"}),
        (change.STORAGE, {"produce", "readers", "followers", "deletions"}),
    ],
)
def test_a_change_wakes_those_who_wait_for_it(bits: PartitionChange, woken: set[str]) -> None:
    purgatories = Purgatories(lambda delay, callback: Timer())
    waiting: dict[str, Waiting] = {}
    for name in ("produce", "readers", "followers", "deletions"):
        waiting[name] = Waiting()
        getattr(purgatories, name).watch(waiting[name], [TP], 100)
    purgatories.wake(TP, bits)
    assert {name for name, operation in waiting.items() if operation.tries == 2} == woken


def is_empty(purgatories: Purgatories) -> bool:
    return purgatories.empty


def test_sizes_carry_kafkas_names_and_emptiness_is_told() -> None:
    purgatories = Purgatories(lambda delay, callback: Timer())
    assert is_empty(purgatories)
    for purgatory in (purgatories.readers, purgatories.followers):
        purgatory.watch(Waiting(), [TP], 100)
    assert purgatories.sizes() == {"Produce": 0, "Fetch": 2, "DeleteRecords": 0}
    assert not is_empty(purgatories)
    purgatories.release_readers()
    assert is_empty(purgatories)


def test_appends_are_not_given_up_when_readers_are_released() -> None:
    purgatories = Purgatories(lambda delay, callback: Timer())
    purgatories.produce.watch(Waiting(), [TP], 100)
    purgatories.deletions.watch(Waiting(), [TP], 100)
    purgatories.release_readers()
    assert purgatories.sizes() == {"Produce": 1, "Fetch": 0, "DeleteRecords": 0}
