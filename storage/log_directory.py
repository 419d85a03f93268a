"""One entry of `log.dirs` while the broker runs: its lock, its checkpoints, whether it still works.

    open()            directory made if missing, locked; a second process is refused
    discover()        what lies in it: live replicas, leftovers of deletions, names we do not know
    checkpoints       four files of offsets by partition, written by `storage.log_jobs`
    remember_boot()   `.boot-id`: which run of the machine has what is not synced; none when clean
    close(clean)      mark of a clean shutdown, only if everything was loaded; lock released

A directory that failed is offline until the process ends: nothing below it is touched again.
`meta.properties` and the clean-shutdown mark are read and written by `storage.log_dirs`.
Source: LogManager.scala (lockLogDirs, loadLogs), OffsetCheckpointFile.java.
"""

import logging
from collections.abc import Mapping
from typing import NamedTuple

from protocol.model import TopicPartition
from runtime.disk import DirectoryLock, Disk
from storage.checkpoints import OffsetCheckpoint
from storage.errors import CorruptFileError, StorageError
from storage.filenames import (
    BOOT_ID_FILE,
    CLEANER_CHECKPOINT,
    DELETE,
    FUTURE,
    HIGH_WATERMARK_CHECKPOINT,
    LIVE,
    LOCK_FILE,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    parse_partition_directory_name,
)
from storage.log_dir_disk import LogDirDisk
from storage.log_dirs import (
    UNKNOWN_BROKER_EPOCH,
    take_clean_shutdown_mark,
    write_clean_shutdown_mark,
)

logger = logging.getLogger(__name__)

Offsets = Mapping[TopicPartition, int]


class DirectoryLocked(Exception):
    """Another process works in this log directory."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return (
            f"Failed to acquire lock on file {LOCK_FILE} in {self.path}. Another broker process "
            "is using this directory."
        )


class Discovery(NamedTuple):
    """Names found in a log directory, each list sorted."""

    live: list[tuple[TopicPartition, str]]
    futures: list[tuple[TopicPartition, str]]
    deleted: list[str]
    other: list[str]


class LogDirectory:
    """A log directory in use by this process."""

    __slots__ = (
        "_lock",
        "clean_broker_epoch",
        "cleaner_offsets",
        "disk",
        "high_watermarks",
        "loaded",
        "log_starts",
        "lost_power",
        "offline",
        "path",
        "recovery_points",
        "was_clean",
    )

    def __init__(self, disk: Disk, path: str) -> None:
        self.path = path
        self.disk = LogDirDisk(disk, path)
        self.recovery_points = OffsetCheckpoint(self.disk, path, RECOVERY_POINT_CHECKPOINT)
        self.log_starts = OffsetCheckpoint(self.disk, path, LOG_START_OFFSET_CHECKPOINT)
        self.high_watermarks = OffsetCheckpoint(self.disk, path, HIGH_WATERMARK_CHECKPOINT)
        self.cleaner_offsets = OffsetCheckpoint(self.disk, path, CLEANER_CHECKPOINT)
        self.offline = False
        self.was_clean = False
        self.lost_power = False
        self.loaded = False
        """Whether every log in it is served or was closed: else it gets no clean mark."""
        self.clean_broker_epoch = UNKNOWN_BROKER_EPOCH
        self._lock: DirectoryLock | None = None

    def open(self) -> None:
        """Make the directory if it is missing and lock it.

        Raises DirectoryLocked, and StorageError where the directory cannot be used.
        """
        if not self.disk.isdir(self.path):
            logger.info("Log directory %s not found, creating it.", self.path)
            self._make()
        try:
            self._lock = self.disk.lock(f"{self.path}/{LOCK_FILE}")
        except BlockingIOError as error:
            raise DirectoryLocked(self.path) from error

    def _make(self) -> None:
        """Make the directory and its missing parents, their names durable."""
        path = self.path.rstrip("/")
        made: list[str] = []
        while path and not self.disk.exists(path):
            path = path.rpartition("/")[0]
            made.append(path or ("/" if self.path.startswith("/") else "."))
        self.disk.makedirs(self.path)
        for parent in made:
            self.disk.fsync_dir(parent)

    def take_clean_mark(self) -> bool:
        """Whether the last shutdown was clean; the mark is gone afterwards, whatever follows."""
        epoch = take_clean_shutdown_mark(self.disk, self.path)
        self.was_clean = epoch is not None
        if epoch is not None:
            self.clean_broker_epoch = epoch
        return self.was_clean

    def find_power_cut(self) -> None:
        """`lost_power`: the broker that wrote here last ended with its machine, not by itself.

        False where that is not known: after Kafka, which leaves no `.boot-id`.
        """
        self.lost_power = self.has_rebooted_since(self._written_since())

    def has_rebooted_since(self, boot_id: bytes) -> bool:
        """Whether the machine is known to run for another time than with this id."""
        return boot_id not in (b"", self.disk.boot_id().encode())

    def remember_boot(self) -> None:
        """What is written from now on is lost with this run of the machine, unless it is synced.

        Once every log is loaded, and before anything is written: a start that was interrupted is
        told the same again. Durable, for it counts after a power cut only.
        """
        boot_id = self.disk.boot_id().encode()
        if boot_id != self._written_since():
            self.disk.write_file(f"{self.path}/{BOOT_ID_FILE}", boot_id, sync=True)
            self.disk.fsync_dir(self.path)

    def _written_since(self) -> bytes:
        path = f"{self.path}/{BOOT_ID_FILE}"
        return self.disk.read_file(path) if self.disk.exists(path) else b""

    def discover(self) -> Discovery:
        """What the directory holds by its names."""
        found = Discovery([], [], [], [])
        for name in sorted(self.disk.listdir(self.path)):
            parsed = parse_partition_directory_name(name)
            if parsed is None or not self.disk.isdir(f"{self.path}/{name}"):
                continue
            partition = TopicPartition(parsed.topic, parsed.partition)
            if parsed.state == LIVE:
                found.live.append((partition, name))
            elif parsed.state == FUTURE:
                found.futures.append((partition, name))
            elif parsed.state == DELETE:
                found.deleted.append(name)
            else:
                found.other.append(name)
        return found

    def read_checkpoint(self, file: OffsetCheckpoint) -> dict[TopicPartition, int]:
        """A checkpoint's offsets; a damaged file counts as empty, with a warning."""
        try:
            return file.read()
        except CorruptFileError as error:
            logger.warning("Ignoring a damaged checkpoint, its offsets count as unknown: %s", error)
            return {}

    def close(self, clean: bool, broker_epoch: int = UNKNOWN_BROKER_EPOCH) -> None:
        """Mark the shutdown clean if it is, and give up the lock."""
        try:
            if clean and not self.offline:
                if self.disk.exists(f"{self.path}/{BOOT_ID_FILE}"):
                    self.disk.unlink(f"{self.path}/{BOOT_ID_FILE}")
                write_clean_shutdown_mark(self.disk, self.path, broker_epoch)
        finally:
            self.release()

    def release(self) -> None:
        """Give up the lock."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def usage(self) -> tuple[int, int]:
        """(total, usable) bytes; (-1, -1) where the file system does not say."""
        try:
            return self.disk.usage(self.path)
        except StorageError:
            return -1, -1
