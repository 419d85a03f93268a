"""All logs of the broker, by partition, over its log directories.

Start:   `load_tasks()` lists one task a partition directory, `finish_load()` takes the logs in.
         The tasks are independent and may run in several threads; nothing else runs meanwhile.
Running: `get()`, `get_or_create()`, `delete_async()`; `storage.log_jobs` lists the periodic work.
Moving:  `create_future()`, `replace_current_with_future()`: see `storage.moving`.
Failure: `fail_dir()` takes a directory and its logs offline until the process ends.
         An interrupted start ends in `abandon_load()` instead.
Stop:    `close()` flushes and closes every log, writes checkpoints and clean-shutdown marks.

What lies in a log directory and metadata does not name stays as it is, unserved, reported; its
checkpoint entries are kept. Only when metadata gives the very name to another topic is the old
directory set aside as `-stray`: see `storage.taken_names`.
Source: LogManager.scala (3.9, 4.3).
"""

import logging
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from config.topic_config import LogConfig
from protocol.errors import ErrorCode, KafkaError
from protocol.model import ZERO_TOPIC_ID, TopicPartition, topic_id_to_text
from storage.damaged_logs import DamagedLogs
from storage.errors import StorageError
from storage.filenames import (
    DELETE,
    PARTITION_METADATA_FILE,
    marked_directory_name,
    partition_directory_name,
)
from storage.future_logs import FutureLog, FutureLogs
from storage.jobs import NO_DELAY_MS, Job, OffLoopWork, OnLoopWork, Work
from storage.log.environment import LogEnvironment, LogIdentity
from storage.log.flushing import RunAll, flush_all, run_in_line
from storage.log.partition_log import PartitionLog
from storage.log.recovery import create_log
from storage.log_directory import LogDirectory, Offsets
from storage.log_dirs import UNKNOWN_BROKER_EPOCH
from storage.log_loading import (
    ConfigOfTopic,
    ExpectedTopicId,
    LoadReport,
    LoadTask,
    UnservedDirectory,
    survey,
)
from storage.partition_metadata import encode_partition_metadata
from storage.pending_deletions import DELETE_LOGS, PendingDeletions
from storage.placement import Placement
from storage.reused_names import ReusedNames, remove_mark
from storage.taken_names import clear_name

logger = logging.getLogger(__name__)

REUSED_NAMES = "reused-names"


class LogDirState(NamedTuple):
    """What DescribeLogDirs tells of a directory; bytes are -1 where unknown."""

    path: str
    total_bytes: int
    usable_bytes: int
    offline: bool
    cordoned: bool


class LogManager:
    """The logs of this broker."""

    __slots__ = (
        "_environment",
        "_kept_offsets",
        "_logs",
        "_unserved",
        "damaged",
        "deletions",
        "directories",
        "futures",
        "placement",
        "reused_names",
    )

    def __init__(self, directories: Sequence[LogDirectory], environment: LogEnvironment) -> None:
        """Take over directories that are open, or offline; the first one named comes first."""
        self.directories = {directory.path: directory for directory in directories}
        self._environment = environment
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self.placement = Placement(directories)
        self.deletions = PendingDeletions()
        self._kept_offsets: dict[str, Sequence[dict[TopicPartition, int]]] = {}
        self._unserved: list[UnservedDirectory] = []
        self.damaged = DamagedLogs()
        self.reused_names = ReusedNames()
        self.futures = FutureLogs(environment, self.placement, self.deletions, self.reused_names)

    # Start.

    def load(self, now_ms: int, config_of: ConfigOfTopic, expected: ExpectedTopicId) -> LoadReport:
        """Load everything in this thread."""
        tasks = self.load_tasks(now_ms, config_of, expected)
        for task in tasks:
            task()
        return self.finish_load(tasks)

    def load_tasks(
        self, now_ms: int, config_of: ConfigOfTopic, expected: ExpectedTopicId
    ) -> list[LoadTask]:
        """One task for each log that metadata knows; a directory that fails is offline after."""
        tasks: list[LoadTask] = []
        for directory in self.directories.values():
            if directory.offline:
                continue
            try:
                found = survey(directory, self._environment, config_of, expected, now_ms)
            except StorageError as error:
                self._go_offline(directory, error)
                continue
            tasks += found.tasks
            self._unserved += found.unserved
            self._kept_offsets[directory.path] = found.kept_offsets
            self.reused_names.doubt(directory.path, found.doubted)
            for name in found.deleted:
                self.deletions.add(directory, f"{directory.path}/{name}", now_ms)
        return self._without_moved(tasks, now_ms)

    def _without_moved(self, tasks: list[LoadTask], now_ms: int) -> list[LoadTask]:
        """The tasks but for replicas that a move left behind."""
        settled = self.futures.settle(tasks, list(self.directories.values()), now_ms)
        self._unserved += settled.left
        for error in settled.errors:
            self._go_offline(self.directories[error.directory], error)
        return settled.tasks

    def finish_load(self, tasks: Iterable[LoadTask]) -> LoadReport:
        """Take in what the tasks loaded; a log found in two directories is a KafkaError."""
        recovered = 0
        for task in sorted(tasks, key=lambda task: task.is_future):
            partition, directory = task.identity.topic_partition, task.directory
            if task.error is not None:
                self._go_offline(directory, task.error)
            elif task.damage is not None and task.is_future:
                self.futures.damaged(task, task.damage)
            elif task.damage is not None:
                self.damaged.add(task.identity, task.damage)
                task.checkpoints.keep(partition, self._kept_offsets[directory.path])
            elif not directory.offline:
                if partition in self._logs and not task.is_future:
                    raise KafkaError(
                        ErrorCode.KAFKA_STORAGE_ERROR,
                        f"Duplicate log directories found: {task.identity.directory}, "
                        f"{self._logs[partition].directory}",
                    )
                self._take_in(task)
                recovered += task.recovers
        for directory in self.directories.values():
            self._loaded(directory)
        offline = [path for path, directory in self.directories.items() if directory.offline]
        return LoadReport(
            len(self._logs), recovered, list(self._unserved), offline, self.damaged.all()
        )

    def _take_in(self, task: LoadTask) -> None:
        """Have a log or a copy that was loaded; its directory is offline after if that fails."""
        current = self._logs.get(task.identity.topic_partition)
        try:
            if task.is_future and current is None:
                task.leave_alone()
            else:
                task.take_over()
        except StorageError as error:
            self._go_offline(task.directory, error)
            return
        if task.is_future:
            self.futures.loaded(task, current)
        else:
            self._add(task.log())

    def _loaded(self, directory: LogDirectory) -> None:
        """Every log of the directory is as its loading left it; now it may be written."""
        try:
            if not directory.offline:
                directory.remember_boot()
        except StorageError as error:
            self._go_offline(directory, error)
        directory.loaded = not (directory.offline or self.damaged.lie_in(directory.path))

    def abandon_load(self, tasks: Iterable[LoadTask]) -> None:
        """Give the directories up before all their logs are loaded.

        One that was closed cleanly gets its mark back, unless loading mended anything in it; the
        others go on counting as closed uncleanly. StorageError if the disk fails.
        """
        mended = {task.directory.path for task in tasks if task.changed_files}
        for path, directory in self.directories.items():
            directory.close(
                directory.was_clean and path not in mended, directory.clean_broker_epoch
            )

    # Running.

    def get(self, partition: TopicPartition) -> PartitionLog | None:
        """The log of a partition, if it is here and online."""
        return self._logs.get(partition)

    def all_logs(self) -> list[PartitionLog]:
        """Every log that is online."""
        return list(self._logs.values())

    def get_or_create(
        self,
        partition: TopicPartition,
        topic_id: bytes,
        config: LogConfig,
        now_ms: int,
        *,
        is_new: bool = False,
    ) -> PartitionLog:
        """The log of a partition, made if it is missing, in the directory with the fewest logs.

        KafkaError: KAFKA_STORAGE_ERROR for one that is not new while a directory is offline, since
        it may lie there; INCONSISTENT_TOPIC_ID where the log belongs to another topic of this name.
        A new log's files are durable with its first flush.
        """
        log = self._logs.get(partition)
        if log is not None:
            if ZERO_TOPIC_ID not in (log.topic_id, topic_id) and log.topic_id != topic_id:
                raise KafkaError(
                    ErrorCode.INCONSISTENT_TOPIC_ID,
                    f"{partition} here is of topic id {topic_id_to_text(log.topic_id)}, "
                    f"not {topic_id_to_text(topic_id)}",
                )
            return log
        if not is_new:
            self.placement.require_all_online(partition)
        self._clear_name(partition, topic_id, is_new=is_new)
        directory = self.placement.choose(partition)
        path = f"{directory.path}/{partition_directory_name(*partition)}"
        directory.disk.mkdir(path)
        self.reused_names.claim(directory.disk, directory.path, path, partition)
        if topic_id != ZERO_TOPIC_ID:
            directory.disk.write_file(
                f"{path}/{PARTITION_METADATA_FILE}", encode_partition_metadata(topic_id)
            )
        identity = LogIdentity(partition, topic_id, path, directory.path)
        environment = self._environment
        loaded = create_log(directory.disk, identity, config, environment, now_ms)
        log = PartitionLog(directory.disk, identity, config, environment, loaded, now_ms)
        logger.info("Created log for partition %s in %s", partition, path)
        self.placement.preferred.pop(partition, None)
        self._add(log)
        return log

    def update_topic_config(self, topic: str, config: LogConfig) -> None:
        """Every log of the topic obeys this from its next operation on."""
        for log in self._logs.values():
            if log.topic_partition.topic == topic:
                log.update_config(config)

    def delete_async(self, partition: TopicPartition, now_ms: int) -> Job:
        """The log is gone for everybody, its directory renamed; the job removes the files later.

        The job comes in two steps: at once the new name is made durable, after
        file.delete.delay.ms the files are removed. A copy in another directory goes too.
        """
        log = self._logs[partition]
        directory = self.directories[log.log_dir]
        name = marked_directory_name(*partition, DELETE, self._environment.unique())
        path = f"{directory.path}/{name}"
        log.delete(path)
        self._remove(log)
        self.reused_names.doubt(directory.path, (partition,))
        delay_ms = log.config.file_delete_delay_ms
        self.deletions.add(directory, path, now_ms + delay_ms)
        logger.info(
            "Log for partition %s is renamed to %s and is scheduled for deletion", partition, path
        )
        remove = (self.deletions.later(delay_ms), *self.futures.remove(partition, now_ms))

        def plan(_now_ms: int) -> Sequence[Work]:
            sync = OffLoopWork(
                directory.path, lambda: directory.disk.fsync_dir(directory.path), remove
            )
            return (sync,)

        return Job(DELETE_LOGS, NO_DELAY_MS, plan)

    def plan_deletions(self, now_ms: int) -> Sequence[Work]:
        """The removal of every deleted directory whose time has come."""
        return self.deletions.plan(now_ms)

    # Moving to another log directory.

    def future(self, partition: TopicPartition) -> PartitionLog | None:
        """The copy that is being filled, if the partition's log is being moved."""
        found = self.futures.get(partition)
        return None if found is None else found.log

    def create_future(self, partition: TopicPartition, log_dir: str, now_ms: int) -> FutureLog:
        """An empty copy of a log that is here, in another directory.

        KafkaError(KAFKA_STORAGE_ERROR) while any directory is offline: a copy may be there.
        """
        self.placement.require_all_online(partition)
        current = self._logs[partition]
        directory = self.directories[log_dir]
        return self.futures.create(current, directory, current.config, now_ms)

    def replace_current_with_future(self, partition: TopicPartition) -> Sequence[Job]:
        """The copy, which has everything, is the log from now on; see `storage.moving.swapping`.

        StorageError, with nothing changed, if the copy's directory fails. The log that was current
        is offline.
        """
        future = self.futures.get(partition)
        current = self._logs[partition]
        assert future is not None, partition
        assert not future.busy, partition
        from storage.moving.swapping import Retirement, swap

        swap(current, future.log, self._environment)
        self.futures.take(partition)
        self._remove(current)
        self._add(future.log)
        current.fail()
        old, new = self.directories[current.log_dir], future.directory
        self.reused_names.doubt(old.path, (partition,))

        def is_live(path: str) -> bool:
            log = self._logs.get(partition)
            return log is not None and log.directory == path

        retirement = Retirement(
            (current, future.log),
            (old, new),
            self.deletions,
            self._environment.unique,
            is_live,
            lambda: self.reused_names.doubt(new.path, (partition,)),
        )
        return (retirement.begin(), *future.log.flusher.want(current.log_end_offset))

    def logs_in(self, log_dir: str) -> list[PartitionLog]:
        """The logs of one directory."""
        return [log for log in self._logs.values() if log.log_dir == log_dir]

    def recovery_points(self, log_dir: str) -> Offsets:
        """What recovery-point-offset-checkpoint should say now."""
        return self._offsets(
            log_dir, 0, {log.topic_partition: log.recovery_point for log in self._all_in(log_dir)}
        )

    def log_starts(self, log_dir: str) -> Offsets:
        """What log-start-offset-checkpoint should say now: starts beyond the first segment's, and
        those whose deleted segments a power cut may bring back.
        """
        offsets = {
            log.topic_partition: log.log_start_offset
            for log in self._all_in(log_dir)
            if log.log_start_offset > log.segments.first.base_offset or log.flusher.owes_names
        }
        return self._offsets(log_dir, 1, offsets)

    def high_watermarks(self, log_dir: str) -> Offsets:
        """What replication-offset-checkpoint should say now."""
        return self._offsets(
            log_dir, 2, {log.topic_partition: log.high_watermark for log in self._all_in(log_dir)}
        )

    def _all_in(self, log_dir: str) -> list[PartitionLog]:
        """The logs of a directory and the copies in it."""
        return self.logs_in(log_dir) + self.futures.logs_in(log_dir)

    def cleaner_offsets(self, log_dir: str) -> Offsets:
        """What cleaner-offset-checkpoint should say now: logs that were cleaned."""
        return {
            log.topic_partition: log.first_dirty_offset
            for log in self.logs_in(log_dir)
            if log.first_dirty_offset >= 0
        }

    def checkpoints_written(self, log_dir: str, planned_after: int) -> Sequence[Job]:
        """All files of a directory speak of what there was after so many ends of logs."""
        logs = [self._logs.get(one) for one in self.reused_names.settled(log_dir, planned_after)]
        known = [log for log in logs if log is not None and log.log_dir == log_dir]
        if not known:
            return ()

        def remove() -> tuple[Sequence[PartitionLog], Sequence[Job]]:
            for log in known:
                if self._logs.get(log.topic_partition) is log:
                    remove_mark(log.disk, log.directory)
            return (), ()

        return (Job(REUSED_NAMES, NO_DELAY_MS, lambda _now_ms: (OnLoopWork(log_dir, remove),)),)

    # Failure.

    def fail_dir(self, log_dir: str) -> list[TopicPartition]:
        """The directory and its logs are offline from now on; the partitions that were in it."""
        directory = self.directories[log_dir]
        directory.offline = True
        lost = self.logs_in(log_dir)
        for log in lost:
            log.fail()
            self._remove(log)
        self.futures.fail_dir(directory)
        self.deletions.forget(directory)
        logger.error("Stopping serving logs in dir %s", log_dir)
        return [log.topic_partition for log in lost]

    def log_dir_states(self) -> list[LogDirState]:
        """Every configured directory, in the order of log.dirs."""
        return [
            LogDirState(
                path,
                *(directory.usage() if not directory.offline else (-1, -1)),
                directory.offline,
                self.placement.is_cordoned(path),
            )
            for path, directory in self.directories.items()
        ]

    # Stop.

    def close(
        self,
        now_ms: int,
        *,
        clean: bool,
        broker_epoch: int = UNKNOWN_BROKER_EPOCH,
        run_all: RunAll = run_in_line,
    ) -> None:
        """Close every log and give the directories up; runs when no job does.

        Clean: all is flushed first, the checkpoints are written, and each directory that was
        loaded and did not fail meanwhile gets its clean-shutdown mark. `run_all` may run the
        flushes it is given in several threads, and returns when all are done.
        """
        for path, directory in self.directories.items():
            try:
                if not directory.offline:
                    logs = self._all_in(path)
                    if clean:
                        flush_all(logs, now_ms, run_all)
                        self.write_checkpoints(directory)
                    for log in logs:
                        log.close()
                directory.close(clean and directory.loaded, broker_epoch)
            except (StorageError, OSError) as error:  # OSError: no descriptor to sync with.
                self._go_offline(directory, error)
                directory.release()
        self._logs.clear()

    def write_checkpoints(self, directory: LogDirectory) -> None:
        """Write the four checkpoints of a directory in line."""
        directory.recovery_points.write(self.recovery_points(directory.path))
        directory.log_starts.write(self.log_starts(directory.path))
        directory.high_watermarks.write(self.high_watermarks(directory.path))
        directory.cleaner_offsets.write(self.cleaner_offsets(directory.path))

    def _add(self, log: PartitionLog) -> None:
        self._logs[log.topic_partition] = log
        self.placement.added(log.log_dir)

    def _remove(self, log: PartitionLog) -> None:
        del self._logs[log.topic_partition]
        self.placement.removed(log.log_dir)

    def _go_offline(self, directory: LogDirectory, error: Exception) -> None:
        logger.error("Log directory %s is offline: %s", directory.path, error)
        self.fail_dir(directory.path)

    def _offsets(self, log_dir: str, which: int, offsets: dict[TopicPartition, int]) -> Offsets:
        kept = self._kept_offsets.get(log_dir)
        return {**kept[which], **offsets} if kept is not None and kept[which] else offsets

    def _clear_name(self, partition: TopicPartition, topic_id: bytes, *, is_new: bool) -> None:
        """Set aside unserved directories of this name; KafkaError for one that has to stay."""
        unique = self._environment.unique
        directories = self.directories.values()
        for directory in clear_name(directories, partition, topic_id, unique, is_new=is_new):
            for offsets in self._kept_offsets.get(directory.path, ()):
                offsets.pop(partition, None)
            self.reused_names.doubt(directory.path, (partition,))
