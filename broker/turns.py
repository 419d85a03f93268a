"""How a long handler lets the other connections have their turn, and waits for a parked reply."""

import asyncio
from collections.abc import Generator, Iterator, Sequence
from functools import partial
from typing import Final, TypeVar

from broker.context import Parked, Reply

WORK_PER_TURN_BYTES: Final = 1024 * 1024
"""About as much record data as may be worked through before the loop serves somebody else."""
PARTITIONS_PER_TURN: Final = 500
"""Partitions of one request looked into before others get their turn: 2 to 3 ms."""
APPENDS_PER_TURN: Final = 200
"""Batches of one request appended before that, however small they are: likewise."""

T = TypeVar("T")


def sliced(items: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    """The items, as many at a time as may be worked through in one turn."""
    for start in range(0, len(items), most):
        yield items[start : start + most]


class NextTurn:
    """`await NextTurn()` suspends a task until the loop has run everything that is ready."""

    __slots__ = ()

    def __await__(self) -> Generator[None]:
        """A bare yield is the event loop's own signal to reschedule the task."""
        yield


async def reply_of(parked: Parked) -> Reply:
    """The reply once it is given; raises what it failed with. Cancelling the task abandons it."""
    future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
    parked.attach(partial(_settle, future))
    try:
        return await future
    except asyncio.CancelledError:
        parked.abandon()
        raise
    finally:
        del future, parked  # they and the traceback of a failure would keep each other alive


def _settle(future: "asyncio.Future[Reply]", result: Reply | Exception) -> None:
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
