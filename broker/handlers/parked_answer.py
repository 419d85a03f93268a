"""A client that waits for what a coordinator says: the waiter that makes a response of it."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from broker.context import HandlerResult, Parked
from protocol.errors import ErrorCode
from protocol.schema.message import Response

R = TypeVar("R", bound=Response)


class ParkedAnswer(Generic[R]):
    """`answered(reply)` and `refused(code)` make the response; one of them is called, once."""

    __slots__ = ("_answered", "_parked", "_refused", "_response")

    def __init__(self, answered: Callable[[Any], R], refused: Callable[[ErrorCode], R]) -> None:
        self._answered = answered
        self._refused = refused
        self._response: R | None = None
        self._parked: Parked | None = None

    def answer(self, reply: object) -> None:
        """What was asked for has been done."""
        self._settle(self._answered(reply))

    def refuse(self, code: ErrorCode) -> None:
        """It has not."""
        self._settle(self._refused(code))

    def _settle(self, response: R) -> None:
        self._response = response
        if self._parked is not None:
            self._parked.complete(response)

    def result(self) -> HandlerResult:
        """What the handler returns: the response if it is there, else a place to wait for it."""
        if self._response is not None:
            return self._response
        self._parked = Parked()
        return self._parked
