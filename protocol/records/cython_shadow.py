"""Stands in for the `cython` module where the kernel runs uncompiled and Cython is not installed.

The kernel's decorators change nothing in Python, and its type annotations are never evaluated.
"""

from collections.abc import Callable
from typing import TypeVar

compiled = False
T = TypeVar("T")


def _unchanged(decorated: T) -> T:
    """A decorator that decorates nothing."""
    return decorated


def exceptval(*, check: bool) -> Callable[[T], T]:  # noqa: ARG001
    """How a C function tells of exceptions; in Python it raises them."""
    return _unchanged


cclass = cfunc = final = inline = _unchanged
