"""Stands in for the `cython` module where the kernel runs uncompiled and Cython is not installed.

The kernel's decorators change nothing in Python, and its annotations are never evaluated: C types
are named here for the type checker, which knows only that they are whole numbers.
"""

from collections.abc import Callable
from typing import TypeAlias, TypeVar

T = TypeVar("T")

compiled = False
bint: TypeAlias = bool
longlong: TypeAlias = int
ulonglong: TypeAlias = int
Py_ssize_t: TypeAlias = int
void: TypeAlias = None


def _unchanged(decorated: T) -> T:
    """A decorator that decorates nothing."""
    return decorated


def exceptval(*, check: bool) -> Callable[[T], T]:  # noqa: ARG001
    """How a C function tells of exceptions; in Python it raises them."""
    return _unchanged


cclass = cfunc = final = inline = _unchanged
