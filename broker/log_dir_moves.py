"""Moves between log directories, by a manager that is made when the first is asked for.

Most brokers never move a log, and no start waits for what moves them.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from protocol.errors import ErrorCode
from protocol.model import TopicPartition
from storage.log_manager import LogManager

if TYPE_CHECKING:
    from broker.replication.alter_log_dirs import ReplicaAlterLogDirsManager


class LogDirMoves:
    """See the module. `manager` is None until it was made."""

    __slots__ = ("_logs", "_make", "manager")

    def __init__(self, logs: LogManager, make: "Callable[[], ReplicaAlterLogDirsManager]") -> None:
        self._logs = logs
        self._make = make
        self.manager: ReplicaAlterLogDirsManager | None = None

    def alter(self, topic_partition: TopicPartition, log_dir: str) -> ErrorCode:
        """Have a partition's log in this directory; see the manager's `alter`."""
        return self._made().alter(topic_partition, log_dir)

    def resume(self) -> None:
        """Go on with the moves that a start found half done."""
        if len(self._logs.futures):
            self._made().resume()

    def stop(self) -> None:
        """Begin nothing more."""
        if self.manager is not None:
            self.manager.stop()

    def _made(self) -> "ReplicaAlterLogDirsManager":
        if self.manager is None:
            self.manager = self._make()
        return self.manager
