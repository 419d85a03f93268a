"""Stands in for the `cython` module where the kernel runs uncompiled and Cython is not installed.

The kernel's decorators change nothing in Python, and its annotations are never evaluated: C types
are named here for the type checker, which knows only that they are whole numbers. Of those that
arrays are made of it knows nothing, since it cannot read Cython's notation for arrays.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")

compiled = False
bint: TypeAlias = bool
longlong: TypeAlias = int
ulonglong: TypeAlias = Any
uchar: TypeAlias = Any
Py_ssize_t: TypeAlias = int
void: TypeAlias = None


def _unchanged(decorated: T) -> T:
    """A decorator that decorates nothing."""
    return decorated


def exceptval(*, check: bool) -> Callable[[T], T]:  # noqa: ARG001
    """How a C function tells of exceptions; in Python it raises them."""
    return _unchanged


cclass = cfunc = final = inline = _unchanged
