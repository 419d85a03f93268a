"""Partition directories that are out of use, and the time when their files go.

They are named `-delete`; whoever finds such a name at start removes it. A directory whose log
directory failed is forgotten: nothing there is touched again.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Final

from storage.jobs import Job, OffLoopWork, Work
from storage.log_directory import LogDirectory

logger = logging.getLogger(__name__)

DELETE_LOGS: Final = "kafka-delete-logs"


class PendingDeletions:
    """What waits for its removal, over all log directories."""

    __slots__ = ("_due",)

    def __init__(self) -> None:
        self._due: dict[str, tuple[LogDirectory, int]] = {}

    def __len__(self) -> int:
        return len(self._due)

    def add(self, directory: LogDirectory, path: str, due_ms: int) -> None:
        """Have what lies at `path` removed at a time."""
        self._due[path] = (directory, due_ms)

    def later(self, delay_ms: int) -> Job:
        """The job that removes what is due after a delay."""
        return Job(DELETE_LOGS, delay_ms, self.plan)

    def plan(self, now_ms: int) -> Sequence[Work]:
        """The removal of everything whose time has come."""
        works = []
        for path in [path for path, (_, due_ms) in self._due.items() if due_ms <= now_ms]:
            directory, _ = self._due.pop(path)
            if not directory.offline:
                works.append(OffLoopWork(directory.path, _removal(directory, path)))
        return works

    def forget(self, directory: LogDirectory) -> None:
        """The log directory failed."""
        for path, (owner, _) in list(self._due.items()):
            if owner is directory:
                del self._due[path]


def _removal(directory: LogDirectory, path: str) -> Callable[[], None]:
    def remove() -> None:
        directory.disk.rmtree(path)
        logger.info("Deleted log %s", path)

    return remove
