"""The smallest shard: it counts. Records are `name → number`, forgotten by a tombstone."""

from collections.abc import Hashable, Iterable

from broker.coordinator.shard import CoordinatorRecord, Outcome, Waiter, Writer
from protocol.errors import ErrorCode


class Tally:
    """Numbers by name; those of an open transaction are pending until its marker."""

    def __init__(self, index: int = 0, leader_epoch: int = 0) -> None:
        self.index = index
        self.leader_epoch = leader_epoch
        self.numbers: dict[bytes, int] = {}
        self.pending: dict[int, dict[bytes, int]] = {}
        self.parked: list[Waiter] = []
        self.applied: list[int] = []
        self.fired: list[Hashable] = []
        self.loaded_at: int | None = None

    def apply(self, record: CoordinatorRecord, offset: int, writer: Writer | None) -> None:
        if writer is not None:
            numbers = self.pending.setdefault(writer.producer_id, {})
        else:
            numbers = self.numbers
        if record.value is None:
            numbers.pop(record.key, None)
        else:
            numbers[record.key] = int(record.value)
        self.applied.append(offset)

    def apply_marker(self, writer: Writer, *, committed: bool) -> None:
        numbers = self.pending.pop(writer.producer_id, {})
        if committed:
            self.numbers.update(numbers)

    def loaded(self, now_ms: int) -> Outcome:
        self.loaded_at = now_ms
        return Outcome(timers={"session": now_ms + 1000})

    def on_timer(self, key: Hashable, now_ms: int) -> Outcome:
        self.fired.append(key)
        return Outcome([CoordinatorRecord(b"fired", b"%d" % len(self.fired))])

    def unloaded(self) -> Iterable[Waiter]:
        waiting, self.parked = self.parked, []
        return waiting


class Asker:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def answer(self, reply: object) -> None:
        self.told.append(reply)

    def refuse(self, code: ErrorCode) -> None:
        self.told.append(code)


def put(name: bytes, number: int, asker: Asker, writer: Writer | None = None) -> Outcome:
    """The decision to write one number and to say which."""
    return Outcome([CoordinatorRecord(name, b"%d" % number)], [(asker, number)], writer=writer)
