"""The transaction coordinator as handlers see it: which shard, which command; it decides nothing.

A transactional id lives in the partition of `__transaction_state` that its hash says; who is not
the leader of that partition answers NOT_COORDINATOR, and clients ask again where to go. Each
method answers or refuses `waiter` once, perhaps before it returns; codes are the shard's.
"""

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from broker.coordinator.partition_of import partition_of
from broker.coordinator.runtime import CoordinatorRuntime
from broker.coordinator.shard import Outcome, Waiter
from broker.coordinator.transaction.metadata import Transaction
from broker.coordinator.transaction.opening import Claim
from broker.coordinator.transaction.producer import Producer
from broker.coordinator.transaction.shard import TransactionShard
from cluster.metadata_cache import MetadataCache
from protocol.errors import ErrorCode
from protocol.model import TRANSACTION_STATE_TOPIC, TopicPartition


class Start(NamedTuple):
    """What InitProducerId wants: to begin as this, with transactions no longer than that."""

    claim: Claim
    timeout_ms: int


class TransactionCoordinator:
    """`runtime` runs the shards; `max_timeout_ms()` is live."""

    def __init__(
        self,
        runtime: CoordinatorRuntime[TransactionShard],
        metadata: MetadataCache,
        max_timeout_ms: Callable[[], int],
    ) -> None:
        self.runtime = runtime
        self._metadata = metadata
        self._max_timeout_ms = max_timeout_ms

    def partition_for(self, transactional_id: str) -> int | None:
        """The partition of an id; None while the topic does not exist."""
        topic = self._metadata.topic(TRANSACTION_STATE_TOPIC)
        return None if topic is None else partition_of(transactional_id, len(topic.partitions))

    def init_producer_id(self, start: Start, waiter: Waiter) -> None:
        """Answered ProducerIdAndEpoch. INVALID_TRANSACTION_TIMEOUT beside the shard's codes."""
        claim, timeout_ms = start
        if not 0 < timeout_ms <= self._max_timeout_ms():
            waiter.refuse(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
            return
        self._ask(
            claim.transactional_id,
            lambda shard, now: shard.init_producer_id(claim, timeout_ms, waiter, now),
            waiter,
        )

    def add_partitions(
        self,
        producer: Producer,
        partitions: Collection[TopicPartition],
        client_version: int,
        waiter: Waiter,
    ) -> None:
        """Answered None: they are part of the transaction."""
        self._ask(
            producer.transactional_id,
            lambda shard, now: shard.add_partitions(
                producer, partitions, client_version, waiter, now
            ),
            waiter,
        )

    def verify_partitions(
        self, producer: Producer, partitions: Collection[TopicPartition], waiter: Waiter
    ) -> None:
        """Answered with a list of those that are not part of the transaction."""
        self._ask(
            producer.transactional_id,
            lambda shard, _: shard.verify_partitions(producer, partitions, waiter),
            waiter,
        )

    def end(self, producer: Producer, commit: bool, client_version: int, waiter: Waiter) -> None:
        """Answered ProducerIdAndEpoch, once the end is decided for good."""
        self._ask(
            producer.transactional_id,
            lambda shard, now: shard.end(producer, commit, client_version, waiter, now),
            waiter,
        )

    def describe(self, transactional_id: str, waiter: Waiter) -> None:
        """Answered Transaction; TRANSACTIONAL_ID_NOT_FOUND beside the runtime's codes."""

        def look(shard: TransactionShard, _: int) -> Outcome:
            return shard.look(transactional_id, waiter)

        self._ask(transactional_id, look, waiter)

    @property
    def is_loading(self) -> bool:
        """Whether some of what is led here is not known yet."""
        return self.runtime.is_loading

    def transactions(self) -> Iterator[Transaction]:
        """All ids coordinated here, for reports."""
        for shard in self.runtime.shards():
            yield from shard.transactions.values()

    def _ask(
        self,
        transactional_id: str,
        command: Callable[[TransactionShard, int], Outcome],
        waiter: Waiter,
    ) -> None:
        """An empty id is INVALID_REQUEST."""
        if not transactional_id:
            waiter.refuse(ErrorCode.INVALID_REQUEST)
            return
        index = self.partition_for(transactional_id)
        if index is None:
            waiter.refuse(ErrorCode.NOT_COORDINATOR)
        else:
            self.runtime.submit(index, command, waiter)
