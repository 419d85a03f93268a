"""Making a log durable: group commit, one flush of a log in flight, the next covers the rest.

    plan    what lies between the recovery point and the wanted end: descriptors, snapshots, epochs
    work    fsync them, the partition's identity first; then the directory, for new names in it
    commit  recovery point and flushed end offset move, unless the log was truncated meanwhile

Whoever asks while a flush is under way gets no work: the want is remembered and the running
flush's `jobs` carries the next one. Everything below the recovery point is durable:
records, indexes of sealed segments, the epoch entries that cover them, and the names of all these.

A failed fsync is a StorageError and ends the directory: the kernel may have dropped the pages, so a
second fsync that succeeds proves nothing. A step that ran out of descriptors says nothing about the
drive: what is left of the flush is owed, and tried again.
"""

import errno
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from protocol.model import ZERO_TOPIC_ID
from storage.errors import StorageError
from storage.jobs import NO_DELAY_MS, Job, Work
from storage.partition_metadata import sync_topic_id
from storage.producer.snapshot import SnapshotWrite, sync_snapshot
from storage.segment.file_set import FlushWork as SegmentFlush
from storage.segment.segment import Segment

if TYPE_CHECKING:
    from storage.log.partition_log import PartitionLog

logger = logging.getLogger(__name__)

FLUSH_LOG = "flush-log"
RETRY_MS = 1000
FLUSHED_AT_ONCE = 32

RunAll = Callable[[Sequence[Callable[[], None]]], None]
"""Calls each of these functions, in whatever threads, and returns when all have."""


class Flusher:
    """What a log has in flight, and what is wanted after it."""

    __slots__ = (
        "_cut",
        "_held",
        "_is_new",
        "_log",
        "_new_names",
        "_owed",
        "_rolled",
        "_snapshots",
        "_wanted_end_offset",
        "in_flight",
        "last_flush_ms",
    )

    def __init__(
        self, log: "PartitionLog", now_ms: int, *, is_new: bool, snapshots: Sequence[str]
    ) -> None:
        """`is_new`: the log's directory and identity may not be durable, nor are snapshots."""
        self._log = log
        self._is_new = is_new
        self._new_names = is_new
        self._cut = False
        self._held = False
        self._snapshots = list(snapshots)
        self._owed: list[Callable[[], None]] = []
        self._rolled: list[Segment] = []
        self._wanted_end_offset = -1
        self.in_flight = False
        self.last_flush_ms = now_ms

    def names_changed(self, snapshot: str | None = None) -> None:
        """A file was made or renamed: the directory, and this snapshot, go with the next flush."""
        self._new_names = True
        if snapshot is not None:
            self._snapshots.append(snapshot)

    def rolled(self, segment: Segment) -> None:
        """A segment was sealed and another begun: its indexes are to be durable as sealed.

        That is so even where all its records are: it lies below the recovery point from now on,
        and a start trusts it.
        """
        self._rolled.append(segment)
        self._new_names = True

    @property
    def owes_names(self) -> bool:
        """Whether files were made, renamed or removed since the directory was synced."""
        return self._new_names or self.in_flight

    def was_cut(self) -> None:
        """The log was truncated: its new length is to be durable, even where no record is."""
        self._cut = self._new_names = True

    def want(self, end_offset: int) -> Sequence[Job]:
        """The job that flushes up to an offset; none where a flush under way will carry it."""
        self._wanted_end_offset = max(self._wanted_end_offset, end_offset)
        if self.in_flight or self._held:
            return ()
        return (Job(FLUSH_LOG, NO_DELAY_MS, self._plan_wanted),)

    def moved(self) -> None:
        """The directory lies elsewhere now, and no name of it may be durable there."""
        self._is_new = self._new_names = True

    # While the log moves to another log directory, the end of what is durable has to stand still
    # for a moment: a flush of the copy must not be overtaken by one of the original.

    def hold(self) -> None:
        """Begin no flush until `release`; what is wanted meanwhile is remembered."""
        self._held = True

    @property
    def is_still(self) -> bool:
        """Whether flushes are held and none is under way."""
        return self._held and not self.in_flight

    def release(self) -> Sequence[Job]:
        """Flush again; the job for what was wanted meanwhile."""
        self._held = False
        return self.finished() if not self.in_flight else ()

    def plan(self, now_ms: int, end_offset: int) -> "FlushWork | None":
        """The work that makes all before an offset durable; None if it is, or one runs."""
        log = self._log
        if log.offline or (end_offset <= log.recovery_point and not self._owes):
            return None
        if self.in_flight or self._held:
            self._wanted_end_offset = max(self._wanted_end_offset, end_offset)
            return None
        steps = [*self._owed, *self._steps(end_offset)]
        self._owed = []
        self.in_flight = True
        self.last_flush_ms = now_ms
        return FlushWork(log, end_offset, steps)

    def plan_last(self, now_ms: int) -> "FlushWork | None":
        """The work after which a clean shutdown may vouch for the log; None if all is durable.

        Names and lengths count where no record does: what recovery cut off a log without records
        would come back, and be taken for damage. No work is under way any more.
        """
        self.in_flight = self._held = False
        self._cut = self._cut or self._new_names
        return self.plan(now_ms, self._log.log_end_offset) or self.plan_epochs()

    def plan_epochs(self) -> "FlushWork | None":
        """The work that puts epochs in their file that no record needs yet; None without news.

        Synced like all others: the file it replaces is durable, and covers durable records.
        """
        log = self._log
        if log.offline or not log.epochs.entries():
            return None
        epochs = log.epochs.flush_work()
        return None if epochs is None else FlushWork(log, log.recovery_point, [epochs])

    @property
    def _owes(self) -> bool:
        """Whether anything but new records is to be made durable.

        A snapshot counts: a clean shutdown vouches for the one it wrote last.
        """
        owed = self._owed or self._rolled or self._snapshots
        return self._cut or bool(owed) or self._log.producers.owes_snapshots

    def _plan_wanted(self, now_ms: int) -> Sequence[Work]:
        work = self.plan(now_ms, min(self._wanted_end_offset, self._log.log_end_offset))
        return () if work is None else (work,)

    def _steps(self, end_offset: int) -> list[Callable[[], None]]:
        """What to sync, in order: identity, segments, epochs, snapshots, names."""
        log = self._log
        disk, directory, log_dir = log.disk, log.directory, log.log_dir
        steps: list[Callable[[], None]] = []
        if self._is_new and log.topic_id != ZERO_TOPIC_ID:
            steps.append(partial(sync_topic_id, disk, directory))
        steps += self._of_segments(end_offset)
        epochs = log.epochs.flush_work()
        if epochs is not None:
            steps.append(epochs)
        steps += [partial(sync_snapshot, disk, path) for path in self._snapshots]
        self._snapshots = []
        steps += log.producers.snapshot_writes()
        if self._new_names:
            steps.append(partial(disk.fsync_dir, directory))
        if self._is_new:
            steps.append(partial(disk.fsync_dir, log_dir))
        self._new_names = self._is_new = self._cut = False
        return steps

    def _of_segments(self, end_offset: int) -> list[SegmentFlush]:
        """What each segment has to sync; none keeps its descriptors when one can get none."""
        log = self._log
        segments = log.segments
        wanted = [
            segment
            for segment in segments.since(log.recovery_point)
            if segment.base_offset < end_offset or self._cut
        ]
        for segment in self._rolled:
            if segment not in wanted and segments.floor(segment.base_offset) is segment:
                wanted.append(segment)
        works: list[SegmentFlush] = []
        for segment in wanted:
            try:
                work = segment.flush_work()
            except BaseException:
                _discard(works)
                raise
            works.append(work)
        self._rolled = []
        return works

    def check_done(self) -> None:
        """OSError if part of the last flush was put off: what it owes is not durable."""
        if self._owed:
            raise OSError(errno.EMFILE, "A flush was put off", self._log.directory)

    def give_up(self) -> None:
        """Nothing is flushed any more: what was put off gives its descriptors back."""
        _discard(self._owed)
        self._owed = []

    def put_off(self, steps: list[Callable[[], None]]) -> Sequence[Job]:
        """These could not be done now; the job that tries again."""
        self.in_flight = False
        self._owed = steps
        return (Job(FLUSH_LOG, RETRY_MS, self._plan_owed),)

    def _plan_owed(self, now_ms: int) -> Sequence[Work]:
        work = self.plan(now_ms, self._log.log_end_offset)
        return () if work is None else (work,)

    def finished(self) -> Sequence[Job]:
        """The flush is over; the job that follows where more was asked for meanwhile."""
        self.in_flight = False
        if self._held or (self._wanted_end_offset <= self._log.recovery_point and not self._cut):
            return ()
        return (Job(FLUSH_LOG, NO_DELAY_MS, self._plan_wanted),)


def _discard(steps: Sequence[Callable[[], None]]) -> None:
    """Give back the descriptors that steps hold which nobody will run."""
    for step in steps:
        if isinstance(step, SegmentFlush | SnapshotWrite):
            step.discard()


class FlushWork:
    """One flush: its steps were chosen on the loop and hold their own descriptors."""

    __slots__ = ("_end_offset", "_generation", "_log", "_steps", "jobs", "log_dir")

    def __init__(
        self, log: "PartitionLog", end_offset: int, steps: list[Callable[[], None]]
    ) -> None:
        self._log = log
        self._generation = log.generation
        self._end_offset = end_offset
        self._steps = steps
        self.log_dir = log.log_dir
        self.jobs: Sequence[Job] = ()

    def work(self) -> None:
        """Sync every file, or as many as there are descriptors for; StorageError if one fails."""
        while self._steps:
            try:
                self._steps[0]()
            except OSError as error:
                logger.warning("%s Flush put off: %s", self._log.prefix, error)
                return
            except StorageError:
                if not self._log.offline:  # else it was deleted meanwhile, its directory renamed
                    _discard(self._steps)
                    raise
            del self._steps[0]

    def commit(self) -> "Sequence[PartitionLog]":
        """Move the recovery point, and say so to whoever waits for the flushed end offset."""
        log = self._log
        if self._steps:
            self.jobs = log.flusher.put_off(self._steps)
            return ()
        changed = self._generation == log.generation and log.flushed_to(self._end_offset)
        self.jobs = log.flusher.finished()
        return (log,) if changed else ()


def run_in_line(functions: Sequence[Callable[[], None]]) -> None:
    """Call each in this thread."""
    for function in functions:
        function()


def flush_all(logs: "Sequence[PartitionLog]", now_ms: int, run_all: RunAll) -> None:
    """Seal logs for good and make everything durable.

    In slices, which bound how many descriptors wait for their sync.
    """
    for start in range(0, len(logs), FLUSHED_AT_ONCE):
        works = [log.seal(now_ms) for log in logs[start : start + FLUSHED_AT_ONCE]]
        flushes = [work for work in works if work is not None]
        run_all([work.work for work in flushes])
        for work in flushes:
            work.commit()
        for log in logs[start : start + FLUSHED_AT_ONCE]:
            log.flusher.check_done()
