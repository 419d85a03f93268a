"""The controller's single file of events: one is handled to its end before the next begins."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from protocol.errors import ErrorCode, KafkaError

T = TypeVar("T")
_Event = tuple[Callable[[], Awaitable[Any]], "asyncio.Future[Any]"]

_logger = logging.getLogger(__name__)


class EventQueue:
    """`run` is the task that handles what `submit` takes."""

    def __init__(self) -> None:
        self._events: asyncio.Queue[_Event] = asyncio.Queue()

    async def submit(self, handle: Callable[[], Awaitable[T]]) -> T:
        """The result of the event; it is handled even when the caller stops waiting."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._events.put_nowait((handle, future))
        return await future

    async def run(self) -> None:
        """Handle events until cancelled; those not finished get NOT_CONTROLLER."""
        try:
            while True:
                handle, future = await self._events.get()
                await _handle(handle, future)
        finally:
            self.refuse_waiting()

    def refuse_waiting(self) -> None:
        """Answer NOT_CONTROLLER to every event that was not begun."""
        while not self._events.empty():
            _, future = self._events.get_nowait()
            _fail(future, KafkaError(ErrorCode.NOT_CONTROLLER))


async def _handle(handle: Callable[[], Awaitable[Any]], future: "asyncio.Future[Any]") -> None:
    try:
        result = await handle()
    except asyncio.CancelledError:
        _fail(future, KafkaError(ErrorCode.NOT_CONTROLLER))
        raise
    except Exception as error:
        if future.done():
            _logger.error("An event of the controller failed after its caller left", exc_info=error)
        _fail(future, error)
    else:
        if not future.done():
            future.set_result(result)


def _fail(future: "asyncio.Future[Any]", error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
