"""How far a start has come with the logs: for metrics, for a bar on a terminal, and for the log.

Belongs to the loop thread, where lanes tell what they did; they read `interrupted` only.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from runtime.clock import Clock
from storage.log_loading import NO_EXTENT, Extent, LoadTask

_log = logging.getLogger(__name__)

PROGRESS_S: Final = 2.0


class LoadInterrupted(Exception):
    """The start was to stop while logs were being loaded; some tasks have not run."""


class LoadProgress:
    """How many logs are loaded, of how many, and how many bytes recoveries have read."""

    __slots__ = (
        "_clock",
        "_directories",
        "_stops",
        "_told_at",
        "_waiting",
        "done",
        "extents",
        "interrupted",
        "nbytes",
        "read_bytes",
        "total",
        "watcher",
    )

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._told_at = clock.monotonic()
        self._stops: list[Callable[[], None]] = []
        self._directories: list[str] = []
        self._waiting: dict[LoadTask, None] = {}
        self.total = 0
        self.done = 0
        self.nbytes = 0
        self.read_bytes = 0
        self.interrupted = False
        self.extents: dict[LoadTask, Extent] = {}
        self.watcher: Callable[[LoadProgress], None] | None = None
        """Told of every step, and once more when the start is interrupted."""

    def monotonic(self) -> float:
        """Seconds; from any thread."""
        return self._clock.monotonic()

    def begin(self, tasks: Sequence[LoadTask]) -> None:
        """These are to be loaded."""
        self.total = len(tasks)
        self.extents = dict.fromkeys(tasks, NO_EXTENT)
        self._directories = sorted({task.directory.path for task in tasks})

    def measured(self, extents: Mapping[LoadTask, Extent]) -> None:
        """So much is to be read through for these."""
        self.extents.update(extents)
        self._waiting.update(dict.fromkeys(extents))
        self.nbytes += sum(extent.nbytes for extent in extents.values())
        _log.info(
            "Recovering %d logs with %d bytes after an unclean shutdown",
            len(extents),
            sum(extent.nbytes for extent in extents.values()),
        )

    def advance(self, tasks: Sequence[LoadTask], nbytes: int) -> None:
        """These are loaded, and so much more was read."""
        self.done += len(tasks)
        self.read_bytes += nbytes
        for task in tasks:
            self._waiting.pop(task, None)
        now = self._clock.monotonic()
        if now - self._told_at >= PROGRESS_S and self.done < self.total:
            self._told_at = now
            _log.info(
                "Loaded %d of %d logs, read %d of %d MB",
                self.done,
                self.total,
                self.read_bytes >> 20,
                self.nbytes >> 20,
            )
        self._told()

    def remaining(self) -> dict[str, tuple[int, int]]:
        """Logs and segments of each directory that recovery has not done yet."""
        found = dict.fromkeys(self._directories, (0, 0))
        for task in self._waiting:
            logs, segments = found[task.directory.path]
            found[task.directory.path] = logs + 1, segments + self.extents[task].segments
        return found

    def ended(self) -> None:
        """All is loaded: the tasks, which hold what they loaded, are forgotten."""
        self.extents, self._waiting = {}, {}
        self._stops.clear()

    def on_interrupt(self, stop: Callable[[], None]) -> None:
        """Call this, on the loop, when the start is to stop; from any thread."""
        self._stops.append(stop)

    def interrupt(self) -> None:
        """Have no further task begin, and those that run end where they are."""
        self.interrupted = True
        for stop in self._stops:
            stop()
        self._told()

    def _told(self) -> None:
        if self.watcher is not None:
            self.watcher(self)
