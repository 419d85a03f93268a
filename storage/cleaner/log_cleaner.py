"""The log cleaner: chooses the filthiest logs, has them cleaned, and puts the outcome in force.

    survey    every backoff, and when what it found is done: compacted logs measured, in slices
    round     a cleaning in each free slot (log.cleaner.threads), step by step
    end       the first dirty offset moves; cleaner-offset-checkpoint is written within a second

All state is the loop thread's. A log that something is wrong with is uncleanable until the process
ends: it is served on, and nothing of it is dropped. A disk that fails takes its directory offline;
one that has no room for the cleaned segment as well, or a machine without memory or descriptors for
another process, only puts the cleaning off, and has back what it took.
What is out of date when it comes back, because the log was truncated, deleted, moved or paused, is
thrown away; nothing waits for it.
Source: LogCleaner.java, LogCleanerManager.java (4.3).
"""

import errno
import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

from protocol.model import TopicPartition
from protocol.records.compaction import SECRET_BYTES, SLOT_BYTES
from storage.cleaner.order import (
    CleaningInterrupted,
    CleaningOrder,
    CleaningStats,
    LastRecord,
    Progress,
    Source,
    Uncleanable,
)
from storage.cleaner.running import CleaningRunner, Round
from storage.cleaner.selection import Dirt
from storage.cleaner.survey import Survey, dirt_of
from storage.cleaner.throttle import Throttle, step_bytes
from storage.errors import StorageError
from storage.jobs import NO_DELAY_MS, NO_JOBS, Job, OnLoopWork, PeriodicJob, Plan, Work
from storage.log.compaction import swap_in
from storage.log.partition_log import PartitionLog
from storage.log.recovery import segment_settings
from storage.log_jobs import CLEANER_OFFSETS
from storage.log_manager import LogManager

logger = logging.getLogger(__name__)

CLEANER = "kafka-log-cleaner"
SLICE = 64
LEAST_BACKOFF_MS = 10
STEP_BYTES = 4 << 20
LEAST_STEP_BYTES = 1 << 16
THROTTLE_PERIOD_MS = 100
LEAST_IO_BYTES = 1 << 12
MOST_DEATHS = 2
KEPT_WARM_MS = 60_000
"""A process that has cleaned is kept for the next cleaning this long: to start one takes 0.1 s."""
CHECKPOINT_DELAY_MS = 1000
"""What a crash forgets in between is cleaned again."""
PUT_OFF_MS = 60_000
"""How long a log is left alone that could not be cleaned for want of space, memory or files."""

_SHORTAGES = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)
)


def _thread(slot: int) -> str:
    """The job name of a slot's steps, as Kafka calls the thread.

    Not the survey's: that one would wait while a step runs, and the other slots for it.
    """
    return f"{CLEANER}-thread-{slot}"


class CleanerSettings(NamedTuple):
    """The log.cleaner.* settings, live but for `enabled`."""

    enabled: bool
    threads: Callable[[], int]
    dedupe_buffer_bytes: Callable[[], int]
    load_factor: Callable[[], float]
    io_buffer_bytes: Callable[[], int]
    io_max_bytes_per_second: Callable[[], float]
    backoff_ms: Callable[[], int]


class LogCleaner:
    """See the module; over the logs of one manager."""

    def __init__(
        self,
        manager: LogManager,
        settings: CleanerSettings,
        runner: CleaningRunner,
        write_checkpoints: Plan,
    ) -> None:
        """`write_checkpoints` writes the first dirty offsets of all directories."""
        self._manager = manager
        self._settings = settings
        self._runner = runner
        self._write_checkpoints = write_checkpoints
        self._rounds: dict[int, Round] = {}
        self._paused: dict[TopicPartition, int] = {}
        self._uncleanable: dict[TopicPartition, PartitionLog] = {}
        self._deaths: dict[TopicPartition, int] = {}
        self._warm: dict[int, Round] = {}
        self._put_off: dict[TopicPartition, int] = {}
        self._throttle = Throttle()
        self._surveying = False
        self._surveyed_ms = 0
        self._checkpoint_waits = False
        self._due: list[PartitionLog] = []
        self._stopped = False
        self.facts = CleanerFacts()

    def periodic_jobs(self) -> list[PeriodicJob]:
        """The survey; none where log.cleaner.enable is false."""
        if not self._settings.enabled:
            return []
        return [PeriodicJob(CLEANER, self._backoff_ms, NO_DELAY_MS, self.plan)]

    def _backoff_ms(self) -> int:
        return max(self._settings.backoff_ms(), LEAST_BACKOFF_MS)

    # What others ask for.

    def abort_and_pause(self, partition: TopicPartition) -> None:
        """A cleaning of it that runs commits nothing more; none begins until `resume`, counted."""
        self._paused[partition] = self._paused.get(partition, 0) + 1
        for round_ in self._rounds.values():
            if round_.log.topic_partition == partition:
                round_.void = True

    def resume(self, partition: TopicPartition) -> None:
        """One pause less."""
        left = self._paused[partition] - 1
        if left:
            self._paused[partition] = left
        else:
            del self._paused[partition]

    def uncleanable(self, log_dir: str) -> set[TopicPartition]:
        """The partitions of a directory that are not cleaned until the process ends."""
        return {
            partition
            for partition, log in self._uncleanable.items()
            if log.log_dir == log_dir and self._manager.get(partition) is log
        }

    def uncleanable_bytes(self, log_dir: str, now_ms: int) -> int:
        """What could be cleaned of these, were they not uncleanable."""
        logs = [self._manager.get(partition) for partition in self.uncleanable(log_dir)]
        return sum(dirt_of(log, now_ms).cleanable_bytes for log in logs if log is not None)

    def stop(self) -> None:
        """No step is begun any more, those that run are ended, and their files are removed."""
        self._stopped = True
        self._runner.close()
        for round_ in self._rounds.values():
            round_.void = True
            round_.give_up()

    # The survey.

    def plan(self, now_ms: int) -> Sequence[Work]:
        """Measure all compacted logs, slice after slice, and begin with the filthiest.

        Of what a survey found due some is left while all slots are taken: that comes first until
        the survey is as old as the backoff, or ten thousand logs would be measured for each one.
        """
        self.facts.last_run_ms = now_ms
        if self._stopped or self._surveying or not self._free_slots():
            return ()
        if self._due and abs(now_ms - self._surveyed_ms) < self._backoff_ms():
            return (OnLoopWork("", lambda: ((), self._choose(now_ms))),)
        self._put_off = {
            partition: since_ms
            for partition, since_ms in self._put_off.items()
            if abs(now_ms - since_ms) < PUT_OFF_MS
        }
        self._surveying = True
        return (self._slice(Survey(self._manager.all_logs(), now_ms)),)

    def _slice(self, survey: Survey) -> Work:
        def run() -> tuple[Sequence[PartitionLog], Sequence[Job]]:
            done = False
            try:
                for log in survey.take(SLICE):
                    if self._may_be_cleaned(log):
                        self._measure(log, survey)
                done = True
            finally:
                self._surveying = done
            if survey.rest:
                return (), (Job(CLEANER, NO_DELAY_MS, lambda _: (self._slice(survey),)),)
            self._surveying = False
            self._surveyed_ms = survey.now_ms
            self._due = survey.due_last_first()
            self.facts.surveyed(survey.dirtiest_ratio, survey.longest_overdue_ms, survey.now_ms)
            return (), self._choose(survey.now_ms)

        return OnLoopWork("", run)

    def _measure(self, log: PartitionLog, survey: Survey) -> None:
        """One log that cannot be measured is no reason not to clean the others."""
        try:
            survey.add(log)
        except StorageError:
            raise
        except OSError as error:
            logger.warning("%s Not measured: %s", log.prefix, error)
        except Exception as error:
            self._mark_uncleanable(log, str(error))

    def _choose(self, now_ms: int) -> list[Job]:
        """Begin a round in each free slot, with the filthiest of the logs that are due."""
        jobs: list[Job] = []
        threads = self._settings.threads()
        for slot in [slot for slot in self._warm if slot >= threads and slot not in self._rounds]:
            jobs += self._let_go(slot, now_ms)
        for slot in self._free_slots():
            chosen = self._next_due(now_ms)
            jobs += (
                self._let_go(slot, now_ms)
                if chosen is None
                else [self._begin(slot, *chosen, now_ms)]
            )
        return jobs

    def _next_due(self, now_ms: int) -> tuple[PartitionLog, Dirt] | None:
        """The filthiest log left of the survey, as dirty as it is now: much may have happened."""
        while self._due:
            log = self._due.pop()
            if self._may_be_cleaned(log):
                dirt = dirt_of(log, now_ms)
                if dirt.is_due(log.config.min_cleanable_dirty_ratio):
                    return log, dirt
        return None

    def _let_go(self, slot: int, now_ms: int) -> list[Job]:
        """Give back what a slot keeps between cleanings, when there was none for a while."""
        last = self._warm.get(slot)
        if last is None or abs(now_ms - last.now_ms) < KEPT_WARM_MS:
            return []
        self._rounds[slot] = self._warm.pop(slot)
        return [last.discard(_thread(slot))]

    def _free_slots(self) -> list[int]:
        return [slot for slot in range(self._settings.threads()) if slot not in self._rounds]

    def _may_be_cleaned(self, log: PartitionLog) -> bool:
        partition = log.topic_partition
        return (
            log.config.compact
            and not log.offline
            and partition not in self._paused
            and partition not in self._put_off
            and self._uncleanable.get(partition) is not log
            and all(round_.log is not log for round_ in self._rounds.values())
            and self._manager.get(partition) is log
        )

    # A round.

    def _begin(self, slot: int, log: PartitionLog, dirt: Dirt, now_ms: int) -> Job:
        settings = self._settings
        threads = max(settings.threads(), 1)
        order = _order(
            log,
            dirt,
            now_ms,
            _MapLimits(settings.dedupe_buffer_bytes() // threads, settings.load_factor()),
            max(settings.io_buffer_bytes() // threads // 2, LEAST_IO_BYTES),
        )
        logger.info(
            "%s Cleaning %d segments, dirty from %d to %d",
            log.prefix,
            len(order.sources),
            order.first_dirty_offset,
            order.end_offset,
        )
        round_ = self._rounds[slot] = Round(self, self._runner, slot, log, order, now_ms)
        return round_.step(_thread(slot), NO_DELAY_MS, first=True)

    def step_bytes(self) -> int:
        """How much the next step may move; on the loop."""
        rate = self._settings.io_max_bytes_per_second()
        return step_bytes(rate, STEP_BYTES, LEAST_STEP_BYTES, THROTTLE_PERIOD_MS)

    def stepped(self, round_: Round, progress: Progress) -> Sequence[Job]:
        """Swap in what is complete, and go on or end."""
        if not round_.is_current or not round_.log.config.compact:
            return (round_.discard(_thread(round_.slot)),)
        jobs: Sequence[Job] = NO_JOBS
        if progress.group is not None:
            try:
                swapped = swap_in(round_.log, *progress.group, round_.now_ms)
            except Exception:
                del self._rounds[round_.slot]
                raise
            if swapped is None:
                return (round_.discard(_thread(round_.slot)),)
            round_.renamed = True
            jobs = swapped
        if progress.stats is not None:
            return (*jobs, *self._cleaned(round_, progress.stats))
        delay_ms = self._throttle.delay_ms(
            progress.moved_bytes, self._settings.io_max_bytes_per_second(), round_.now_ms
        )
        return (*jobs, round_.step(_thread(round_.slot), delay_ms))

    def _cleaned(self, round_: Round, stats: CleaningStats) -> Sequence[Job]:
        log = round_.log
        log.first_dirty_offset = stats.end_offset
        self._deaths.pop(log.topic_partition, None)
        self._warm[round_.slot] = round_
        elapsed_ms = round_.now_ms - round_.began_ms
        self.facts.cleaned(round_.slot, stats, elapsed_ms)
        logger.info(
            "%s Cleaned offsets %d to %d: %d of %d bytes and %d of %d records stay, in %.1f s",
            log.prefix,
            round_.order.first_dirty_offset,
            stats.end_offset,
            stats.bytes_written,
            stats.bytes_read,
            stats.messages_written,
            stats.messages_read,
            elapsed_ms / 1000,
        )
        return (
            *self._checkpoint(),
            *self.ended(round_),
        )

    def _checkpoint(self) -> Sequence[Job]:
        """The write of first dirty offsets, soon: one for all cleanings that end until then."""
        if self._checkpoint_waits:
            return NO_JOBS
        self._checkpoint_waits = True

        def plan(now_ms: int) -> Sequence[Work]:
            self._checkpoint_waits = False
            return self._write_checkpoints(now_ms)

        return (Job(CLEANER_OFFSETS, CHECKPOINT_DELAY_MS, plan),)

    def failed(self, round_: Round, error: Exception) -> Sequence[Job]:
        """Tell a log that is wrong from a disk that is, and from one that only changed."""
        log = round_.log
        if not round_.is_current:
            return (round_.discard(_thread(round_.slot)),)
        if isinstance(error, CleaningInterrupted):
            self._died(log, round_.slot)
        elif isinstance(error, OSError) and error.errno in _SHORTAGES:
            self._put_off[log.topic_partition] = round_.now_ms
            logger.warning("%s Cleaning put off: %s", log.prefix, error)
        elif isinstance(error, StorageError | OSError):
            self._rounds.pop(round_.slot, None)
            if isinstance(error, StorageError):
                raise error
            raise StorageError(log.log_dir, "Error while cleaning", error) from error
        elif isinstance(error, Uncleanable):
            self._mark_uncleanable(log, str(error))
        else:
            self._mark_uncleanable(log, repr(error))
            logger.error("%s Cleaning failed", log.prefix, exc_info=error)
        return (round_.discard(_thread(round_.slot)),)

    def ended(self, round_: Round) -> Sequence[Job]:
        """The slot is free: look for the next log at once."""
        if self._rounds.get(round_.slot) is round_:
            del self._rounds[round_.slot]
        return (Job(CLEANER, NO_DELAY_MS, self.plan),)

    def _died(self, log: PartitionLog, slot: int) -> None:
        """The process that cleaned it is gone; where that happens again, there is no third try."""
        partition = log.topic_partition
        deaths = self._deaths[partition] = self._deaths.get(partition, 0) + 1
        self.facts.died(slot)
        logger.warning("%s The process that cleaned it ended", log.prefix)
        if deaths >= MOST_DEATHS:
            self._mark_uncleanable(log, f"cleaning it ended its process {deaths} times")

    def _mark_uncleanable(self, log: PartitionLog, reason: str) -> None:
        self._uncleanable[log.topic_partition] = log
        logger.error(
            "%s Uncleanable until restart, nothing of it was dropped: %s", log.prefix, reason
        )


class CleanerFacts:
    """Figures of the cleaner under Kafka's names for them."""

    __slots__ = ("_dead", "_last", "dirtiest_ratio", "last_run_ms", "max_compaction_delay_ms")

    def __init__(self) -> None:
        self._last: dict[int, tuple[CleaningStats, int]] = {}
        self._dead: set[int] = set()
        self.dirtiest_ratio = 0.0
        self.last_run_ms = 0
        self.max_compaction_delay_ms = 0

    def surveyed(self, dirtiest_ratio: float, longest_overdue_ms: int, now_ms: int) -> None:
        """All compacted logs were measured."""
        self.last_run_ms = now_ms
        self.dirtiest_ratio = dirtiest_ratio
        self.max_compaction_delay_ms = longest_overdue_ms

    def cleaned(self, slot: int, stats: CleaningStats, elapsed_ms: int) -> None:
        """A cleaning ended."""
        self._last[slot] = stats, elapsed_ms
        self._dead.discard(slot)

    def died(self, slot: int) -> None:
        """The process of a slot ended while it cleaned."""
        self._dead.add(slot)

    @property
    def dead_thread_count(self) -> int:
        """Slots whose process died and has cleaned nothing since."""
        return len(self._dead)

    @property
    def max_dirty_percent(self) -> int:
        """How dirty the dirtiest log was in the last survey."""
        return int(100 * self.dirtiest_ratio)

    @property
    def recopy_percent(self) -> int:
        """What part of the bytes read by the last cleaning of each slot was written again."""
        read = sum(stats.bytes_read for stats, _ in self._last.values())
        return int(
            100 * sum(stats.bytes_written for stats, _ in self._last.values()) / max(read, 1)
        )

    @property
    def max_clean_time_ms(self) -> int:
        """The longest of the last cleanings of each slot."""
        return max((elapsed_ms for _, elapsed_ms in self._last.values()), default=0)

    @property
    def max_buffer_utilization_percent(self) -> int:
        """How full the fullest map of the last cleaning of each slot was."""
        return int(
            100 * max((stats.map_utilization for stats, _ in self._last.values()), default=0)
        )


class _MapLimits(NamedTuple):
    buffer_bytes: int
    load_factor: float

    def of(self, offsets: int) -> tuple[int, int]:
        """(slots, most keys) for so many dirty offsets, each of which may have a key of its own."""
        load_factor = min(max(self.load_factor, 0.01), 0.99)
        slots = min(self.buffer_bytes // SLOT_BYTES, int((offsets + 1) / load_factor) + 2)
        slots = max(slots, 2)
        return slots, max(min(int(slots * load_factor), slots - 1), 1)


def _order(
    log: PartitionLog, dirt: Dirt, now_ms: int, limits: _MapLimits, io_bytes: int
) -> CleaningOrder:
    """The order for cleaning a log as it is now."""
    segments = list(log.segments)
    bases = [segment.base_offset for segment in segments]
    count = bases.index(dirt.end_offset)
    slots, most_keys = limits.of(dirt.end_offset - dirt.first_dirty_offset)
    config = log.config
    return CleaningOrder(
        log.directory,
        tuple(
            Source(segment.base_offset, following, segment.size)
            for segment, following in zip(segments[:count], bases[1:], strict=False)
        ),
        tuple(bases[count:]),
        dirt.first_dirty_offset,
        {
            entry.producer_id: LastRecord(entry.last_offset, entry.producer_epoch)
            for entry in log.producers.entries()
        },
        now_ms,
        config.delete_retention_ms,
        config.segment_bytes,
        segment_settings(config)._replace(preallocate_bytes=0),
        io_bytes,
        slots,
        most_keys,
        bytes.fromhex(log.environment.unique())[:SECRET_BYTES],
    )
