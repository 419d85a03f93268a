"""The periodic work of all logs, as data, under Kafka's job names.

    kafka-log-retention                 slices on the loop
    kafka-log-flusher                   fsync by workers, logs older than their flush.ms
    kafka-recovery-point-checkpoint     one file a directory, by workers; the cleaner's with it
    kafka-log-start-offset-checkpoint   likewise
    highwatermark-checkpoint            likewise
    kafka-delete-logs                   directories removed by workers
    PeriodicProducerExpirationCheck     slices on the loop

No plan looks at more than memory. What has to happen on the loop for thousands of logs is cut into
slices of SLICE logs, each a work of its own, so that other callbacks get their turn between them.
Source: LogManager.scala (startup).
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from storage.checkpoints import OffsetCheckpoint
from storage.jobs import NO_DELAY_MS, Job, OnLoopWork, PeriodicJob, Plan, Work
from storage.log.deletion import MOST_SEGMENTS
from storage.log.partition_log import PartitionLog
from storage.log_directory import LogDirectory, Offsets
from storage.log_manager import LogManager
from storage.pending_deletions import DELETE_LOGS

logger = logging.getLogger(__name__)

Live = Callable[[], int]

RETENTION = "kafka-log-retention"
FLUSHER = "kafka-log-flusher"
RECOVERY_POINTS = "kafka-recovery-point-checkpoint"
LOG_STARTS = "kafka-log-start-offset-checkpoint"
HIGH_WATERMARKS = "highwatermark-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
PRODUCER_EXPIRATION = "PeriodicProducerExpirationCheck"
SLICE = 64
PRODUCERS_AT_ONCE = 2000
"""Forgetting so many producers of one log keeps the loop for some 2 ms."""


class JobIntervals(NamedTuple):
    """How often, in ms; live. `initial_delay_ms` is log.initial.task.delay.ms."""

    retention_check: Live
    flush_scheduler: Live
    recovery_point_checkpoint: Live
    log_start_checkpoint: Live
    high_watermark_checkpoint: Live
    delete_logs: Live
    producer_expiration_check: Live
    initial_delay_ms: int


class CheckpointWriter:
    """One checkpoint file of a directory, written by works that never overlap.

    Asked while a write is under way it remembers that once, and writes again afterwards.
    `planned_after` is how many logs had ended when what the file says was true.
    """

    __slots__ = (
        "_again",
        "_directory",
        "_ended",
        "_file",
        "_manager",
        "_name",
        "_offsets",
        "_writing",
        "planned_after",
        "siblings",
    )

    def __init__(
        self,
        directory: LogDirectory,
        file: OffsetCheckpoint,
        name: str,
        offsets: Callable[[str], Offsets],
        manager: LogManager,
    ) -> None:
        """`offsets(log_dir)` answers what the file should say now."""
        self._manager = manager
        self._ended = self.planned_after = -1
        self.siblings: list[CheckpointWriter] = [self]
        self._directory = directory
        self._file = file
        self._name = name
        self._offsets = offsets
        self._writing = False
        self._again = False

    def plan(self, _now_ms: int) -> Sequence[Work]:
        """The write of what is true now; none while one is under way, or offline."""
        if self._directory.offline:
            return ()
        if self._writing:
            self._again = True
            return ()
        self._writing = True
        self._ended = self._manager.reused_names.ended
        path = self._directory.path
        return (_CheckpointWrite(self, path, self._offsets(path)),)

    def write(self, offsets: Offsets) -> None:
        """Replace the file; runs in any thread."""
        self._file.write(offsets)

    def written(self) -> Sequence[Job]:
        """The write is over; what has to follow."""
        self._writing = False
        self.planned_after = self._ended
        all_after = min(writer.planned_after for writer in self.siblings)
        jobs = self._manager.checkpoints_written(self._directory.path, all_after)
        if not self._again:
            return jobs
        self._again = False
        return (*jobs, Job(self._name, NO_DELAY_MS, self.plan))


class _CheckpointWrite:
    __slots__ = ("_offsets", "_writer", "jobs", "log_dir")

    def __init__(self, writer: CheckpointWriter, log_dir: str, offsets: Offsets) -> None:
        self._writer = writer
        self._offsets = offsets
        self.log_dir = log_dir
        self.jobs: Sequence[Job] = ()

    def work(self) -> None:
        """Write and sync the file."""
        self._writer.write(self._offsets)

    def commit(self) -> Sequence[PartitionLog]:
        """Let the next write begin."""
        self.jobs = self._writer.written()
        return ()


class LogJobs:
    """The periodic jobs over one LogManager."""

    __slots__ = ("_intervals", "_manager", "_writers")

    def __init__(self, manager: LogManager, intervals: JobIntervals) -> None:
        self._manager = manager
        self._intervals = intervals
        self._writers: dict[str, list[CheckpointWriter]] = {
            RECOVERY_POINTS: [],
            LOG_STARTS: [],
            HIGH_WATERMARKS: [],
            CLEANER_OFFSETS: [],
        }
        for directory in manager.directories.values():
            siblings: list[CheckpointWriter] = []
            for name, file, offsets in (
                (RECOVERY_POINTS, directory.recovery_points, manager.recovery_points),
                (LOG_STARTS, directory.log_starts, manager.log_starts),
                (HIGH_WATERMARKS, directory.high_watermarks, manager.high_watermarks),
                (CLEANER_OFFSETS, directory.cleaner_offsets, manager.cleaner_offsets),
            ):
                writer = CheckpointWriter(directory, file, name, offsets, manager)
                siblings.append(writer)
                writer.siblings = siblings
                self._writers[name].append(writer)

    def periodic_jobs(self) -> list[PeriodicJob]:
        """All of them; the first run of each is after the initial delay."""
        every = self._intervals
        delay_ms = every.initial_delay_ms

        def job(name: str, period_ms: Live, plan: Plan) -> PeriodicJob:
            return PeriodicJob(name, period_ms, delay_ms, plan)

        return [
            job(RETENTION, every.retention_check, self.plan_retention),
            job(FLUSHER, every.flush_scheduler, self.plan_flushes),
            job(RECOVERY_POINTS, every.recovery_point_checkpoint, self.plan_recovery_points),
            *(
                job(name, period_ms, partial(self.plan_checkpoint, name))
                for name, period_ms in (
                    (LOG_STARTS, every.log_start_checkpoint),
                    (HIGH_WATERMARKS, every.high_watermark_checkpoint),
                )
            ),
            job(DELETE_LOGS, every.delete_logs, self._manager.plan_deletions),
            job(PRODUCER_EXPIRATION, every.producer_expiration_check, self.plan_expiration),
        ]

    def plan_recovery_points(self, now_ms: int) -> Sequence[Work]:
        """The write of recovery points, and of what the cleaner did, in every directory."""
        return [
            *self.plan_checkpoint(RECOVERY_POINTS, now_ms),
            *self.plan_cleaner_offsets(now_ms),
        ]

    def plan_cleaner_offsets(self, now_ms: int) -> Sequence[Work]:
        """The write of what the cleaner did in every directory."""
        return self.plan_checkpoint(CLEANER_OFFSETS, now_ms)

    def plan_checkpoint(self, name: str, now_ms: int) -> Sequence[Work]:
        """The write of one kind of checkpoint (RECOVERY_POINTS …) in every directory."""
        return [work for writer in self._writers[name] for work in writer.plan(now_ms)]

    def plan_flushes(self, now_ms: int) -> Sequence[Work]:
        """The flush of every log that waited for longer than its flush.ms."""
        works = []
        for log in self._manager.all_logs():
            if (
                log.recovery_point < log.log_end_offset
                and not 0 <= now_ms - log.flusher.last_flush_ms < log.config.flush_ms
            ):
                try:
                    work = log.plan_flush(now_ms)
                except OSError as error:
                    # Out of descriptors: the works planned so far give theirs back soon.
                    logger.warning("%s Flush put off: %s", log.prefix, error)
                    break
                if work is not None:
                    works.append(work)
        return works

    def plan_retention(self, now_ms: int) -> Sequence[Work]:
        """Retention over all logs, in slices."""

        def again(rest: Sequence[PartitionLog]) -> Plan:
            return lambda _now_ms: self._sliced(rest, retain)

        def retain(logs: Sequence[PartitionLog]) -> tuple[list[PartitionLog], list[Job]]:
            changed: list[PartitionLog] = []
            jobs: list[Job] = []
            for index, log in enumerate(logs):
                deleted, follow = log.delete_old_segments(now_ms, MOST_SEGMENTS)
                jobs += follow
                if deleted:
                    changed.append(log)
                if len(deleted) >= MOST_SEGMENTS:
                    jobs.append(Job(RETENTION, NO_DELAY_MS, again(logs[index:])))
                    break
            return changed, jobs

        return self._sliced(self._manager.all_logs(), retain)

    def plan_expiration(self, now_ms: int) -> Sequence[Work]:
        """Forgetting of producers that were silent for long, in slices."""

        def expire(logs: Sequence[PartitionLog]) -> tuple[list[PartitionLog], list[Job]]:
            for log in logs:
                log.expire_producers(now_ms, slice(PRODUCERS_AT_ONCE))
            return [], []

        def expire_more(log: PartitionLog, start: int) -> tuple[list[PartitionLog], list[Job]]:
            log.expire_producers(now_ms, slice(start, start + PRODUCERS_AT_ONCE))
            return [], []

        logs = self._manager.all_logs()
        works = [
            OnLoopWork(log.log_dir, partial(expire_more, log, start))
            for log in logs
            if log.producer_count > PRODUCERS_AT_ONCE
            for start in reversed(range(PRODUCERS_AT_ONCE, log.producer_count, PRODUCERS_AT_ONCE))
        ]
        return [*works, *self._sliced(logs, expire)]

    def _sliced(
        self,
        logs: Sequence[PartitionLog],
        function: Callable[[Sequence[PartitionLog]], tuple[list[PartitionLog], list[Job]]],
    ) -> list[Work]:
        """One work on the loop for each SLICE logs."""
        return [
            OnLoopWork(part[0].log_dir, partial(function, part))
            for part in (logs[start : start + SLICE] for start in range(0, len(logs), SLICE))
        ]
