"""The transactional batches of a produce request: who writes them, and whether they may.

A batch that opens a transaction on its partition needs the coordinator's word before the append,
and presents in the append what was asked (`storage.producer.verification`). All transactional
batches of a request are of one producer. A partition that already knows the transaction asks
nobody; so most requests cost no question. What passes at the coordinator becomes
NOT_ENOUGH_REPLICAS, which older producers retry without asking for metadata.
Source: ReplicaManager.handleProduceAppend, Partition.maybeStartTransactionVerification (4.3).
"""

from collections.abc import Sequence
from struct import Struct
from typing import Final

from broker.context import Parked
from broker.coordinator.transaction.asking import Manner, Refused, TransactionQuestions
from broker.coordinator.transaction.metadata import TRANSACTIONS_V2
from broker.coordinator.transaction.producer import Producer
from broker.replication.replica_manager import ReplicaManager
from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicPartition
from storage.producer.verification import TransactionTerms, Verification

FIRST_VERSION_THAT_KNOWS_ABORTABLE: Final = 11
FIRST_VERSION_OF_V2: Final = 12
_PASSING: Final = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
_PRODUCER: Final = Struct(">43xqhi")
"""Id, epoch and first sequence in the header of a batch."""

Batch = tuple[TopicPartition, memoryview]


class TransactionalBatches:
    """Those of one request. After `ask` a partition is in `refused`, or has its `terms`."""

    __slots__ = ("_batches", "_manner", "_questions", "_replicas", "refused", "terms")

    def __init__(
        self,
        batches: Sequence[Batch],
        version: int,
        replicas: ReplicaManager,
        questions: TransactionQuestions,
    ) -> None:
        self._batches = batches
        self._manner = manner_of(version)
        self._replicas = replicas
        self._questions = questions
        self.refused: dict[TopicPartition, KafkaError] = {}
        self.terms: dict[TopicPartition, TransactionTerms] = {}

    def ask(self, transactional_id: str) -> Parked | None:
        """Ask about what has to be asked about; None once everything is known, else what is
        completed then. KafkaError INVALID_PRODUCER_ID_MAPPING for batches of several producers.
        """
        producer_id, producer_epoch = self._one_producer()
        if not self._questions.is_asked(self._manner):
            return None
        is_v2 = self._manner is Manner.JOINS
        now_ms = self._questions.clock.now_ms()
        for topic_partition, batch in self._batches:
            sequence = _PRODUCER.unpack_from(batch)[2]
            asked = Verification(sequence, producer_epoch, is_v2, now_ms)
            try:
                log = self._replicas.hosted(topic_partition).leader_log()
                presented = log.start_verification(producer_id, asked)
            except KafkaError as error:
                self.refused[topic_partition] = error
                continue
            if presented is not None:
                self.terms[topic_partition] = TransactionTerms(
                    presented, TRANSACTIONS_V2 if is_v2 else 0
                )
        if not self.terms:
            return None
        return self._put(Producer(transactional_id, producer_id, producer_epoch))

    def _one_producer(self) -> tuple[int, int]:
        producers = {_PRODUCER.unpack_from(batch)[:2] for _, batch in self._batches}
        if len(producers) > 1:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        producer_id, producer_epoch = producers.pop()
        return producer_id, producer_epoch

    def _put(self, producer: Producer) -> Parked | None:
        told = False
        parked: Parked | None = None

        def tell(refused: Refused) -> None:
            nonlocal told
            told = True
            for partition, error in refused.items():
                self.refused[partition] = told_to_producer(error, self._manner)
            if parked is not None:
                parked.complete(None)

        patiently = self._manner is Manner.JOINS
        self._questions.ask(producer, list(self.terms), self._manner, tell, patiently=patiently)
        if not told:
            parked = Parked()
        return parked


def manner_of(version: int) -> Manner:
    """How the transactions of a Produce of this version are asked about."""
    if version >= FIRST_VERSION_OF_V2:
        return Manner.JOINS
    return Manner.KNOWS_ABORTABLE if version >= FIRST_VERSION_THAT_KNOWS_ABORTABLE else Manner.OLD


def told_to_producer(error: KafkaError, manner: Manner) -> KafkaError:
    """The coordinator's refusal in words that the producer knows what to do about."""
    passes = error.code in _PASSING or (
        error.code is ErrorCode.CONCURRENT_TRANSACTIONS and manner is not Manner.JOINS
    )
    if not passes:
        return error
    return KafkaError(
        ErrorCode.NOT_ENOUGH_REPLICAS,
        "Unable to verify the partition has been added to the transaction. "
        f"Underlying error: {error.code.name}",
    )
