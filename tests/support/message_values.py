"""Hypothesis strategies for messages, made from their declarations."""

from typing import Any

from hypothesis import strategies as st

from protocol.schema.describe import import_all
from protocol.schema.fields import Field
from protocol.schema.message import REQUESTS, RESPONSES, Message

INTEGERS = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    **{kind: st.integers(low, high) for kind, (low, high) in INTEGERS.items()},
    "boolean": st.booleans(),
    "float64": st.floats(allow_nan=False),
    "uuid": st.binary(min_size=16, max_size=16),
    "string": st.text(max_size=12) | st.sampled_from(["x" * 126, "y" * 127, "z" * 300]),
    "bytes": st.binary(max_size=20) | st.just(bytes(200)),
    "records": st.binary(max_size=20) | st.just(bytes(70000)),
}


def declared() -> list[type[Message]]:
    """All requests and responses, in the order of their keys."""
    import_all()
    return [message for key in sorted(REQUESTS) for message in (REQUESTS[key], RESPONSES[key])]


def every_version() -> list[Any]:
    """(message, version) for each version of each message."""
    return [(message, version) for message in declared() for version in message.valid_versions]


def version_id(value: object) -> str:
    """How pytest names a parameter of `every_version`."""
    return value.__name__ if isinstance(value, type) else f"v{value}"


def values_of(cls: type[Message], version: int) -> st.SearchStrategy[Any]:
    """Values with anything in the fields that `version` has, and defaults in the others."""
    fields = {
        field.name: _field_values(field, version)
        for field in cls.__fields__
        if field.in_version(version)
    }
    return st.builds(cls, **fields)


def _field_values(field: Field, version: int) -> st.SearchStrategy[Any]:
    values: st.SearchStrategy[Any]
    if field.kind == "array":
        if isinstance(field.of, str):
            values = st.lists(SCALARS[field.of], max_size=3)
        else:
            values = st.lists(values_of(field.of, version), max_size=2)
    elif field.kind == "struct":
        values = values_of(field.of, version)
    else:
        values = SCALARS[field.kind]
    may_be_none = field.nullable_in(version) or (field.kind == "struct" and field.tag is not None)
    return st.none() | values if may_be_none else values
