"""Finding the error codes of a response, wherever its declaration has them.

Kafka counts every code of every response, of each partition too, NONE included
(`AbstractResponse.errorCounts`). The places follow from the declared fields, and a straight-line
function that visits just them is put together once a response class, as codecs are:

    def count(message, errors):
        for m1 in message.responses:
            for m2 in m1.partition_responses:
                errors[m2.error_code] += 1
"""

from collections.abc import Callable
from typing import Any

from protocol.schema.message import Message

ErrorCounter = Callable[[Any, dict[int, int]], None]
"""Adds the codes of one response to the counts by code, which must default to 0."""

ERROR_FIELDS = frozenset({"error_code", "partition_error_code"})
"""The latter is AddPartitionsToTxn's word for it."""


def error_counter(response_type: type[Message]) -> ErrorCounter:
    """A function that counts the error codes in responses of this class."""
    body = _lines(response_type, "message", 1) or ["    return"]
    source = "\n".join(["def count(message, errors):", *body])
    namespace: dict[str, ErrorCounter] = {}
    exec(compile(source, f"<error codes of {response_type.__name__}>", "exec"), namespace)
    return namespace["count"]


def _lines(message_type: type[Message], name: str, depth: int) -> list[str]:
    """Statements that count the codes in the message called `name`, indented to `depth`."""
    indent = "    " * depth
    lines = []
    for field in message_type.__fields__:
        place = f"{name}.{field.name}"
        if field.name in ERROR_FIELDS:
            lines.append(f"{indent}errors[{place}] += 1")
        if not (isinstance(field.of, type) and issubclass(field.of, Message)):
            continue
        inner = _lines(field.of, f"m{depth}", depth + 1)
        if inner:
            lines += [f"{indent}for m{depth} in {_items(field, place)}:", *inner]
    return lines


def _items(field: Any, place: str) -> str:
    """What to walk over: a list, or one struct, either of which may be null."""
    if field.kind == "array":
        return f"{place} or ()"
    return f"({place},) if {place} is not None else ()"
