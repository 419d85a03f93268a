"""The end of a move: the copy becomes the log, at no moment are there none, after no crash is one
lost.

```text
     log directory A                    log directory B
 1   orders-0                           orders-0.<32 hex>-future    copied, all of it fsynced,
                                        + moved-from, newer-than-checkpoints; their names too
 2   orders-0   (served no more)        orders-0                    renamed, served   on the loop
 3                                      B's names fsynced                             worker
 4   orders-0.<32 hex>-delete           orders-0                                      on the loop
 5   A's names fsynced                                                                worker
 6                                      moved-from removed                            worker
```
Killed, or cut from power, at any point:

    before 2 is durable   A's replica is the only live one. It has all that was acknowledged: what
                          was appended after 2 is acknowledged as durable only when a flush of the
                          copy says so, and that flush syncs B's names.
    between 2 and 4       two live ones; `moved-from` tells that B's is the later, and a start gives
                          A's its `-delete` name. B's has all that was durable in A when 2 happened,
                          since 1 waits until flushes of A stand still, and does one of its own.
    4 without 3           cannot be: 4 is not begun before 3 is durable.
    after 4               one live replica, in B.

What the checkpoint files of B do not know of the log yet, its `newer-than-checkpoints` says: the
recovery point of 1, the log start, the high watermark. It stays until B's files were written anew.

If A fails before 4 its replica keeps its name there, and B's keeps its mark: so a later start with
A repaired knows which one counts. Only one double fault is not covered: B gone for good within the
milliseconds between 2 and 4.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from storage.epochs import EpochEntry
from storage.errors import StorageError
from storage.filenames import DELETE, marked_directory_name, partition_directory_name
from storage.jobs import NO_DELAY_MS, NO_JOBS, Job, OffLoopWork, OnLoopWork, Plan, Work
from storage.log.environment import LogEnvironment
from storage.log.partition_log import PartitionLog
from storage.log_directory import LogDirectory
from storage.moving.marks import remove_moved_from, write_moved_from
from storage.pending_deletions import PendingDeletions
from storage.reused_names import KnownOffsets, mark_newer

logger = logging.getLogger(__name__)

RETIRE: Final = "alter-replica-log-dirs-retire"


class SealFacts(NamedTuple):
    """What the copy must say of itself beside its records; taken on the loop."""

    epochs: list[EpochEntry]
    log_start_offset: int
    high_watermark: int


class Seal(NamedTuple):
    """Of what state of the copy all is durable."""

    log_start_offset: int
    end_offset: int
    segment_count: int
    generation: int


def seal_facts(current: PartitionLog) -> SealFacts:
    """What the copy has to carry over from the current log."""
    return SealFacts(current.epochs.entries(), current.log_start_offset, current.high_watermark)


def seal(future: PartitionLog, current: PartitionLog, facts: SealFacts, now_ms: int) -> Seal | None:
    """Make all of the copy durable, then what it must say of itself: that vouches for the rest.

    None if no descriptor was left for that. Runs in a worker, which touches nothing of the current
    log but its directory.
    """
    _unmark(current)
    end_offset = future.log_end_offset
    future.epochs.adopt(entry for entry in facts.epochs if entry.start_offset <= end_offset)
    future.flusher.was_cut()
    work = future.plan_flush(now_ms)
    assert work is not None, future
    work.work()
    work.commit()
    if future.recovery_point < end_offset:
        return None
    known = KnownOffsets(end_offset, facts.log_start_offset, facts.high_watermark)
    mark_newer(future.disk, future.directory, known)
    write_moved_from(future.disk, future.directory, current.directory)
    future.disk.fsync_dir(future.directory)
    return Seal(facts.log_start_offset, end_offset, len(future.segments), future.generation)


def may_swap(current: PartitionLog, future: PartitionLog, sealed: Seal) -> bool:
    """Whether the copy has everything, and nothing that is durable in the current log is not in it.

    Flushes of the current log must be standing still.
    """
    return (
        current.flusher.is_still
        and future.log_end_offset == current.log_end_offset
        and sealed.end_offset >= current.recovery_point
        and sealed.log_start_offset == current.log_start_offset
        and sealed.segment_count == len(future.segments)
        and sealed.generation == future.generation
    )


def swap(current: PartitionLog, future: PartitionLog, environment: LogEnvironment) -> None:
    """Step 2: the copy has the live name, and all that memory knew of the log.

    What is durable of it counts no further than it did before, because its name is not yet: the
    next flush syncs that, and answers who waits.

    StorageError, with nothing changed, if the name cannot be given.
    """
    directory = f"{future.log_dir}/{partition_directory_name(*future.topic_partition)}"
    for segment in future.segments:
        segment.close_files()
    future.disk.rename(future.directory, directory)
    future.directory = directory
    future.environment = environment
    for segment in future.segments:
        segment.moved_to(directory, environment.pool)
    future.epochs.moved_to(directory)
    future.producers.moved_to(directory)
    future.epochs.adopt(current.epochs.entries())
    future.producers.adopt(current.producers)
    future.high_watermark = current.high_watermark
    future.first_dirty_offset = current.first_dirty_offset
    future.recovery_point = future.flushed_end_offset = current.flushed_end_offset
    future.update_config(current.config)
    future.flusher.moved()


def _unmark(log: PartitionLog) -> None:
    """The log is the only replica of its partition; one that was deleted meanwhile needs no more.

    Its directory has another name then.
    """
    try:
        remove_moved_from(log.disk, log.directory)
    except StorageError:
        if not log.offline:
            raise


class Retirement:
    """Steps 3 to 6, as jobs that follow one another."""

    __slots__ = ("_deletions", "_done", "_is_live", "_new", "_old", "_unique")

    def __init__(
        self,
        logs: tuple[PartitionLog, PartitionLog],
        directories: tuple[LogDirectory, LogDirectory],
        deletions: PendingDeletions,
        unique: Callable[[], str],
        is_live: Callable[[str], bool],
        done: Callable[[], None],
    ) -> None:
        """The old log and the new one, and their directories; `is_live(path)` says whether a log
        is served from a directory, `done` is told on the loop after step 5.
        """
        self._old, self._new = zip(logs, directories, strict=True)
        self._deletions = deletions
        self._unique = unique
        self._is_live = is_live
        self._done = done

    def begin(self) -> Job:
        """The first of the jobs."""
        _, directory = self._new
        return _job(directory, lambda: directory.disk.fsync_dir(directory.path), self._rename_old)

    def _rename_old(self, now_ms: int) -> Sequence[Work]:
        log, directory = self._old

        def rename() -> tuple[Sequence[PartitionLog], Sequence[Job]]:
            if (
                directory.offline
                or self._is_live(log.directory)
                or not directory.disk.exists(log.directory)
            ):
                return (), NO_JOBS
            name = marked_directory_name(*log.topic_partition, DELETE, self._unique())
            path = f"{directory.path}/{name}"
            directory.disk.rename(log.directory, path)
            logger.info(
                "Log %s has moved to %s; its old files wait for deletion as %s",
                log.topic_partition,
                self._new[0].directory,
                path,
            )
            delay_ms = log.config.file_delete_delay_ms
            self._deletions.add(directory, path, now_ms + delay_ms)
            sync = _job(
                directory, lambda: directory.disk.fsync_dir(directory.path), self._remove_mark
            )
            return (), (sync, self._deletions.later(delay_ms))

        return (OnLoopWork(directory.path, rename),)

    def _remove_mark(self, _now_ms: int) -> Sequence[Work]:
        log, directory = self._new
        self._done()
        if directory.offline or log.offline:
            return ()
        return (OffLoopWork(directory.path, lambda: _unmark(log)),)


def _job(directory: LogDirectory, work: Callable[[], None], following: Plan) -> Job:
    def plan(_now_ms: int) -> Sequence[Work]:
        if directory.offline:
            return ()
        return (OffLoopWork(directory.path, work, (Job(RETIRE, NO_DELAY_MS, following),)),)

    return Job(RETIRE, NO_DELAY_MS, plan)
