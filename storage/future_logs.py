"""The copies of logs that are being filled in another log directory.

A future log lies in `<topic>-<partition>.<32 hex>-future` and is nobody's but its mover's: no
reader and no periodic job but the checkpoints know it. While a worker fills it, it is `busy` and
the loop leaves it alone: one that has to go meanwhile is buried when the worker is done. Its files
are opened through a pool of its own, because the shared one belongs to the loop.

At start a future log is kept if the current log is in another directory; metadata decides whose it
is. One whose current log may be in a directory that is offline stays as it is.
Source: LogManager.scala (futureLogs), KIP-113.
"""

import logging
from collections.abc import Sequence
from typing import Final, NamedTuple

from config.topic_config import LogConfig
from protocol.model import ZERO_TOPIC_ID, TopicPartition
from storage.errors import DamagedLog, StorageError
from storage.filenames import (
    DELETE,
    FUTURE,
    PARTITION_METADATA_FILE,
    marked_directory_name,
)
from storage.jobs import NO_JOBS, Job
from storage.log.environment import LogEnvironment, LogIdentity
from storage.log.partition_log import PartitionLog
from storage.log.recovery import create_log
from storage.log_directory import LogDirectory
from storage.log_loading import LoadTask, UnservedDirectory
from storage.partition_metadata import encode_partition_metadata
from storage.pending_deletions import PendingDeletions
from storage.placement import Placement
from storage.reused_names import ReusedNames
from storage.segment.file_records import FilePool

logger = logging.getLogger(__name__)

FILES_OF_A_COPY: Final = 4
"""It is written at its end only: a log and its indexes."""

AT_ONCE_MS: Final = 0


class FutureLog:
    """A copy, and who has it in hand."""

    __slots__ = ("believed_end_offset", "busy", "directory", "doomed", "log", "place")

    def __init__(self, log: PartitionLog, directory: LogDirectory) -> None:
        self.log = log
        self.directory = directory
        self.busy = False
        self.doomed = False
        self.place: tuple[int, int] | None = None
        """Where in the current log's files it goes on, if that is known: segment base, position."""
        self.believed_end_offset: int | None = None
        """Where to cut a copy that a start found, before anything else."""

    def __repr__(self) -> str:
        return f"FutureLog({self.log.directory}, busy={self.busy})"


class Settled(NamedTuple):
    """What a start has to load, what it leaves alone, and what failed."""

    tasks: list[LoadTask]
    left: list[UnservedDirectory]
    errors: list[StorageError]


class FutureLogs:
    """All copies by partition, at most one of each."""

    __slots__ = ("_by_partition", "_deletions", "_environment", "_names", "_placement")

    def __init__(
        self,
        environment: LogEnvironment,
        placement: Placement,
        deletions: PendingDeletions,
        names: ReusedNames,
    ) -> None:
        self._environment = environment
        self._placement = placement
        self._deletions = deletions
        self._names = names
        self._by_partition: dict[TopicPartition, FutureLog] = {}

    def __len__(self) -> int:
        return len(self._by_partition)

    def get(self, partition: TopicPartition) -> FutureLog | None:
        """The copy of a partition's log, if it is being moved."""
        return self._by_partition.get(partition)

    def partitions(self) -> list[TopicPartition]:
        """Whose logs are being moved."""
        return list(self._by_partition)

    def logs_in(self, log_dir: str) -> list[PartitionLog]:
        """The copies in one log directory."""
        return [one.log for one in self._by_partition.values() if one.log.log_dir == log_dir]

    def environment(self) -> LogEnvironment:
        """What a copy sees of the world: as any log, but for the files it holds open."""
        return self._environment._replace(pool=FilePool(FILES_OF_A_COPY))

    def settle(
        self, tasks: Sequence[LoadTask], directories: Sequence[LogDirectory], now_ms: int
    ) -> "Settled":
        """Clear up after moves that a crash interrupted.

        What is given up is not served even where its directory cannot be renamed.
        """
        if len(directories) == 1 and not any(task.is_future for task in tasks):
            return Settled(list(tasks), [], [])
        from storage.moving.resuming import drop_marks, is_marked, reason_to_leave, sort_out

        all_online = not any(directory.offline for directory in directories)
        found = sort_out(tasks, is_marked, all_online=all_online)
        errors: list[StorageError] = []
        try:
            for task in found.moved:
                task.directory.disk.fsync_dir(task.directory.path)
            for task in found.given_up:
                partition, _, path, log_dir = task.identity
                logger.warning("Given up, since %s is served from elsewhere: %s", partition, path)
                self._rename_to_delete(task.directory, path, partition, now_ms)
                self._names.doubt(log_dir, (partition,))
            drop_marks(found.tasks, directories)
            for task in found.left:
                task.leave_alone()
        except StorageError as error:
            errors.append(error)
        left = [
            UnservedDirectory(
                task.identity.directory,
                task.identity.topic_partition,
                None if task.is_unnamed else task.identity.topic_id,
                reason_to_leave(task),
            )
            for task in found.left
        ]
        for one in left:
            logger.warning("Left as it is: %s (%s)", one.path, one.reason)
        return Settled(found.tasks, left, errors)

    def loaded(self, task: LoadTask, current: PartitionLog | None) -> None:
        """A start has loaded this copy; it is left alone if the log it was copied from is not here.

        Beyond the current log's end it holds what a power cut took from there: not believed.
        """
        log = task.log()
        if current is None:
            log.fail()
            return
        self.add(log, task.directory).believed_end_offset = current.log_end_offset

    def damaged(self, task: LoadTask, damage: DamagedLog) -> None:
        """A start found this copy to be worth nothing; the log it was made from is untouched."""
        logger.error("The copy of %s is damaged, and given up: %s", task.identity[0], damage)
        partition, _, path, _ = task.identity
        self._rename_to_delete(task.directory, path, partition, AT_ONCE_MS)

    def create(
        self,
        current: PartitionLog,
        directory: LogDirectory,
        config: LogConfig,
        now_ms: int,
    ) -> FutureLog:
        """An empty copy in another log directory; StorageError if that fails."""
        partition, topic_id = current.topic_partition, current.topic_id
        assert partition not in self._by_partition, partition
        name = marked_directory_name(*partition, FUTURE, self._environment.unique())
        path = f"{directory.path}/{name}"
        disk = directory.disk
        disk.mkdir(path)
        self._names.claim(disk, directory.path, path, partition)
        if topic_id != ZERO_TOPIC_ID:
            disk.write_file(
                f"{path}/{PARTITION_METADATA_FILE}", encode_partition_metadata(topic_id)
            )
        identity = LogIdentity(partition, topic_id, path, directory.path)
        environment = self.environment()
        loaded = create_log(disk, identity, config, environment, now_ms)
        log = PartitionLog(disk, identity, config, environment, loaded, now_ms)
        return self.add(log, directory)

    def add(self, log: PartitionLog, directory: LogDirectory) -> FutureLog:
        """Take in a copy that a start found, or that was made."""
        future = self._by_partition[log.topic_partition] = FutureLog(log, directory)
        self._placement.added(directory.path)
        return future

    def take(self, partition: TopicPartition) -> FutureLog | None:
        """The copy, which is none any more; what becomes of it is up to the caller."""
        future = self._by_partition.pop(partition, None)
        if future is not None:
            self._placement.removed(future.directory.path)
        return future

    def remove(self, partition: TopicPartition, now_ms: int) -> Sequence[Job]:
        """Give a copy up and remove its files, once nobody has it in hand.

        StorageError if its directory fails.
        """
        future = self.take(partition)
        if future is None:
            return NO_JOBS
        future.doomed = True
        return NO_JOBS if future.busy else self.bury(future, now_ms)

    def leave(self, partition: TopicPartition) -> None:
        """Give a copy up and leave its files to the next start: its current log is not there.

        Nobody flushes it any more, so its log directory gets no clean mark.
        """
        future = self.take(partition)
        if future is None:
            return
        future.directory.loaded = False
        if not future.busy:
            future.log.fail()

    def let_go(self, future: FutureLog, now_ms: int) -> Sequence[Job]:
        """Whoever had a copy in hand that was given up meanwhile is done with it."""
        if future.doomed:
            return self.bury(future, now_ms)
        future.log.fail()
        return NO_JOBS

    def fail_dir(self, directory: LogDirectory) -> None:
        """The log directory failed, and the copies in it with it."""
        for partition, future in list(self._by_partition.items()):
            if future.directory is directory:
                self.leave(partition)

    def bury(self, future: FutureLog, now_ms: int) -> Sequence[Job]:
        """Rename the directory of a copy that was given up; the job removes it."""
        log, directory = future.log, future.directory
        if log.offline or directory.offline:
            log.fail()
            return NO_JOBS
        log.fail()
        self._rename_to_delete(directory, log.directory, log.topic_partition, now_ms)
        self._names.doubt(directory.path, (log.topic_partition,))
        logger.info("Given up: the copy of %s in %s", log.topic_partition, directory.path)
        return (self._deletions.later(0),)

    def _rename_to_delete(
        self, directory: LogDirectory, path: str, partition: TopicPartition, now_ms: int
    ) -> None:
        name = marked_directory_name(*partition, DELETE, self._environment.unique())
        target = f"{directory.path}/{name}"
        directory.disk.rename(path, target)
        self._deletions.add(directory, target, now_ms)
