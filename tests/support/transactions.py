"""A transaction coordinator over real logs on a disk in memory, with turns and timers by hand.

one = TransactionBroker()
producer = one.start("id")            InitProducerId, as a client's request
one.add(producer, ("t", 0))           its partitions join
one.end(producer, commit=True)        decided, markers written, complete
one.crash()                           the coordinator's memory is gone; what was written is replayed
"""

import itertools
from collections.abc import Callable, Mapping, Sequence

from broker.coordinator.runtime import CoordinatorRuntime, Done, RuntimeEnvironment
from broker.coordinator.shard import Waiter
from broker.coordinator.transaction.asking import AskingSettings, TransactionQuestions
from broker.coordinator.transaction.coordinator import Start, TransactionCoordinator
from broker.coordinator.transaction.marker_writing import MarkerWriter, TakesMarkers
from broker.coordinator.transaction.markers import Command, MarkerSender
from broker.coordinator.transaction.metadata import Transaction
from broker.coordinator.transaction.opening import Claim
from broker.coordinator.transaction.producer import Producer, ProducerIdAndEpoch
from broker.coordinator.transaction.shard import ShardSettings, TransactionShard
from config.topic_config import LogConfig
from protocol.model import TRANSACTION_STATE_TOPIC, TopicPartition
from protocol.records.batch import RecordBatch, iterate_batches
from protocol.records.control import parse_end_transaction_marker
from storage.log.results import ReadBound
from tests.support.replicas import ReplicaBroker, log_of
from tests.support.tally_shard import Asker

WAITING = "waiting"
TIMEOUT_MS = 60_000
EXPIRATION_MS = 1_000_000
TIMEOUT_INTERVAL_MS = 10_000
EXPIRY_INTERVAL_MS = 3_600_000


class TransactionBroker:
    """See the module."""

    def __init__(
        self,
        *,
        partitions: int = 1,
        config: LogConfig | None = None,
        server_version: int = 2,
        first_producer_id: int = 1000,
        broker: ReplicaBroker | None = None,
        runtimes: Mapping[str, TakesMarkers] | None = None,
    ) -> None:
        """`config` is that of `__transaction_state`; a new broker has t with three partitions."""
        self.runtimes = runtimes or {}
        self.broker = broker or ReplicaBroker()
        self.server_version = server_version
        self.producer_ids = itertools.count(first_producer_id)
        self.has_producer_ids = True
        self.verifies = True
        self.shards: list[TransactionShard] = []
        self._watcher: Callable[[TopicPartition], None] | None = None
        if broker is None:
            self.broker.create("t", partitions=3)
        self._make_parts()
        if partitions:
            self.broker.create(TRANSACTION_STATE_TOPIC, partitions, config=config)

    def _make_parts(self) -> None:
        broker = self.broker
        self.writer = MarkerWriter(
            broker.replicas, self.runtimes, broker.clock.now_ms, lambda: 5000
        )

        def submit(index: int, command: Command, waiter: Waiter) -> None:
            runtime.submit(index, command, waiter)

        self.sender = MarkerSender(self.writer, submit, broker.soon.append, broker._after)
        settings = ShardSettings(
            lambda: next(self.producer_ids) if self.has_producer_ids else None,
            lambda: TIMEOUT_INTERVAL_MS,
            lambda: EXPIRY_INTERVAL_MS,
            lambda: EXPIRATION_MS,
            lambda: self.server_version,
        )

        def shard_of(index: int, leader_epoch: int) -> TransactionShard:
            self.shards.append(TransactionShard(index, leader_epoch, settings, self.sender))
            return self.shards[-1]

        def in_worker(read: Callable[[], bytes], done: Done) -> None:
            done(read(), None)

        runtime = self.runtime = CoordinatorRuntime(
            TRANSACTION_STATE_TOPIC,
            broker.replicas,
            shard_of,
            RuntimeEnvironment(
                broker.clock, in_worker, broker.soon.append, broker._after, lambda: 5000
            ),
        )
        watchers = broker.replicas.leadership_watchers
        if self._watcher in watchers:
            watchers.remove(self._watcher)
        self._watcher = runtime.leadership_changed
        watchers.append(self._watcher)
        self.coordinator = TransactionCoordinator(
            runtime, broker.replicas.metadata, lambda: 900_000
        )
        self.questions = TransactionQuestions(
            self.coordinator,
            AskingSettings(lambda: self.verifies, lambda: 20, lambda: 100),
            broker.clock,
            broker._after,
        )
        self.sender.open()

    def crash(self) -> None:
        """All that is only remembered is forgotten, and what was written read again."""
        for shard in self.shards:
            shard.is_unloaded = True
        self.broker.timers.clear()
        self.broker.soon.clear()
        self._make_parts()
        for topic_partition in list(self.broker.replicas.partitions):
            self.runtime.leadership_changed(topic_partition)
        self.broker.turn()

    # Asking, as clients do; each answers what was told.

    def start(
        self,
        transactional_id: str = "id",
        claimed: ProducerIdAndEpoch | None = None,
        timeout_ms: int = TIMEOUT_MS,
    ) -> object:
        claim = Claim(transactional_id, *(claimed or ()))
        asker = Asker()
        self.coordinator.init_producer_id(Start(claim, timeout_ms), asker)
        return self._told(asker)

    def begin(self, transactional_id: str = "id", timeout_ms: int = TIMEOUT_MS) -> Producer:
        """A producer that may produce."""
        for _ in range(3):
            told = self.start(transactional_id, timeout_ms=timeout_ms)
            if isinstance(told, ProducerIdAndEpoch):
                return Producer(transactional_id, *told)
        raise AssertionError(told)

    def add(self, producer: Producer, *partitions: tuple[str, int], version: int = 0) -> object:
        asker = Asker()
        joining = [TopicPartition(*one) for one in partitions]
        self.coordinator.add_partitions(producer, joining, version, asker)
        return self._told(asker)

    def verify(self, producer: Producer, *partitions: tuple[str, int]) -> object:
        asker = Asker()
        asked = [TopicPartition(*one) for one in partitions]
        self.coordinator.verify_partitions(producer, asked, asker)
        return self._told(asker)

    def end(self, producer: Producer, *, commit: bool, version: int = 0) -> object:
        asker = Asker()
        self.coordinator.end(producer, commit, version, asker)
        return self._told(asker)

    @staticmethod
    def _told(asker: Asker) -> object:
        """The answer, WAITING while there is none."""
        assert len(asker.told) <= 1
        return asker.told[0] if asker.told else WAITING

    # Looking.

    def transaction(self, transactional_id: str = "id") -> Transaction:
        """What is known of an id that falls into partition 0."""
        return self.shard.transactions[transactional_id]

    @property
    def shard(self) -> TransactionShard:
        return next(iter(self.runtime.shards()))

    def batches(self, topic: str = "t", index: int = 0) -> Sequence[RecordBatch]:
        """All batches of a log."""
        return batches_of(self.broker, topic, index)

    def markers(self, topic: str = "t", index: int = 0) -> list[tuple[int, int, bool]]:
        """(producer id, epoch, committed) of each marker in a log."""
        found = []
        for batch in self.batches(topic, index):
            marker = parse_end_transaction_marker(batch) if batch.is_control else None
            if marker is not None:
                found.append((batch.producer_id, batch.producer_epoch, marker.commit))
        return found


def batches_of(broker: ReplicaBroker, topic: str, index: int) -> list[RecordBatch]:
    """All batches of a log."""
    log = log_of(broker.partition(topic, index))
    if log.log_end_offset == log.log_start_offset:
        return []
    found = log.read(log.log_start_offset, 1 << 24, ReadBound.LOG_END, True)
    assert found.slice is not None
    data = found.slice.read()
    found.slice.release()
    return list(iterate_batches(data))
