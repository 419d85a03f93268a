"""Both event loops the broker runs on, for pytest-asyncio to make tests of.

A suite whose conftest imports `pytest_asyncio_loop_factories` runs each of its async tests twice.
"""

import asyncio
from collections.abc import Callable, Mapping

import uvloop


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


def closed_loop() -> asyncio.AbstractEventLoop:
    """For what wants a loop and must not use it: it refuses whatever it is asked for."""
    loop = asyncio.new_event_loop()
    loop.close()
    return loop
