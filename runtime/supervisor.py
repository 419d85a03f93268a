"""The one place where tasks are made: each has a name, an owner and a logged end.

A bare task may be garbage collected while it runs, and its exception is told to nobody. Here the
reference is kept, a failure is logged when it happens, and stopping waits for all of them.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_logger = logging.getLogger(__name__)


class Supervisor:
    """Keeps the tasks of one loop."""

    __slots__ = ("_loop", "_stopped", "_tasks", "failures")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._tasks: set[asyncio.Task[Any]] = set()
        self._stopped = False
        self.failures = 0

    def __len__(self) -> int:
        return len(self._tasks)

    def spawn(self, name: str, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a coroutine to its end; an exception it ends with is logged and counted."""
        if self._stopped:
            coroutine.close()
            raise RuntimeError(f"{name}: started after the supervisor was stopped")
        task = self._loop.create_task(coroutine, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def stop(self, timeout_s: float) -> list[str]:
        """Cancel what runs and wait; returns the names of those that did not end in time."""
        self._stopped = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if not tasks:
            return []
        _, pending = await asyncio.wait(tasks, timeout=timeout_s)
        return sorted(task.get_name() for task in pending)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            self.failures += 1
            _logger.error("Task %s failed", task.get_name(), exc_info=error)
