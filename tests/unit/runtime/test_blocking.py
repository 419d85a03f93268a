"""Blocking calls run in threads; what becomes of them is told on the loop."""

import asyncio
import gc
import threading
import weakref
from contextlib import suppress

import pytest

from runtime.blocking import FewAtOnce, Workers


async def test_run_returns_what_the_function_returned_in_another_thread() -> None:
    workers = Workers(asyncio.get_running_loop(), 2)
    name = await workers.run(lambda: threading.current_thread().name)
    assert name == "worker-0"
    workers.close(wait=True)


async def test_run_raises_what_the_function_raised() -> None:
    workers = Workers(asyncio.get_running_loop(), 1)
    with pytest.raises(ZeroDivisionError):
        await workers.run(divmod, 1, 0)
    workers.close(wait=True)


class Heavy:
    """Stands for what a failed function had in its hands: a buffer of many megabytes."""


async def test_what_a_failed_function_held_is_free_without_the_collector() -> None:
    workers = Workers(asyncio.get_running_loop(), 1)
    held: list[weakref.ref[Heavy]] = []

    def fail() -> None:
        heavy = Heavy()
        held.append(weakref.ref(heavy))
        raise ValueError("failed with something in its hands")

    gc.disable()
    try:
        with suppress(ValueError):
            await workers.run(fail)
        await asyncio.sleep(0)  # out of the callback that the future itself called
        workers.close(wait=True)
        assert held[0]() is None
    finally:
        gc.enable()


async def test_done_is_called_on_the_loop_thread_with_result_or_error() -> None:
    workers = Workers(asyncio.get_running_loop(), 1)
    seen: list[tuple[object, object, threading.Thread]] = []

    def done(result: object, error: BaseException | None) -> None:
        seen.append((result, type(error), threading.current_thread()))

    workers.submit(pow, 2, 3, done=done)
    workers.submit(divmod, 1, 0, done=done)
    await workers.drain()
    here = threading.current_thread()
    assert seen == [(8, type(None), here), (None, ZeroDivisionError, here)]
    workers.close(wait=True)


async def test_no_more_threads_than_allowed_and_no_more_than_needed() -> None:
    workers = Workers(asyncio.get_running_loop(), 3)
    names: set[str] = set()
    gate = threading.Event()

    def work() -> None:
        names.add(threading.current_thread().name)
        gate.wait(10)

    for _ in range(8):
        workers.submit(work, done=lambda _result, _error: None)
    assert workers.unfinished == 8
    gate.set()
    await workers.drain()
    assert workers.unfinished == 0
    assert names <= {"worker-0", "worker-1", "worker-2"}
    workers.close(wait=True)


async def test_closing_with_wait_lets_submitted_work_end() -> None:
    workers = Workers(asyncio.get_running_loop(), 1)
    results: list[object] = []
    for number in range(5):
        workers.submit(abs, -number, done=lambda result, _error: results.append(result))
    workers.close(wait=True)
    await workers.drain()
    assert results == [0, 1, 2, 3, 4]
    with pytest.raises(AssertionError):
        workers.submit(abs, 1, done=lambda _result, _error: None)


async def test_a_result_nobody_waits_for_any_more_is_dropped() -> None:
    workers = Workers(asyncio.get_running_loop(), 1)
    gate = threading.Event()
    waiter = asyncio.ensure_future(workers.run(gate.wait, 10))
    while not workers.unfinished:
        await asyncio.sleep(0)
    waiter.cancel()
    gate.set()
    await workers.drain()
    assert waiter.cancelled()
    workers.close(wait=True)


def test_a_worker_that_finishes_after_the_loop_is_closed_ends_quietly() -> None:
    loop = asyncio.new_event_loop()
    workers = Workers(loop, 1)
    gate = threading.Event()
    workers.submit(gate.wait, 10, done=lambda _result, _error: None)
    loop.close()
    gate.set()
    workers.close(wait=True)


async def test_few_at_once_leave_workers_for_others() -> None:
    workers = Workers(asyncio.get_running_loop(), 4)
    few = FewAtOnce(workers, 2)
    gate = threading.Event()
    running: list[int] = []

    def heavy(number: int) -> int:
        running.append(number)
        gate.wait(10)
        return number

    tasks = [asyncio.ensure_future(few.run(heavy, number)) for number in range(5)]
    while len(running) < 2:
        await asyncio.sleep(0)
    assert await workers.run(pow, 2, 3) == 8
    assert sorted(running) == [0, 1]
    assert workers.unfinished == 2
    gate.set()
    assert await asyncio.gather(*tasks) == [0, 1, 2, 3, 4]
    workers.close(wait=True)


async def test_few_at_once_let_the_next_go_when_one_fails() -> None:
    workers = Workers(asyncio.get_running_loop(), 2)
    few = FewAtOnce(workers, 1)
    with pytest.raises(ZeroDivisionError):
        await few.run(divmod, 1, 0)
    assert await few.run(pow, 2, 3) == 8
    workers.close(wait=True)
