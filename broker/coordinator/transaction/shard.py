"""The transactional ids of one partition of `__transaction_state`: a pure state machine.

    command → record, answer → apply             a transition is decided, written, then in force
    … → decided, and the decision is safe        its markers are sent: `EndingTransactions.begin`
    … → all markers written → `complete`         the producer may go on

One transition of an id at a time: from the decision to write until the write is safe, and from a
decided end until its completion, whatever else is wanted of the id is CONCURRENT_TRANSACTIONS and
comes back. Crash argument: nothing is sent to anybody before its record is safe, so what is loaded
again is at least what was told; a decided end found at loading has its markers sent again, and
logs take a marker twice without harm.
Source: TransactionCoordinator.scala, TransactionStateManager.scala (4.3), KIP-98, KIP-360, KIP-890.
"""

from collections.abc import Callable, Collection, Hashable, Iterable
from itertools import islice
from typing import Final, NamedTuple, Protocol

from broker.coordinator.shard import CoordinatorRecord, Outcome, Waiter, Writer
from broker.coordinator.transaction import metadata
from broker.coordinator.transaction.ending import end_of
from broker.coordinator.transaction.metadata import Transaction
from broker.coordinator.transaction.opening import Claim, check_claim, opening_of
from broker.coordinator.transaction.producer import Producer, ProducerIdAndEpoch
from broker.coordinator.transaction.states import IDLE, ONGOING, PREPARED
from protocol.errors import ErrorCode, KafkaError
from protocol.model import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicPartition

TIMEOUTS: Final = "timeouts"
EXPIRY: Final = "expiry"
"""The two timers of a shard."""
AT_ONCE: Final = 100
"""Transactions that one look at the clock ends or forgets; the next look comes at once."""


class EndingTransactions(Protocol):
    """Who writes the markers of decided transactions and then completes them."""

    def begin(self, shard: "TransactionShard", transaction: Transaction) -> None:
        """The decision is safe: send the markers."""

    def look_again(self, shard: "TransactionShard", transactional_id: str) -> None:
        """It is not known whether it is safe: ask for that later."""


class ShardSettings(NamedTuple):
    """What shards are given from outside, values that may change among it.

    `next_producer_id()` is never used twice, None while there is none at hand; `server_version`
    answers the cluster's transaction.version.
    """

    next_producer_id: Callable[[], int | None]
    timeout_interval_ms: Callable[[], int]
    expiry_interval_ms: Callable[[], int]
    expiration_ms: Callable[[], int]
    server_version: Callable[[], int]


class TransactionShard:
    """See the module. `transactions` is what the records tell of."""

    def __init__(
        self, index: int, leader_epoch: int, settings: ShardSettings, ending: EndingTransactions
    ) -> None:
        self.index = index
        self.leader_epoch = leader_epoch
        self.transactions: dict[str, Transaction] = {}
        self.is_unloaded = False
        self._settings = settings
        self._ending = ending
        self._ongoing: dict[str, None] = {}
        # Written, but not yet safe: no other transition of these may begin.
        self._pending: set[str] = set()
        # The epoch before the current one, while a retry may still name it (KIP-360); no record
        # has it, as with Kafka.
        self._last_epochs: dict[str, int] = {}

    # What records tell of.

    def apply(self, record: CoordinatorRecord, _offset: int, _writer: Writer | None) -> None:
        """Take over what a record says of its id."""
        transactional_id, transaction = metadata.decode_record(record)
        self._ongoing.pop(transactional_id, None)
        if transaction is None:
            self.transactions.pop(transactional_id, None)
            self._last_epochs.pop(transactional_id, None)
            return
        self.transactions[transactional_id] = transaction
        if transaction.state is ONGOING:
            self._ongoing[transactional_id] = None

    def apply_marker(self, writer: Writer, *, committed: bool) -> None:
        """Nobody writes here as part of a transaction."""

    def loaded(self, now_ms: int) -> Outcome:
        """Have the ends that were decided come about, and begin to look at the clock."""
        settings = self._settings
        prepared = [one for one in self.transactions.values() if one.state in PREPARED]
        return Outcome(
            answers=[(_Write(self, one.transactional_id), None) for one in prepared],
            timers={
                TIMEOUTS: now_ms + settings.timeout_interval_ms(),
                EXPIRY: now_ms + settings.expiry_interval_ms(),
            },
        )

    def unloaded(self) -> Iterable[Waiter]:
        """Nobody waits in here; markers that are under way lead nowhere any more."""
        self.is_unloaded = True
        return ()

    # Commands of clients.

    def init_producer_id(
        self, claim: Claim, timeout_ms: int, waiter: Waiter, now_ms: int
    ) -> Outcome:
        """A producer begins: it gets an id and epoch of its own, and all before it are fenced.

        Codes: CONCURRENT_TRANSACTIONS (after an open transaction was aborted, too: come back),
        PRODUCER_FENCED, COORDINATOR_LOAD_IN_PROGRESS while there is no producer id.
        """
        transactional_id = claim.transactional_id
        before = self.transactions.get(transactional_id)
        if before is None:
            if transactional_id in self._pending:
                raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
            before = metadata.created(transactional_id, self._fresh_id(), timeout_ms, now_ms)
        else:
            self._check_none_pending(before)
        check_claim(before, claim)
        if before.state is ONGOING:
            after = self._fenced(before, now_ms)
            return self._transition(after, (_Refusing(waiter), None), NO_PRODUCER_EPOCH)
        last_epoch = self._last_epochs.get(transactional_id, NO_PRODUCER_EPOCH)
        opening = opening_of(before, last_epoch, claim)
        producer_id = self._fresh_id() if opening.rotates else before.producer_id
        epoch = opening.producer_epoch
        after = metadata.reopened(before, producer_id, epoch, timeout_ms, now_ms)
        answer = ProducerIdAndEpoch(producer_id, epoch)
        return self._transition(after, (waiter, answer), opening.last_epoch)

    def add_partitions(
        self,
        producer: Producer,
        partitions: Collection[TopicPartition],
        client_version: int,
        waiter: Waiter,
        now_ms: int,
    ) -> Outcome:
        """Partitions join the transaction, which begins if there was none; answered None.

        Codes: INVALID_PRODUCER_ID_MAPPING, CONCURRENT_TRANSACTIONS, PRODUCER_FENCED.
        """
        before = self._known(producer.transactional_id)
        self._check_none_pending(before)
        _check_producer(before, producer)
        if before.state is ONGOING and before.partitions.issuperset(partitions):
            return Outcome(answers=[(waiter, None)])
        after = metadata.joined(before, partitions, client_version, now_ms)
        return self._transition(after, (waiter, None))

    def verify_partitions(
        self, producer: Producer, partitions: Collection[TopicPartition], waiter: Waiter
    ) -> Outcome:
        """Answered with those of the partitions that are not part of the transaction.

        What is pending does not matter: the log checks again when it appends. Codes as above.
        """
        transaction = self._known(producer.transactional_id)
        _check_producer(transaction, producer)
        if transaction.state in PREPARED:
            raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
        absent = [one for one in partitions if one not in transaction.partitions]
        return Outcome(answers=[(waiter, absent)])

    def end(
        self, producer: Producer, commit: bool, client_version: int, waiter: Waiter, now_ms: int
    ) -> Outcome:
        """Decide the transaction; answered with what to produce as from now on.

        Codes: INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS,
        INVALID_TXN_STATE.
        """
        before = self._known(producer.transactional_id)
        is_pending = self._is_pending(before)
        if not end_of(before, is_pending, producer, commit, client_version):
            # The producer did not hear that it was decided, or that it is complete.
            answer = ProducerIdAndEpoch(before.producer_id, before.producer_epoch)
            return Outcome(answers=[(waiter, answer)])
        rotates = client_version >= metadata.TRANSACTIONS_V2 and before.epoch_is_exhausted
        next_id = self._fresh_id() if rotates else NO_PRODUCER_ID
        after = metadata.decided(before, commit, client_version, next_id, now_ms)
        answer = (
            ProducerIdAndEpoch(next_id, 0)
            if rotates
            else ProducerIdAndEpoch(after.producer_id, after.producer_epoch)
        )
        last_epoch = (
            before.producer_epoch
            if client_version >= metadata.TRANSACTIONS_V2
            else self._last_epochs.get(before.transactional_id, NO_PRODUCER_EPOCH)
        )
        return self._transition(after, (waiter, answer), last_epoch)

    def look(self, transactional_id: str, waiter: Waiter) -> Outcome:
        """Answered with what is known of an id; TRANSACTIONAL_ID_NOT_FOUND."""
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            raise KafkaError(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
        return Outcome(answers=[(waiter, transaction)])

    def _known(self, transactional_id: str) -> Transaction:
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        return transaction

    def _fresh_id(self) -> int:
        producer_id = self._settings.next_producer_id()
        if producer_id is None:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return producer_id

    # The ends of transactions.

    def decided(self, transactional_id: str, waiter: Waiter) -> Outcome:
        """Answered once it is safe, with the decided transaction; with None if there is none."""
        transaction = self.transactions.get(transactional_id)
        is_decided = transaction is not None and transaction.state in PREPARED
        return Outcome(answers=[(waiter, transaction if is_decided else None)])

    def complete(self, decided: Transaction, waiter: Waiter, now_ms: int) -> Outcome:
        """All markers of a decided transaction are in their logs."""
        if self.transactions.get(decided.transactional_id) != decided:
            return Outcome(answers=[(waiter, None)])
        after = metadata.completed(decided, now_ms)
        last_epoch = self._last_epochs.get(decided.transactional_id, NO_PRODUCER_EPOCH)
        return self._transition(after, (waiter, None), last_epoch)

    # The clock.

    def on_timer(self, key: Hashable, now_ms: int) -> Outcome:
        """Abort what is open for too long; forget ids that are not used any more."""
        if key == TIMEOUTS:
            return self._abort_overdue(now_ms)
        return self._forget_expired(now_ms)

    def _abort_overdue(self, now_ms: int) -> Outcome:
        overdue = (
            one
            for one in map(self.transactions.__getitem__, self._ongoing)
            if one.is_overdue(now_ms) and one.transactional_id not in self._pending
        )
        some = list(islice(overdue, AT_ONCE))
        outcome = Outcome(timers=self._next(TIMEOUTS, len(some), now_ms))
        for before in some:
            try:
                after = self._fenced(before, now_ms)
            except KafkaError:
                break  # No producer id to go on with: the next look finds one.
            self._begin(after, NO_PRODUCER_EPOCH)
            outcome.records.append(self._record(after))
            outcome.answers.append((_Write(self, after.transactional_id), None))
        return self._rearming(outcome)

    def _forget_expired(self, now_ms: int) -> Outcome:
        last_use_ms = now_ms - self._settings.expiration_ms()
        expired = (
            one.transactional_id
            for one in self.transactions.values()
            if one.updated_ms <= last_use_ms
            and one.state in IDLE
            and one.transactional_id not in self._pending
        )
        some = list(islice(expired, AT_ONCE))
        outcome = Outcome(timers=self._next(EXPIRY, len(some), now_ms))
        for transactional_id in some:
            self._pending.add(transactional_id)
            outcome.records.append(metadata.tombstone_of(transactional_id))
            outcome.answers.append((_Write(self, transactional_id), None))
        return self._rearming(outcome)

    def _next(self, key: str, found: int, now_ms: int) -> dict[Hashable, int | None]:
        settings = self._settings
        interval = settings.timeout_interval_ms if key == TIMEOUTS else settings.expiry_interval_ms
        return {key: now_ms if found == AT_ONCE else now_ms + interval()}

    def _rearming(self, outcome: Outcome) -> Outcome:
        """The clock is looked at again even if nothing could be written."""
        timers, answers = outcome.timers, outcome.answers

        def failed(code: ErrorCode) -> Outcome:
            for waiter, _ in answers:
                waiter.refuse(code)
            return Outcome(timers=timers)

        outcome.failed = failed
        return outcome

    # Transitions.

    def _fenced(self, before: Transaction, now_ms: int) -> Transaction:
        version = self._settings.server_version()
        rotates = version >= metadata.TRANSACTIONS_V2 and before.epoch_is_exhausted
        next_id = self._fresh_id() if rotates else NO_PRODUCER_ID
        return metadata.fenced(before, next_id, version, now_ms)

    def _transition(
        self,
        after: Transaction,
        answer: tuple[Waiter, object],
        last_epoch: int | None = None,
    ) -> Outcome:
        """Write a transition; the client is answered first, then what follows from it begins."""
        before_epoch = self._last_epochs.get(after.transactional_id)
        self._begin(after, last_epoch)
        write = _Write(self, after.transactional_id)

        def failed(code: ErrorCode) -> Outcome:
            if before_epoch is None:
                self._last_epochs.pop(after.transactional_id, None)
            else:
                self._last_epochs[after.transactional_id] = before_epoch
            self._pending.discard(after.transactional_id)
            answer[0].refuse(code)
            return Outcome()

        return Outcome([self._record(after)], [answer, (write, None)], failed=failed)

    def _begin(self, after: Transaction, last_epoch: int | None) -> None:
        transactional_id = after.transactional_id
        self._pending.add(transactional_id)
        if last_epoch is None:
            return
        if last_epoch == NO_PRODUCER_EPOCH:
            self._last_epochs.pop(transactional_id, None)
        else:
            self._last_epochs[transactional_id] = last_epoch

    def _record(self, after: Transaction) -> CoordinatorRecord:
        return metadata.record_of(after, 1 if self._settings.server_version() else 0)

    def _is_pending(self, transaction: Transaction) -> bool:
        return transaction.state in PREPARED or transaction.transactional_id in self._pending

    def _check_none_pending(self, transaction: Transaction) -> None:
        if self._is_pending(transaction):
            raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)

    def written(self, transactional_id: str, *, is_safe: bool) -> None:
        """A transition's record is safe, or nobody knows: what was decided has to come about."""
        self._pending.discard(transactional_id)
        transaction = self.transactions.get(transactional_id)
        if transaction is None or transaction.state not in PREPARED or self.is_unloaded:
            return
        if is_safe:
            self._ending.begin(self, transaction)
        else:
            self._ending.look_again(self, transactional_id)


def _check_producer(transaction: Transaction, producer: Producer) -> None:
    if transaction.producer_id != producer.producer_id:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if transaction.producer_epoch != producer.producer_epoch:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)


class _Write:
    """Waits until a transition is safe."""

    __slots__ = ("_shard", "_transactional_id")

    def __init__(self, shard: TransactionShard, transactional_id: str) -> None:
        self._shard = shard
        self._transactional_id = transactional_id

    def answer(self, _reply: object) -> None:
        self._shard.written(self._transactional_id, is_safe=True)

    def refuse(self, _code: ErrorCode) -> None:
        self._shard.written(self._transactional_id, is_safe=False)


class _Refusing:
    """Whoever waits is told to come back, once that is safe to say."""

    __slots__ = ("_waiter",)

    def __init__(self, waiter: Waiter) -> None:
        self._waiter = waiter

    def answer(self, _reply: object) -> None:
        self._waiter.refuse(ErrorCode.CONCURRENT_TRANSACTIONS)

    def refuse(self, code: ErrorCode) -> None:
        self._waiter.refuse(code)
