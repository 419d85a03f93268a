"""Both event loops the broker runs on, for pytest-asyncio to make tests of.

A suite whose conftest imports `pytest_asyncio_loop_factories` runs each of its async tests twice.
"""

import asyncio
from collections.abc import Callable, Mapping

import uvloop


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
