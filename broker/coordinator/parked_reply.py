"""A client that waits for a coordinator: the shard's `Waiter` in front of a parked reply."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, cast

from broker.context import Parked
from broker.coordinator.shard import Waiter
from protocol.errors import ErrorCode
from protocol.schema.message import Response

A = TypeVar("A")
T = TypeVar("T")


class ParkedReply(Generic[A]):
    """Turns what the coordinator answers, or the code of its refusal, into the response."""

    __slots__ = ("_answered", "_refused", "parked")

    def __init__(
        self, answered: Callable[[A], Response], refused: Callable[[ErrorCode], Response]
    ) -> None:
        self.parked = Parked()
        self._answered = answered
        self._refused = refused

    def answer(self, reply: object) -> None:
        """Respond with what was decided."""
        self.parked.complete(self._answered(cast(A, reply)))

    def refuse(self, code: ErrorCode) -> None:
        """Respond with the code."""
        self.parked.complete(self._refused(code))


def as_it_is(response: Any) -> Response:
    """The answer of a shard that is a response already."""
    return cast(Response, response)


class Gathering(Generic[T]):
    """Answers of several shards, put together in the order they were asked for."""

    def __init__(self, waiter: Waiter, parts: int) -> None:
        """`waiter` is answered with the list of all parts, at once when there are none."""
        self._waiter = waiter
        self._parts: list[T | None] = [None] * parts
        self._missing = parts
        if not parts:
            waiter.answer([])

    def part(self, index: int, refused: Callable[[ErrorCode], T]) -> Waiter:
        """Who waits for one of the parts; `refused` makes a part of a refusal."""
        return _Part(self, index, refused)

    def told(self, index: int, part: T) -> None:
        """One part is there."""
        self._parts[index] = part
        self._missing -= 1
        if not self._missing:
            self._waiter.answer(cast(Sequence[T], self._parts))


class _Part(Generic[T]):
    __slots__ = ("_gathering", "_index", "_refused")

    def __init__(
        self, gathering: Gathering[T], index: int, refused: Callable[[ErrorCode], T]
    ) -> None:
        self._gathering = gathering
        self._index = index
        self._refused = refused

    def answer(self, reply: object) -> None:
        self._gathering.told(self._index, cast(T, reply))

    def refuse(self, code: ErrorCode) -> None:
        self._gathering.told(self._index, self._refused(code))
