"""Runs the shards of one internal topic on this broker: loads, asks, appends, applies, answers.

    not led here          NOT_COORDINATOR
    loading               COORDINATOR_LOAD_IN_PROGRESS      replay in slices of SLICE_S
    active                command → append → apply, at once → answers when the records are safe
    unloaded              who waits gets NOT_COORDINATOR, timers are cancelled

Records are applied as soon as they are appended, so that the next command sees them; answers wait
for the high watermark. A command without records waits for what was appended before it, so that
nobody is told what a change of leadership could take back. An append that is refused applies
nothing. All of it runs on the loop thread. Source: CoordinatorRuntime (4.3).
"""

import logging
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from broker.coordinator.replay import Replay
from broker.coordinator.shard import Outcome, Shard, Waiter, Writer
from broker.replication.delayed_produce import DelayedProduce, PendingAppend
from broker.replication.partition import Partition
from broker.replication.purgatory import Cancellable
from broker.replication.replica_manager import ReplicaManager
from protocol.errors import ErrorCode, KafkaError
from protocol.model import ACKS_ALL, TopicPartition
from protocol.records.builder import build_batch_of_pairs
from protocol.records.control import EndTransactionMarker, build_end_transaction_marker
from runtime.clock import Clock
from storage.errors import StorageError
from storage.log.results import Origin
from storage.producer.verification import NO_TERMS, TransactionTerms

_logger = logging.getLogger(__name__)

S = TypeVar("S", bound=Shard)
Command = Callable[[S, int], Outcome]
"""(shard, now in ms) → what it decided; KafkaError refuses."""
Done = Callable[[bytes | None, BaseException | None], None]

SLICE_S: Final = 0.004
"""How long a replay keeps the loop at a time."""
MOST_LOADING: Final = 4
"""Partitions replayed at the same time; the others wait, so that each ends soon."""
_UNAVAILABLE: Final = frozenset(
    {
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
_ELSEWHERE: Final = frozenset(
    {ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.FENCED_LEADER_EPOCH}
)
_TOO_LARGE: Final = frozenset(
    {
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.CORRUPT_MESSAGE,
    }
)


def coordinator_error(code: ErrorCode) -> ErrorCode:
    """What clients of a coordinator are told of an append that failed."""
    if code in _UNAVAILABLE:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if code in _ELSEWHERE:
        return ErrorCode.NOT_COORDINATOR
    return ErrorCode.UNKNOWN_SERVER_ERROR if code in _TOO_LARGE else code


class RuntimeEnvironment(NamedTuple):
    """What the runtime gets from the process around it.

    `in_worker(read, done)` calls `read` in a thread and `done(result, error)` on the loop; for
    `defer` and `after` see `ReplicaEnvironment`.
    """

    clock: Clock
    in_worker: Callable[[Callable[[], bytes], Done], None]
    defer: Callable[[Callable[[], None]], object]
    after: Callable[[int, Callable[[], None]], Cancellable]
    write_timeout_ms: Callable[[], int]


class _Held(Generic[S]):
    """One partition's shard with what belongs to its term of leadership."""

    __slots__ = ("active", "leader_epoch", "partition", "shard", "timers", "unloaded")

    def __init__(self, partition: Partition, shard: S) -> None:
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.shard = shard
        self.timers: dict[Hashable, Cancellable] = {}
        self.active = False
        self.unloaded = False


class CoordinatorRuntime(Generic[S]):
    """The shards of one topic. `shard_of` makes an empty one for (partition, leader epoch)."""

    def __init__(
        self,
        topic: str,
        replicas: ReplicaManager,
        shard_of: Callable[[int, int], S],
        environment: RuntimeEnvironment,
    ) -> None:
        self.topic = topic
        self._replicas = replicas
        self._shard_of = shard_of
        self._environment = environment
        self._held: dict[int, _Held[S]] = {}
        self._waiting: list[_Held[S]] = []
        self._loading = 0

    # Asking.

    def submit(self, index: int, command: Command[S], *waiters: Waiter) -> None:
        """Run a command on the shard of a partition.

        Refusals, of the command or of what it wanted written, go to `waiters`; the answers are
        the outcome's.
        """
        try:
            held = self._active(index)
            outcome = command(held.shard, self._environment.clock.now_ms())
        except KafkaError as error:
            for waiter in waiters:
                waiter.refuse(error.code)
            return
        self._act(held, outcome, waiters)

    def write_marker(
        self,
        index: int,
        writer: Writer,
        marker: EndTransactionMarker,
        waiter: Waiter,
        transaction_version: int = 0,
    ) -> None:
        """End a transaction in a partition: the marker is appended, then applied.

        From transaction_version 2 the marker's epoch has to be beyond the transaction's (KIP-890).
        """
        try:
            held = self._active(index)
            batch = build_end_transaction_marker(
                marker,
                producer_id=writer.producer_id,
                producer_epoch=writer.producer_epoch,
                timestamp=self._environment.clock.now_ms(),
            )
            end_offset = self._append(held, batch, TransactionTerms(None, transaction_version))
        except KafkaError as error:
            waiter.refuse(error.code)
            return
        held.shard.apply_marker(writer, committed=marker.commit)
        self._when_safe(held, end_offset, Outcome(answers=[(waiter, None)]))

    def shards(self) -> Iterator[S]:
        """The state of every partition that is active here, for reports."""
        return (held.shard for held in self._held.values() if held.active)

    @property
    def is_loading(self) -> bool:
        """Whether a partition led here is not active yet."""
        return any(not held.active for held in self._held.values())

    def _active(self, index: int) -> _Held[S]:
        held = self._held.get(index)
        partition = self._replicas.partition(TopicPartition(self.topic, index))
        if partition is None or not partition.is_leader:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        if held is None or held.leader_epoch != partition.leader_epoch:
            self._load(index, partition)
            held = self._held[index]
        if not held.active:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return held

    # Acting on outcomes.

    def _act(self, held: _Held[S], outcome: Outcome, waiters: Sequence[Waiter]) -> None:
        log = held.partition.log
        end_offset = 0 if log is None else log.log_end_offset
        if outcome.records:
            try:
                end_offset = self._append_records(held, outcome)
            except KafkaError as error:
                self._refused(held, outcome, waiters, coordinator_error(error.code))
                return
        self._arm(held, outcome)
        if outcome.answers:
            self._when_safe(held, end_offset, outcome)

    def _append_records(self, held: _Held[S], outcome: Outcome) -> int:
        """Append and apply; the end offset. KafkaError, and nothing is applied."""
        now_ms = self._environment.clock.now_ms()
        records, writer = outcome.records, outcome.writer
        if writer is None:
            batch = build_batch_of_pairs(records, now_ms, base_sequence=0)
        else:
            batch = build_batch_of_pairs(
                records,
                now_ms,
                producer_id=writer.producer_id,
                producer_epoch=writer.producer_epoch,
                base_sequence=0,
                is_transactional=True,
            )
        end_offset = self._append(held, batch, outcome.terms)
        offset = end_offset - len(records)
        for record in records:
            held.shard.apply(record, offset, writer)
            offset += 1
        return end_offset

    def _append(self, held: _Held[S], batch: bytearray, terms: TransactionTerms = NO_TERMS) -> int:
        result = self._replicas.append(
            held.partition, memoryview(batch), ACKS_ALL, Origin.COORDINATOR, terms
        )
        return result.last_offset + 1

    def _when_safe(self, held: _Held[S], end_offset: int, outcome: Outcome) -> None:
        """Give the answers once everything before the offset is acknowledged."""
        code = held.partition.acknowledgement(end_offset, ACKS_ALL)
        if code is None:

            def done(appends: Sequence[PendingAppend]) -> None:
                error = appends[0].error
                assert error is not None
                _settle(outcome, error)

            def broke(error: Exception) -> None:
                _logger.error("Answers of %s were lost", self.topic, exc_info=error)
                _settle(outcome, ErrorCode.UNKNOWN_SERVER_ERROR)

            operation = DelayedProduce(
                ACKS_ALL, [PendingAppend(held.partition, end_offset)], done, broke
            )
            self._replicas.wait_for_appends(operation, self._environment.write_timeout_ms())
            return
        _settle(outcome, code)

    def _refused(
        self, held: _Held[S], outcome: Outcome, waiters: Sequence[Waiter], code: ErrorCode
    ) -> None:
        """Nothing was written: have the state that no record tells of taken back."""
        if outcome.failed is None:
            for waiter in dict.fromkeys((*waiters, *(waiter for waiter, _ in outcome.answers))):
                waiter.refuse(code)
            return
        undone = outcome.failed(code)
        assert not undone.records, "what follows a refused write writes nothing"
        self._act(held, undone, waiters)

    # Timers.

    def _arm(self, held: _Held[S], outcome: Outcome) -> None:
        now_ms = self._environment.clock.now_ms()
        for key, deadline_ms in outcome.timers.items():
            old = held.timers.pop(key, None)
            if old is not None:
                old.cancel()
            if deadline_ms is not None:
                held.timers[key] = self._environment.after(
                    max(0, deadline_ms - now_ms), self._timer(held, key)
                )

    def _timer(self, held: _Held[S], key: Hashable) -> Callable[[], None]:
        def fire() -> None:
            if held.active and held.timers.pop(key, None) is not None:
                self._act(held, held.shard.on_timer(key, self._environment.clock.now_ms()), ())

        return fire

    # Leadership.

    def leadership_changed(self, topic_partition: TopicPartition) -> None:
        """Load what is led here now, unload what is not; other topics are nobody's business."""
        if topic_partition.topic != self.topic:
            return
        index = topic_partition.partition
        partition = self._replicas.partition(topic_partition)
        if partition is not None and partition.is_leader:
            held = self._held.get(index)
            if held is None or held.leader_epoch != partition.leader_epoch:
                self._load(index, partition)
        else:
            self._unload(index)

    def _load(self, index: int, partition: Partition) -> None:
        self._unload(index)
        held = _Held(partition, self._shard_of(index, partition.leader_epoch))
        self._held[index] = held
        self._waiting.append(held)
        self._load_next()

    def _unload(self, index: int) -> None:
        held = self._held.pop(index, None)
        if held is None:
            return
        was_active, held.active, held.unloaded = held.active, False, True
        for timer in held.timers.values():
            timer.cancel()
        if was_active:
            for waiter in held.shard.unloaded():
                waiter.refuse(ErrorCode.NOT_COORDINATOR)

    def _load_next(self) -> None:
        while self._waiting and self._loading < MOST_LOADING:
            held = self._waiting.pop(0)
            log = held.partition.log
            if not held.unloaded and log is not None:
                self._loading += 1
                self._read(held, Replay(log, held.shard))

    def _read(self, held: _Held[S], replay: Replay) -> None:
        """Have a worker read the next chunk, or be done."""
        try:
            chunk = None if held.unloaded else replay.next_slice()
        except (KafkaError, StorageError) as error:
            self._broke_off(held, error)
            return
        if chunk is None:
            self._loaded(held, replay)
            return

        def read(data: bytes | None, error: BaseException | None) -> None:
            chunk.release()
            if error is not None or data is None:
                self._broke_off(held, error)
            else:
                self._step(held, replay, replay.steps(data))

        self._environment.in_worker(chunk.read, read)

    def _step(self, held: _Held[S], replay: Replay, steps: Iterator[None]) -> None:
        """Apply for a slice of time, then let others have their turn."""
        monotonic = self._environment.clock.monotonic
        until = monotonic() + SLICE_S
        for _ in steps:
            if held.unloaded:
                break
            if monotonic() >= until:
                self._environment.defer(lambda: self._step(held, replay, steps))
                return
        self._read(held, replay)

    def _loaded(self, held: _Held[S], replay: Replay) -> None:
        self._loading -= 1
        if not held.unloaded:
            held.active = True
            _logger.log(
                logging.INFO if replay.records else logging.DEBUG,
                "Loaded the coordinator of %s at epoch %d: %d records",
                held.partition.topic_partition,
                held.leader_epoch,
                replay.records,
            )
            self._act(held, held.shard.loaded(self._environment.clock.now_ms()), ())
        self._load_next()

    def _broke_off(self, held: _Held[S], error: BaseException | None) -> None:
        """The log cannot be read: the next request for it begins anew."""
        self._loading -= 1
        _logger.error(
            "Could not load the coordinator of %s", held.partition.topic_partition, exc_info=error
        )
        index = held.partition.topic_partition.partition
        if self._held.get(index) is held:
            del self._held[index]
        held.unloaded = True
        self._load_next()


def _settle(outcome: Outcome, code: ErrorCode) -> None:
    """Answer, or refuse all who would have been answered; who still waits, waits on."""
    if code is ErrorCode.NONE:
        for waiter, reply in outcome.answers:
            waiter.answer(reply)
        return
    told = coordinator_error(code)
    for waiter, _ in outcome.answers:
        waiter.refuse(told)
