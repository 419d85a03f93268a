"""Worker threads for calls that block: fsync, deletion, recovery.

A function runs in some worker; what becomes of it is told on the loop thread. Threads start when
work waits and none is free, and are daemons: a disk that hangs cannot keep the process from
exiting.
"""

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
Done = Callable[[Any, BaseException | None], None]
_Task = tuple[Callable[[], Any], Done]


class Workers:
    """At most `max_threads` threads working off one queue, first come first served."""

    __slots__ = (
        "_closed",
        "_loop",
        "_max_threads",
        "_name",
        "_queue",
        "_threads",
        "_waiters",
        "unfinished",
    )

    def __init__(
        self, loop: asyncio.AbstractEventLoop, max_threads: int, name: str = "worker"
    ) -> None:
        assert max_threads > 0
        self._loop = loop
        self._max_threads = max_threads
        self._name = name
        self._queue: SimpleQueue[_Task | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._waiters: list[asyncio.Future[None]] = []
        self._closed = False
        self.unfinished = 0
        """Calls submitted whose `done` has not been called yet."""

    def submit(self, function: Callable[..., T], *args: Any, done: Done) -> None:
        """Call `function(*args)` in a worker, then `done(result, error)` on the loop.

        Exactly one of the two is meaningful: a result of None comes with an error of None too.
        """
        assert not self._closed, "submitted to closed workers"
        self.unfinished += 1
        self._queue.put((lambda: function(*args), done))
        if len(self._threads) < min(self.unfinished, self._max_threads):
            self._start_thread()

    async def run(self, function: Callable[..., T], *args: Any) -> T:
        """Await `function(*args)` in a worker."""
        future: asyncio.Future[T] = self._loop.create_future()
        self.submit(function, *args, done=partial(_settle, future))
        try:
            return await future
        finally:
            # An error's traceback has this frame: future and error would keep each other alive,
            # and all that the failed function had in its hands, until the collector comes by.
            del future

    async def drain(self) -> None:
        """Wait until nothing that was submitted is unfinished."""
        while self.unfinished:
            waiter: asyncio.Future[None] = self._loop.create_future()
            self._waiters.append(waiter)
            await waiter

    def close(self, *, wait: bool) -> None:
        """Take no more work. With `wait`, block until what was submitted has run.

        `done` of such calls comes when the loop next runs; `drain` first to see them all.
        """
        self._closed = True
        for _ in self._threads:
            self._queue.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def _start_thread(self) -> None:
        name = f"{self._name}-{len(self._threads)}"
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self) -> None:
        while (task := self._queue.get()) is not None:
            function, done = task
            result: Any = None
            error: BaseException | None = None
            try:
                result = function()
            except BaseException as caught:
                error = caught
            try:
                self._loop.call_soon_threadsafe(self._finish, done, result, error)
            except RuntimeError:
                return  # the loop is closed: nobody is left to be told
            del task, function, done, result, error

    def _finish(self, done: Done, result: Any, error: BaseException | None) -> None:
        self.unfinished -= 1
        try:
            done(result, error)
        finally:
            if not self.unfinished:
                for waiter in self._waiters:
                    if not waiter.done():
                        waiter.set_result(None)
                self._waiters.clear()


class FewAtOnce:
    """The same workers for calls of one kind that take much memory: the rest of them wait.

    Those who wait take no worker, so other kinds of work are not held up either.
    """

    __slots__ = ("_turnstile", "_workers")

    def __init__(self, workers: Workers, most: int) -> None:
        self._workers = workers
        self._turnstile = asyncio.Semaphore(most)

    async def run(self, function: Callable[..., T], *args: Any) -> T:
        """Await `function(*args)` in a worker, once it is its turn."""
        async with self._turnstile:
            return await self._workers.run(function, *args)


def _settle(future: "asyncio.Future[T]", result: T, error: BaseException | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)
