"""A long handler gives way, and waits for a parked reply without losing it."""

import asyncio
import gc
import weakref
from contextlib import suppress

import pytest

from broker.context import NO_RESPONSE, Parked
from broker.turns import NextTurn, reply_of, sliced


async def test_everything_ready_runs_before_the_next_turn() -> None:
    ran: list[str] = []
    asyncio.get_running_loop().call_soon(ran.append, "other")
    await NextTurn()
    assert ran == ["other"]


async def test_a_reply_that_is_there_is_taken_and_one_to_come_awaited() -> None:
    parked = Parked()
    parked.complete(None)
    assert await reply_of(parked) is NO_RESPONSE
    later = Parked()
    asyncio.get_running_loop().call_soon(later.complete, None)
    assert await reply_of(later) is NO_RESPONSE


async def test_a_failure_is_raised() -> None:
    parked = Parked()
    parked.fail(ValueError("bug"))
    with pytest.raises(ValueError, match="bug"):
        await reply_of(parked)


class Bug(Exception):
    pass


async def test_a_failure_that_was_raised_is_free_without_the_collector() -> None:
    parked = Parked()
    error = Bug()
    gone = weakref.ref(error)
    parked.fail(error)
    del error
    gc.disable()
    try:
        with suppress(Bug):
            await reply_of(parked)
        del parked
        await NextTurn()
        assert gone() is None
    finally:
        gc.enable()


async def test_cancelling_abandons_the_reply_and_a_late_one_is_dropped() -> None:
    abandoned = []
    parked = Parked(lambda: abandoned.append(True))
    task = asyncio.get_running_loop().create_task(reply_of(parked))
    await NextTurn()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert abandoned == [True]
    parked.complete(None)


def test_items_are_sliced_in_their_order() -> None:
    assert list(sliced(range(5), 2)) == [range(2), range(2, 4), range(4, 5)]
    assert list(sliced([], 2)) == []
