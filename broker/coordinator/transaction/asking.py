"""What the leader of a partition asks the coordinator before a transaction's first batch there.

    Produce up to 11   is the partition part of the transaction?      (transactions v1, KIP-890)
    Produce from 12    make it part of the transaction                (transactions v2)

The coordinator's word is translated for the producer: what passes becomes NOT_ENOUGH_REPLICAS,
which older producers retry without asking for metadata. For a producer of v2 the question is asked
again for a moment while the end of its last transaction is still being written.
Source: AddPartitionsToTxnManager.java, ReplicaManager.handleProduceAppend (4.3).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from broker.coordinator.transaction.coordinator import TransactionCoordinator
from broker.coordinator.transaction.metadata import TRANSACTIONS_V2
from broker.coordinator.transaction.producer import Producer
from broker.replication.purgatory import Cancellable
from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicPartition
from runtime.clock import Clock

FIRST_PRODUCE_THAT_KNOWS_ABORTABLE: Final = 11
FIRST_PRODUCE_OF_V2: Final = 12
_PASSING: Final = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)

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

    def is_asked(self, version: int) -> bool:
        """Whether a Produce of this version has to be asked about."""
        return version >= FIRST_PRODUCE_OF_V2 or self.settings.verifies()

    def ask(
        self, producer: Producer, partitions: Sequence[TopicPartition], version: int, told: Told
    ) -> None:
        """Ask about partitions that a Produce of this version wants to open a transaction on."""
        _Question(self, producer, partitions, version, told).put()


class _Question:
    """One question until it is answered."""

    __slots__ = ("_asking", "_partitions", "_producer", "_told", "_until_ms", "_version")

    def __init__(
        self,
        asking: TransactionQuestions,
        producer: Producer,
        partitions: Sequence[TopicPartition],
        version: int,
        told: Told,
    ) -> None:
        self._asking = asking
        self._producer = producer
        self._partitions = partitions
        self._version = version
        self._told = told
        self._until_ms = asking.clock.now_ms() + asking.settings.patience_ms()

    def put(self) -> None:
        coordinator = self._asking.coordinator
        if self._version >= FIRST_PRODUCE_OF_V2:
            coordinator.add_partitions(self._producer, self._partitions, TRANSACTIONS_V2, self)
        else:
            coordinator.verify_partitions(self._producer, self._partitions, self)

    def answer(self, reply: object) -> None:
        absent = reply if isinstance(reply, list) else []
        error = self._absent() if absent else None
        self._told({} if error is None else dict.fromkeys(absent, error))

    def refuse(self, code: ErrorCode) -> None:
        asking = self._asking
        if code is ErrorCode.CONCURRENT_TRANSACTIONS and self._version >= FIRST_PRODUCE_OF_V2:
            pause_ms = asking.settings.pause_ms()
            if asking.clock.now_ms() + pause_ms <= self._until_ms:
                asking.after(pause_ms, self.put)
                return
        self._told(dict.fromkeys(self._partitions, translated(code, self._version)))

    def _absent(self) -> KafkaError:
        if self._version >= FIRST_PRODUCE_THAT_KNOWS_ABORTABLE:
            return KafkaError(ErrorCode.TRANSACTION_ABORTABLE)
        return KafkaError(ErrorCode.INVALID_TXN_STATE, "Partition was not added to the transaction")


def translated(code: ErrorCode, version: int) -> KafkaError:
    """What a producer of that Produce version is told of the coordinator's refusal."""
    passes = code in _PASSING or (
        code is ErrorCode.CONCURRENT_TRANSACTIONS and version < FIRST_PRODUCE_OF_V2
    )
    if passes:
        return KafkaError(
            ErrorCode.NOT_ENOUGH_REPLICAS,
            "Unable to verify the partition has been added to the transaction. "
            f"Underlying error: {code.name}",
        )
    if code is ErrorCode.PRODUCER_FENCED:
        return KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH)
    return KafkaError(code)
