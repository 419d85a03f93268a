"""Thousands of starts have much to say; only what fails is of interest, and it says so itself."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture
def quiet() -> Iterator[None]:
    """No log lines while a test explores."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)
