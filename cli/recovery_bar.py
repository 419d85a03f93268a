"""A bar on the terminal while logs are recovered, by the bytes that are read through.

Only a person who waits is shown it: when stderr is a terminal, log lines are text, and there is
enough to read for the bar to be seen. Log lines go on above it. Without rich there is none.
"""

import logging
import sys
from typing import TYPE_CHECKING, Final, TextIO

from broker.load_progress import LoadProgress

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

WORTH_SHOWING_BYTES: Final = 256 << 20


class RecoveryBar:
    """A watcher of a LoadProgress."""

    def __init__(self) -> None:
        self._shown: tuple[Progress, TaskID] | None = None
        self._moved: list[logging.StreamHandler[TextIO]] = []
        self._over = False

    def __call__(self, progress: LoadProgress) -> None:
        """Draw what there is now; take the bar away at the end."""
        if self._over:
            return
        if progress.interrupted or progress.done >= progress.total:
            self._end()
        elif progress.nbytes >= WORTH_SHOWING_BYTES:
            self._draw(progress)

    def _draw(self, progress: LoadProgress) -> None:
        if self._shown is None:
            try:
                self._shown = self._begin()
            except ImportError:
                self._over = True
                return
        bar, task = self._shown
        bar.update(
            task,
            total=progress.nbytes,
            completed=progress.read_bytes,
            logs=f"{progress.done}/{progress.total} logs",
        )

    def _begin(self) -> "tuple[Progress, TaskID]":
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        stderr = sys.stderr
        bar = Progress(
            TextColumn("Recovering"),
            BarColumn(),
            DownloadColumn(),
            TextColumn("{task.fields[logs]}"),
            TimeRemainingColumn(),
            console=Console(file=stderr),
            transient=True,
        )
        task = bar.add_task("recovery", logs="")
        bar.start()
        # sys.stderr is now what prints above the bar.
        for handler in logging.getLogger().handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is stderr:
                handler.setStream(sys.stderr)
                self._moved.append(handler)
        return bar, task

    def _end(self) -> None:
        self._over = True
        if self._shown is None:
            return
        self._shown[0].stop()
        for handler in self._moved:
            handler.setStream(sys.stderr)
