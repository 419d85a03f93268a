"""kafka-python's definitions, compiled from Kafka's own schemas, agree with ours byte for byte.

Every version that both know, both ways. Its authorized operations are sets of bits, its uuids UUID
objects, and tagged fields that hold their default are left unset: `theirs` translates.
"""

import importlib
import uuid
import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from protocol.messages.api_versions import ApiVersionsResponse
from protocol.schema.fields import Field
from protocol.schema.message import Message
from tests.support.message_values import every_version, values_of, version_id

MODULES = (
    "admin.cluster",
    "admin.configs",
    "admin.groups",
    "admin.topics",
    "admin.transactions",
    "consumer.fetch",
    "consumer.group",
    "consumer.metadata",
    "consumer.offsets",
    "metadata",
    "metadata.find_coordinator",
    "producer.produce",
    "producer.transaction",
)
BITS = {
    "authorized_operations",
    "cluster_authorized_operations",
    "topic_authorized_operations",
}


def known_to_kafka_python() -> dict[str, Any]:
    found: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # It reads resources the old way.
        for name in MODULES:
            found.update(vars(importlib.import_module(f"kafka.protocol.{name}")))
    return found


KAFKA_PYTHON = known_to_kafka_python()
BOTH = [
    (message, version)
    for message, version in every_version()
    if message.__name__ in KAFKA_PYTHON and version <= KAFKA_PYTHON[message.__name__].max_version
]


def theirs(value: Message, cls: Any, version: int) -> Any:
    """A kafka-python object with the same values."""
    fields = {}
    for field in value.__fields__:
        if not field.in_version(version):
            continue
        item = getattr(value, field.name)
        if field.tag is not None and is_default(item, field):
            continue
        if field.name in BITS and "authorized_operations" in cls.fields:
            fields["authorized_operations"] = {bit for bit in range(32) if item >> bit & 1}
        else:
            fields[field.name] = their_value(item, field, cls, version)
    return cls(version=version, **fields)


def is_default(item: Any, field: Field) -> bool:
    return bool(item == ([] if field.makes_list else field.default))


def their_value(item: Any, field: Field, cls: Any, version: int) -> Any:
    if isinstance(item, list) and not isinstance(field.of, str):
        inner = getattr(cls, cls.fields[field.name].type_str)
        return [theirs(one, inner, version) for one in item]
    if isinstance(item, Message):
        return theirs(item, getattr(cls, cls.fields[field.name].type_str), version)
    if field.kind == "uuid":
        return uuid.UUID(bytes=item)
    return item


@pytest.mark.parametrize(("message", "version"), BOTH, ids=version_id)
@settings(max_examples=max(settings().max_examples // 12, 5))
@given(data=st.data())
def test_both_write_the_same_bytes_and_read_each_other(
    message: type[Message], version: int, data: st.DataObject
) -> None:
    value = data.draw(values_of(message, version))
    if isinstance(value, ApiVersionsResponse):
        value.error_code = 0  # With an error, kafka-python reads it in version 0 whatever it is.
    their_class = KAFKA_PYTHON[message.__name__]
    encoded = value.encode(version)
    written = bytes(theirs(value, their_class, version).encode(version=version))
    assert written == encoded
    assert message.decode(written, version) == value
    read = their_class.decode(encoded, version=version)
    read._header = None  # Its decoder leaves the slot unset, its encoder reads it.
    assert bytes(read.encode(version=version)) == encoded


@pytest.mark.parametrize("message", [ConsumerProtocolSubscription, ConsumerProtocolAssignment])
@pytest.mark.parametrize("version", range(4))
@given(data=st.data())
def test_both_write_the_same_consumer_protocol_and_read_each_other(
    message: type[Message], version: int, data: st.DataObject
) -> None:
    value = data.draw(values_of(message, version))
    their_class = KAFKA_PYTHON[message.__name__]
    blob = version.to_bytes(2, "big") + value.encode(version)
    assert bytes(theirs(value, their_class, version).encode()) == blob
    assert bytes(their_class.decode(blob).encode()) == blob


def test_kafka_python_knows_most_of_what_is_declared() -> None:
    assert len(BOTH) > 0.9 * len(every_version())
