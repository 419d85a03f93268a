"""Which log directory a new log goes to: the one asked for, else the one with the fewest logs.

Copies that are being filled count as logs of their directory. A cordoned directory (KIP-1066) gets
no new log unless all are cordoned. Source: LogManager.scala (nextLogDirs, preferredLogDirs).
"""

from collections.abc import Callable, Sequence
from typing import Final

from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicPartition
from storage.errors import StorageError
from storage.log_directory import LogDirectory

ALL: Final = "*"
"""Stands for every directory in cordoned.log.dirs."""

MOST_PREFERENCES: Final = 100_000
"""Any client may name partitions that never come: the oldest wish goes."""


class Placement:
    """How many logs each directory has, and what was asked for."""

    __slots__ = ("_counts", "_directories", "cordoned", "preferred")

    def __init__(self, directories: Sequence[LogDirectory]) -> None:
        self._directories = directories
        self._counts = {directory.path: 0 for directory in directories}
        self.preferred: dict[TopicPartition, str] = {}
        """Directories asked for by AlterReplicaLogDirs before the partition was here."""
        self.cordoned: Callable[[], tuple[str, ...]] = tuple
        """cordoned.log.dirs; live."""

    def added(self, log_dir: str) -> None:
        """A log, or a copy of one, is in this directory."""
        self._counts[log_dir] += 1

    def removed(self, log_dir: str) -> None:
        """One less."""
        self._counts[log_dir] -= 1

    def prefer(self, partition: TopicPartition, log_dir: str) -> None:
        """Have the log of a partition, once it comes, made in this directory."""
        self.preferred.pop(partition, None)
        self.preferred[partition] = log_dir
        if len(self.preferred) > MOST_PREFERENCES:
            del self.preferred[next(iter(self.preferred))]

    def is_cordoned(self, log_dir: str) -> bool:
        """Whether a directory gets no new logs."""
        cordoned = self.cordoned()
        return log_dir in cordoned or ALL in cordoned

    def choose(self, partition: TopicPartition) -> LogDirectory:
        """Where a new log goes; the first named wins a tie. StorageError if all are offline."""
        online = [directory for directory in self._directories if not directory.offline]
        if not online:
            raise StorageError(self._directories[0].path, "No log directory is online")
        wanted = self.preferred.get(partition)
        for directory in online:
            if directory.path == wanted:
                return directory
        open_ones = [one for one in online if not self.is_cordoned(one.path)]
        return min(open_ones or online, key=lambda directory: self._counts[directory.path])

    def require_all_online(self, partition: TopicPartition) -> None:
        """KafkaError(KAFKA_STORAGE_ERROR) while a directory is offline: what is to be made may be
        there, and would be hidden.
        """
        offline = [directory.path for directory in self._directories if directory.offline]
        if offline:
            raise KafkaError(
                ErrorCode.KAFKA_STORAGE_ERROR,
                f"Can not create log for {partition} because log directories "
                f"{', '.join(offline)} are offline",
            )
