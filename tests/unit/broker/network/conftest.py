"""Tests of the network run on the stock loop and on uvloop."""

from tests.support.loops import pytest_asyncio_loop_factories

__all__ = ["pytest_asyncio_loop_factories"]
