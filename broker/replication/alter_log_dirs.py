"""Moves logs between the log directories of this broker while they are written and read (KIP-113).

```text
COPYING    slices of at most 1 MiB, throttled, in workers, until one reaches the log's end
SYNCING    the copy made durable, which may take long; the log's own flushes go on
SEALING    the log's flushes stand still; the little that came since is copied and made durable
CLOSING    what came during that is copied, the last of it on the loop, and the copy is the log
```
Decides nothing about bytes: what a copy lacks is asked of `storage.moving` before every slice, so a
truncation, a new leader epoch, a raised log start or a restart need no treatment of their own. The
order of a crash-safe swap is told in `storage.moving.swapping`.

As many moves have a slice in hand as `num.replica.alter.log.dirs.threads` says, taking turns. The
log cleaner leaves a partition alone while it is moved. A corrupt batch, or a target without room,
ends the move and nothing else; a disk that fails ends what lies on it, as ever.
Source: ReplicaAlterLogDirsManager, ReplicaAlterLogDirsThread (4.3).
"""

import enum
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from broker.replication.alter_log_dirs_target import Target, refusal_of_target
from broker.replication.alter_log_dirs_throttle import MoveThrottle
from broker.replication.partition import Partition
from broker.replication.purgatory import Cancellable
from broker.replication.replica_manager import ReplicaManager
from config.definition import Live
from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicPartition
from runtime.clock import Clock
from storage.errors import StorageError
from storage.future_logs import FutureLog
from storage.jobs import NO_DELAY_MS, NO_JOBS, Job
from storage.log.partition_log import PartitionLog
from storage.log_manager import LogManager
from storage.moving.copying import CorruptSource
from storage.moving.steps import Action
from storage.moving.swapping import Seal, may_swap
from storage.moving.works import NoSpace, Slice, plan_slice

_log = logging.getLogger(__name__)

JOB: Final = "alter-replica-log-dirs"
HELD_BYTES: Final = 8 << 20
"""Most bytes of a slice while flushes stand still: not throttled, because producers may wait."""
LOOP_BYTES: Final = 1 << 16
"""The last slice may be done on the loop if it is no larger: some 200 µs."""
HELD_SLICES: Final = 16
"""A log that grows as fast as it is copied is let go again after so many."""
STILL_MS: Final = 2
AGAIN_MS: Final = 100
"""Longest sleep of the throttle, so that a higher rate is noticed soon."""


class MoverEnvironment(NamedTuple):
    """What the process lends: `after(delay_ms, function)` arms a timer, `run_jobs` takes work."""

    clock: Clock
    after: Callable[[int, Callable[[], None]], Cancellable]
    run_jobs: Callable[[Sequence[Job]], None]


class MoveLimits(NamedTuple):
    """Settings, live: bytes a second of all moves together, and how many copy at a time."""

    bytes_per_second: Live[int]
    most_at_once: Live[int]


class CleanerDoor(NamedTuple):
    """How the log cleaner is told to leave a log alone, and to go on with it."""

    pause: Callable[[TopicPartition], None]
    resume: Callable[[TopicPartition], None]


NO_CLEANER: Final = CleanerDoor(lambda _: None, lambda _: None)


class Phase(enum.Enum):
    """See the module."""

    COPYING = enum.auto()
    SYNCING = enum.auto()
    SEALING = enum.auto()
    CLOSING = enum.auto()


class Move:
    """One log on its way."""

    __slots__ = ("copied_bytes", "future", "held_slices", "phase", "sealed", "topic_partition")

    def __init__(self, topic_partition: TopicPartition, future: FutureLog) -> None:
        self.topic_partition = topic_partition
        self.future = future
        self.phase = Phase.COPYING
        self.sealed: Seal | None = None
        self.held_slices = 0
        self.copied_bytes = 0

    @property
    def is_held(self) -> bool:
        """Whether flushes of the log stand still for it."""
        return self.phase in (Phase.SEALING, Phase.CLOSING)


class ReplicaAlterLogDirsManager:
    """See the module. `moves` is read by whoever reports on them."""

    def __init__(
        self,
        replicas: ReplicaManager,
        logs: LogManager,
        environment: MoverEnvironment,
        limits: MoveLimits,
        cleaner: CleanerDoor,
    ) -> None:
        self.moves: dict[TopicPartition, Move] = {}
        self._replicas = replicas
        self._logs = logs
        self._environment = environment
        self._limits = limits
        self._cleaner = cleaner
        self._now_ms = environment.clock.now_ms
        self._throttle = MoveThrottle(limits.bytes_per_second, self._now_ms())
        self._turns: deque[Move] = deque()
        self._in_hand = 0
        self._timer: Cancellable | None = None
        self._stopped = False

    # Asked for.

    def alter(self, topic_partition: TopicPartition, log_dir: str) -> ErrorCode:
        """Have a partition's log in this directory; NONE once that is so, or under way.

        Naming the directory where the log is ends a move to another one.
        """
        current = self._logs.get(topic_partition)
        copy = self._logs.future(topic_partition)
        here = log_dir in [log.log_dir for log in (current, copy) if log is not None]
        refusal = refusal_of_target(topic_partition, self._target(log_dir, holds_it=here))
        if refusal is not None:
            return refusal
        partition = self._replicas.partition(topic_partition)
        if partition is not None and partition.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        try:
            if copy is not None and copy.log_dir != log_dir:
                self._cancel(topic_partition)
            if not here:
                self._logs.placement.prefer(topic_partition, log_dir)
            return self._begin(topic_partition, partition, log_dir)
        except StorageError as error:
            return self._replicas.storage_failed(error).code

    def _target(self, log_dir: str, *, holds_it: bool) -> Target:
        directory = self._logs.directories.get(log_dir)
        return Target(
            directory is not None,
            directory is not None and directory.offline,
            self._logs.placement.is_cordoned(log_dir),
            holds_it,
        )

    def _begin(
        self, topic_partition: TopicPartition, partition: Partition | None, log_dir: str
    ) -> ErrorCode:
        if partition is None:
            known = self._replicas.metadata.partition(topic_partition) is not None
            return (
                ErrorCode.REPLICA_NOT_AVAILABLE if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            )
        current = self._logs.get(topic_partition)
        if current is None or partition.log is None:
            return ErrorCode.REPLICA_NOT_AVAILABLE
        if current.log_dir == log_dir or self._logs.future(topic_partition) is not None:
            return ErrorCode.NONE
        try:
            future = self._logs.create_future(topic_partition, log_dir, self._now_ms())
        except KafkaError as error:
            return error.code
        self._logs.placement.preferred.pop(topic_partition, None)
        _log.info("Moving %s from %s to %s", topic_partition, current.log_dir, log_dir)
        self._start(topic_partition, future)
        return ErrorCode.NONE

    def resume(self) -> None:
        """Go on with the moves that a start found half done."""
        for topic_partition in self._logs.futures.partitions():
            future = self._logs.futures.get(topic_partition)
            if future is not None and topic_partition not in self.moves:
                _log.info("Going on with the move of %s to %s", topic_partition, future.log.log_dir)
                self._start(topic_partition, future)

    def stop(self) -> None:
        """Begin nothing more; slices in hand still end. The moves go on after the next start."""
        self._stopped = True
        for move in self.moves.values():
            self._let_go(move)

    def _start(self, topic_partition: TopicPartition, future: FutureLog) -> None:
        if topic_partition in self.moves:
            self._forget(self.moves[topic_partition])
        move = self.moves[topic_partition] = Move(topic_partition, future)
        self._cleaner.pause(topic_partition)
        self._turns.append(move)
        self._advance()

    def _cancel(self, topic_partition: TopicPartition) -> None:
        move = self.moves.get(topic_partition)
        if move is not None:
            self._forget(move)
        self._environment.run_jobs(self._logs.futures.remove(topic_partition, self._now_ms()))

    # Taking turns.

    def _advance(self) -> None:
        """Give slices to as many moves as may have one."""
        while self._turns and not self._stopped and self._in_hand < self._limits.most_at_once():
            delay_ms = self._throttle.delay_ms(self._now_ms())
            if delay_ms:
                self._sleep(min(delay_ms, AGAIN_MS))
                return
            move = self._turns.popleft()
            if self.moves.get(move.topic_partition) is move:
                self._step(move)

    def _sleep(self, delay_ms: int) -> None:
        if self._timer is None:
            self._timer = self._environment.after(delay_ms, self._awake)

    def _awake(self) -> None:
        self._timer = None
        self._advance()

    def _step(self, move: Move) -> None:
        """The next slice of a move, or its end."""
        current = self._logs.get(move.topic_partition)
        if self._logs.futures.get(move.topic_partition) is not move.future:
            self._forget(move)
        elif current is None:
            self._forget(move)
            self._logs.futures.leave(move.topic_partition)
        elif move.is_held and not current.flusher.is_still:
            self._environment.after(STILL_MS, lambda: self._step_again(move))
        else:
            try:
                self._hand_out(move, current)
            except Exception as error:
                self._failed(move, error)

    def _step_again(self, move: Move) -> None:
        if self.moves.get(move.topic_partition) is move and not self._stopped:
            self._step(move)

    def _hand_out(self, move: Move, current: PartitionLog) -> None:
        most_bytes = HELD_BYTES if move.is_held else self._throttle.slice_bytes()
        with_seal = move.phase in (Phase.SYNCING, Phase.SEALING)
        piece = plan_slice(current, move.future, most_bytes, self._now_ms(), with_seal=with_seal)
        if move.phase is Phase.CLOSING and piece.step.action is Action.NOTHING:
            piece.give_back()
            self._finish(move, current)
            return
        piece.on_done(lambda done: self._slice_done(move, done))
        self._in_hand += 1
        if move.phase is Phase.CLOSING and piece.fits_the_loop(LOOP_BYTES):
            piece.work()
            piece.commit()
        else:
            self._environment.run_jobs([Job(JOB, NO_DELAY_MS, lambda _now_ms: (piece,))])

    def _slice_done(self, move: Move, piece: Slice) -> Sequence[Job]:
        """A slice has ended, on the loop; what storage has to do after it."""
        self._in_hand -= 1
        jobs: Sequence[Job] = NO_JOBS
        if self._logs.futures.get(move.topic_partition) is not move.future:
            jobs = self._logs.futures.let_go(move.future, self._now_ms())
            self._forget(move)
        elif self.moves.get(move.topic_partition) is move:
            if piece.failure is not None and not piece.disturbed:
                self._failed(move, piece.failure)
            else:
                self._throttle.record(piece.copied_bytes, self._now_ms())
                move.copied_bytes += piece.copied_bytes
                self._after_slice(move, piece)
        self._advance()
        return jobs

    def _after_slice(self, move: Move, piece: Slice) -> None:
        """Choose the phase that the outcome asks for, and the next turn."""
        if self._stopped:
            return
        if move.phase is Phase.COPYING:
            if piece.reaches_end and not piece.disturbed:
                move.phase = Phase.SYNCING
        elif move.phase is Phase.SYNCING:
            current = self._logs.get(move.topic_partition)
            if current is not None:
                current.flusher.hold()
                move.phase, move.held_slices = Phase.SEALING, 0
        else:
            self._after_held_slice(move, piece)
        if move.is_held:
            self._step(move)
        else:
            self._turns.append(move)

    def _after_held_slice(self, move: Move, piece: Slice) -> None:
        if move.phase is Phase.SEALING:
            move.sealed = piece.sealed
            move.phase = Phase.CLOSING
        move.held_slices += 1
        if move.sealed is None or piece.disturbed or move.held_slices > HELD_SLICES:
            self._let_go(move)

    # Ends.

    def _finish(self, move: Move, current: PartitionLog) -> None:
        """The copy has everything: let it be the log, unless something moved under it."""
        log = move.future.log
        if move.sealed is None or not may_swap(current, log, move.sealed):
            self._let_go(move)
            self._turns.append(move)
            self._sleep(STILL_MS)
            return
        jobs = self._logs.replace_current_with_future(move.topic_partition)
        del self.moves[move.topic_partition]
        self._replicas.log_moved(log)
        self._cleaner.resume(move.topic_partition)
        _log.info(
            "Moved %s from %s to %s, %d bytes copied",
            move.topic_partition,
            current.log_dir,
            log.log_dir,
            move.copied_bytes,
        )
        self._environment.run_jobs(jobs)

    def _failed(self, move: Move, error: Exception) -> None:
        """End a move that cannot go on; a failed disk takes its directory with it."""
        self._forget(move)
        partition = move.topic_partition
        if isinstance(error, StorageError):
            _log.error("The move of %s ends: %s", partition, error)
            self._logs.futures.leave(partition)
            self._replicas.storage_failed(error)
            return
        if isinstance(error, CorruptSource | NoSpace):
            _log.error("The move of %s ends, and nothing else: %s", partition, error)
        else:
            _log.error("The move of %s ends by a defect", partition, exc_info=error)
        try:
            self._environment.run_jobs(self._logs.futures.remove(partition, self._now_ms()))
        except StorageError as failure:
            self._replicas.storage_failed(failure)

    def _forget(self, move: Move) -> None:
        """The move is over, whatever becomes of its copy."""
        if self.moves.get(move.topic_partition) is move:
            del self.moves[move.topic_partition]
            self._let_go(move)
            self._cleaner.resume(move.topic_partition)

    def _let_go(self, move: Move) -> None:
        """Back to copying: flushes of the log go on."""
        was_held = move.is_held
        move.phase, move.sealed = Phase.COPYING, None
        current = self._logs.get(move.topic_partition)
        if was_held and current is not None:
            self._environment.run_jobs(current.flusher.release())
