import asyncio
import logging
from functools import partial

import pytest

from cluster.controller.event_queue import EventQueue
from protocol.errors import ErrorCode, KafkaError


async def test_events_are_handled_one_after_the_other() -> None:
    queue = EventQueue()
    running = asyncio.ensure_future(queue.run())
    log: list[str] = []

    async def event(name: str) -> str:
        log.append(f"{name} begins")
        await asyncio.sleep(0)
        log.append(f"{name} ends")
        return name

    results = await asyncio.gather(*(queue.submit(partial(event, n)) for n in "ab"))
    assert results == ["a", "b"]
    assert log == ["a begins", "a ends", "b begins", "b ends"]
    running.cancel()


async def test_a_failure_is_its_callers_and_the_queue_goes_on() -> None:
    queue = EventQueue()
    running = asyncio.ensure_future(queue.run())

    async def fail() -> None:
        raise ValueError("no")

    async def work() -> int:
        return 1

    with pytest.raises(ValueError, match="no"):
        await queue.submit(fail)
    assert await queue.submit(work) == 1
    running.cancel()


async def test_an_event_whose_caller_left_is_handled_and_its_failure_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    queue = EventQueue()
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def fail() -> None:
        begun.set()
        await go_on.wait()
        raise ValueError("nobody hears")

    async def work() -> int:
        return 1

    running = asyncio.ensure_future(queue.run())
    for event in (fail, work):
        begun.clear()
        caller = asyncio.ensure_future(queue.submit(event))
        await asyncio.sleep(0)
        if event is fail:
            await begun.wait()
        caller.cancel()
        go_on.set()
        await asyncio.gather(caller, return_exceptions=True)
    assert await queue.submit(work) == 1
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    running.cancel()


async def test_when_the_queue_ends_all_that_wait_are_told_so() -> None:
    queue = EventQueue()

    async def forever() -> None:
        await asyncio.Event().wait()

    running = asyncio.ensure_future(queue.run())
    callers = [asyncio.ensure_future(queue.submit(forever)) for _ in range(2)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    running.cancel()
    results = await asyncio.gather(*callers, return_exceptions=True)
    assert [result.code if isinstance(result, KafkaError) else None for result in results] == [
        ErrorCode.NOT_CONTROLLER
    ] * 2
