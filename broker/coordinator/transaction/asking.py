"""What the leader of a partition asks the coordinator before a transaction's first batch there.

    of v1   is the partition part of the transaction?      TRANSACTION_ABORTABLE, INVALID_TXN_STATE
    of v2   make it part of the transaction                … asked again for a moment while the end
                                                           of the last one is still being written
Source: AddPartitionsToTxnManager.java, ReplicaManager.maybeSendPartitionsToTransactionVerification
(4.3), KIP-890.
"""

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from broker.coordinator.transaction.coordinator import TransactionCoordinator
from broker.coordinator.transaction.metadata import TRANSACTIONS_V2
from broker.coordinator.transaction.producer import Producer
from broker.replication.purgatory import Cancellable
from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicPartition
from runtime.clock import Clock


class Manner(enum.Enum):
    """How a client's transaction is asked about, which its request's version tells."""

    OLD = 0
    KNOWS_ABORTABLE = 1
    JOINS = 2


Refused = Mapping[TopicPartition, KafkaError]
Told = Callable[[Refused], None]


class AskingSettings(NamedTuple):
    """`verifies()` is transaction.partition.verification.enable; pauses in ms are live."""

    verifies: Callable[[], bool]
    pause_ms: Callable[[], int]
    patience_ms: Callable[[], int]


class TransactionQuestions:
    """Asks the coordinator, which is in this process. `told(refused)` has the partitions that may
    not be written to; it may be called before `ask` returns.
    """

    def __init__(
        self,
        coordinator: TransactionCoordinator,
        settings: AskingSettings,
        clock: Clock,
        after: Callable[[int, Callable[[], None]], Cancellable],
    ) -> None:
        self.coordinator = coordinator
        self.settings = settings
        self.clock = clock
        self.after = after

    def is_asked(self, manner: Manner) -> bool:
        """Whether there is anything to ask."""
        return manner is Manner.JOINS or self.settings.verifies()

    def ask(
        self,
        producer: Producer,
        partitions: Sequence[TopicPartition],
        manner: Manner,
        told: Told,
        *,
        patiently: bool = False,
    ) -> None:
        """Ask about partitions in which the producer wants to open a transaction.

        Codes: those of the coordinator and its runtime, INVALID_PRODUCER_EPOCH for PRODUCER_FENCED,
        TRANSACTION_ABORTABLE, in the old manner INVALID_TXN_STATE. `patiently` asks again while
        they are CONCURRENT_TRANSACTIONS, for as long as is set.
        """
        until_ms = self.clock.now_ms() + self.settings.patience_ms() if patiently else None
        _Question(self, producer, partitions, manner, told, until_ms).put()


class _Question:
    """One question until it is answered."""

    __slots__ = ("_asking", "_manner", "_partitions", "_producer", "_told", "_until_ms")

    def __init__(
        self,
        asking: TransactionQuestions,
        producer: Producer,
        partitions: Sequence[TopicPartition],
        manner: Manner,
        told: Told,
        until_ms: int | None,
    ) -> None:
        self._asking = asking
        self._producer = producer
        self._partitions = partitions
        self._manner = manner
        self._told = told
        self._until_ms = until_ms

    def put(self) -> None:
        coordinator = self._asking.coordinator
        if self._manner is Manner.JOINS:
            coordinator.add_partitions(self._producer, self._partitions, TRANSACTIONS_V2, self)
        else:
            coordinator.verify_partitions(self._producer, self._partitions, self)

    def answer(self, reply: object) -> None:
        absent = reply if isinstance(reply, list) else []
        self._told(dict.fromkeys(absent, self._absent()))

    def refuse(self, code: ErrorCode) -> None:
        asking = self._asking
        if code is ErrorCode.CONCURRENT_TRANSACTIONS and self._until_ms is not None:
            pause_ms = asking.settings.pause_ms()
            if asking.clock.now_ms() + pause_ms <= self._until_ms:
                asking.after(pause_ms, self.put)
                return
        if code is ErrorCode.PRODUCER_FENCED:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
        self._told(dict.fromkeys(self._partitions, KafkaError(code)))

    def _absent(self) -> KafkaError:
        if self._manner is not Manner.OLD:
            return KafkaError(ErrorCode.TRANSACTION_ABORTABLE)
        return KafkaError(ErrorCode.INVALID_TXN_STATE, "Partition was not added to the transaction")
