"""What a coordinator is: the state of one partition of an internal topic, and what it answers.

    command(shard, now_ms) → Outcome      decides; changes nothing that a record tells of
    shard.apply(record, …)                alone changes what records tell of, live and at replay

An outcome is a fact for the runtime to act on: records to append, answers that are given once those
are safe, timers to arm. State that no record tells of (who waits for a rebalance, when a session
ends) is the command's to change, and `failed` takes that back where the records were refused.
Source: CoordinatorShard, CoordinatorResult of Kafka 4.3.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple, Protocol

from protocol.errors import ErrorCode
from storage.producer.verification import NO_TERMS, TransactionTerms


class CoordinatorRecord(NamedTuple):
    """One record of an internal topic; a value of None forgets the key."""

    key: bytes
    value: bytes | None


class Waiter(Protocol):
    """Who asked, and waits for the answer; told exactly once."""

    def answer(self, reply: object) -> None:
        """The command succeeded."""

    def refuse(self, code: ErrorCode) -> None:
        """It did not."""


class Writer(NamedTuple):
    """The transactional producer on whose behalf records are written."""

    producer_id: int
    producer_epoch: int


class PartOfTransaction(NamedTuple):
    """On whose behalf records are written, and what was asked about that."""

    writer: Writer
    terms: TransactionTerms


class Outcome:
    """What a command decided.

    `answers` are given when all records are safe, `timers` armed (deadline in ms) or cancelled
    (None) at once. `failed(code)` is called instead where the append was refused; what it returns
    has no records. `writer` makes the records part of its transaction, `terms` are what was asked
    about that.
    """

    __slots__ = ("answers", "failed", "records", "terms", "timers", "writer")

    def __init__(
        self,
        records: Sequence[CoordinatorRecord] = (),
        answers: Iterable[tuple[Waiter, object]] = (),
        *,
        timers: dict[Hashable, int | None] | None = None,
        writer: Writer | None = None,
        terms: TransactionTerms = NO_TERMS,
        failed: "Callable[[ErrorCode], Outcome] | None" = None,
    ) -> None:
        self.records = list(records)
        self.answers = list(answers)
        self.timers = {} if timers is None else timers
        self.writer = writer
        self.terms = terms
        self.failed = failed


class Shard(Protocol):
    """The state that one partition's records describe."""

    def apply(self, record: CoordinatorRecord, offset: int, writer: Writer | None) -> None:
        """A record was appended, or is replayed. Must not fail for any record that was ever
        written; whatever it raises is logged and the record left out.
        """

    def apply_marker(self, writer: Writer, *, committed: bool) -> None:
        """The transaction of a writer has ended."""

    def loaded(self, now_ms: int) -> Outcome:
        """Everything in the partition was replayed: what follows by itself, timers above all."""

    def on_timer(self, key: Hashable, now_ms: int) -> Outcome:
        """A timer that an outcome armed is due."""

    def unloaded(self) -> Iterable[Waiter]:
        """The partition is led elsewhere, or gone: everyone who waits in this state."""
