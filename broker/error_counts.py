"""Finding the error codes of a response, wherever its declaration has them.

Kafka counts every code of every response, of each partition too, NONE included
(`AbstractResponse.errorCounts`). The places follow from the declared fields: a counter is put
together once a response class and then only visits them.
"""

from collections.abc import Callable
from typing import Any

from protocol.schema.message import Message

ErrorCounter = Callable[[Any, dict[int, int]], None]
"""Adds the codes of one response to the counts by code, which must default to 0."""

ERROR_FIELD = "error_code"


def error_counter(response_type: type[Message]) -> ErrorCounter:
    """A function that counts the error codes in responses of this class."""
    counter = _counter(response_type)
    return counter if counter is not None else _count_nothing


def _counter(message_type: type[Message]) -> ErrorCounter | None:
    has_code = any(field.name == ERROR_FIELD for field in message_type.__fields__)
    own = _count_own if has_code else None
    inner = [
        (field.name, counter)
        for field in message_type.__fields__
        if isinstance(field.of, type)
        and issubclass(field.of, Message)
        and (counter := _counter(field.of)) is not None
    ]
    return _nested(own, inner) if inner else own


def _nested(own: ErrorCounter | None, inner: list[tuple[str, ErrorCounter]]) -> ErrorCounter:
    def count(message: Any, errors: dict[int, int]) -> None:
        if own is not None:
            own(message, errors)
        for name, counter in inner:
            value = getattr(message, name)
            if value.__class__ is list:
                for item in value:
                    counter(item, errors)
            elif value is not None:
                counter(value, errors)

    return count


def _count_own(message: Any, errors: dict[int, int]) -> None:
    errors[message.error_code] += 1


def _count_nothing(message: Any, errors: dict[int, int]) -> None:  # noqa: ARG001 - has none
    return
