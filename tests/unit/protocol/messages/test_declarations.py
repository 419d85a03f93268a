"""What every declaration has to hold to, whatever its API."""

import re

import pytest

from protocol.schema.fields import NONE, parse_versions
from protocol.schema.message import REQUESTS, RESPONSES, Message, served_versions
from tests.support.message_values import declared

PYTHON_TYPES = {
    "boolean": "bool",
    "float64": "float",
    "uuid": "bytes",
    "string": "str",
    "bytes": "bytes",
}


def structs_of(cls: type[Message]) -> set[type[Message]]:
    found = {cls}
    for field in cls.__fields__:
        if isinstance(field.of, type):
            found |= structs_of(field.of)
    return found


STRUCTS = sorted(
    set().union(*(structs_of(message) for message in declared())),
    key=lambda cls: (cls.__module__, cls.__name__),
)


def shown(annotation: object) -> str:
    text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return re.sub(
        r"\b(?:[a-z_]+\.)+([A-Z])", r"\1", str(annotation) if "[" in str(annotation) else text
    )


def expected_annotation(cls: type[Message], name: str) -> str:
    (field,) = [field for field in cls.__fields__ if field.name == name]
    if field.kind == "array":
        item = field.of if isinstance(field.of, str) else field.of.__name__
        text = f"list[{PYTHON_TYPES.get(item, 'int' if isinstance(field.of, str) else item)}]"
    elif field.kind == "struct":
        text = field.of.__name__
    else:
        text = PYTHON_TYPES.get(field.kind, "int")
    absent = field.nullable != NONE or (field.kind == "struct" and field.tag is not None)
    return f"{text} | None" if absent else text


@pytest.mark.parametrize("cls", STRUCTS, ids=lambda cls: cls.__name__)
def test_annotations_say_what_the_fields_hold(cls: type[Message]) -> None:
    for field in cls.__fields__:
        if field.kind == "records":
            continue
        assert shown(cls.__annotations__[field.name]) == expected_annotation(cls, field.name)


@pytest.mark.parametrize("cls", STRUCTS, ids=lambda cls: cls.__name__)
def test_tags_are_unique_and_flexible_only(cls: type[Message]) -> None:
    tags = [field.tag for field in cls.__fields__ if field.tag is not None]
    assert sorted(tags) == list(range(len(tags)))


@pytest.mark.parametrize("message", declared(), ids=lambda cls: cls.__name__)
def test_tagged_fields_begin_with_the_flexible_versions_or_later(message: type[Message]) -> None:
    for cls in structs_of(message):
        for field in cls.__fields__:
            if field.tag is not None:
                assert message.first_flexible is not None
                assert parse_versions(field.versions).start >= message.first_flexible


def test_requests_and_responses_come_in_pairs_of_the_same_versions() -> None:
    assert set(REQUESTS) == set(RESPONSES)
    for key, request in REQUESTS.items():
        assert request.valid_versions == RESPONSES[key].valid_versions
        assert request.first_flexible == RESPONSES[key].first_flexible


def test_the_versions_declared_are_those_of_kafka_4_3() -> None:
    assert {int(key): served_versions(key) for key in REQUESTS} == {
        0: (3, 13, 0),
        1: (4, 18, 4),
        2: (1, 11, 1),
        3: (0, 13, 0),
        8: (2, 10, 2),
        9: (1, 10, 1),
        10: (0, 6, 0),
        11: (0, 9, 0),
        12: (0, 4, 0),
        13: (0, 5, 0),
        14: (0, 5, 0),
        15: (0, 6, 0),
        16: (0, 5, 0),
        18: (0, 4, 0),
        19: (2, 7, 2),
        20: (1, 6, 1),
        21: (0, 2, 0),
        22: (0, 5, 0),
        23: (2, 4, 2),
        24: (0, 5, 0),
        25: (0, 4, 0),
        26: (0, 5, 0),
        27: (1, 2, 1),
        28: (0, 5, 0),
        32: (1, 4, 1),
        33: (0, 2, 0),
        34: (1, 2, 1),
        35: (1, 5, 1),
        37: (0, 3, 0),
        42: (0, 2, 0),
        43: (0, 2, 0),
        44: (0, 1, 0),
        45: (0, 1, 0),
        46: (0, 0, 0),
        47: (0, 0, 0),
        55: (0, 2, 0),
        57: (0, 2, 0),
        60: (0, 2, 0),
        61: (0, 0, 0),
        64: (0, 0, 0),
        65: (0, 0, 0),
        66: (0, 2, 0),
        68: (0, 1, 0),
        69: (0, 1, 0),
        71: (0, 0, 0),
        72: (0, 0, 0),
        74: (0, 1, 0),
        75: (0, 0, 0),
    }
    assert served_versions(4) is None
