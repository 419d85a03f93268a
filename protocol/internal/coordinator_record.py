"""Records of a coordinator's log: a key that says its type, a value that says its version.

```text
key    type    i16   which kind of record        then the key's fields, never flexible
value  version i16   of that kind's value        then the value's fields; null = tombstone
```
Once called the version of the key, the type is what tells records apart: every kind has a schema of
its own for key and value. Compaction keeps the last record of each key, so a record must stand for
itself. Bytes of anybody's making only ever raise `UndecodableRecord` here.
Source: CoordinatorRecordSerde.java, GroupCoordinatorRecordSerde.java (4.3), KIP-915.
"""

from collections.abc import Mapping
from struct import Struct
from typing import NamedTuple

from protocol.errors import MalformedFrame
from protocol.schema.message import Message
from protocol.schema.primitives import Buffer

_PREFIX = Struct(">h")


class UndecodableRecord(ValueError):
    """Bytes that are no record of this log."""


class UnknownRecordType(UndecodableRecord):
    """A kind of record not known here: Kafka's coordinators log one and pass over it."""

    def __init__(self, record_type: int, name: str | None) -> None:
        named = f" ({name})" if name else ""
        super().__init__(f"record type {record_type}{named} is not read here")
        self.record_type = record_type
        self.name = name


class RecordKind(NamedTuple):
    """The schemas of one record type."""

    key: type[Message]
    value: type[Message]


class CoordinatorRecord(NamedTuple):
    """One record; `value` is None for a tombstone, and `version`, its value's, -1 then."""

    record_type: int
    key: Message
    version: int
    value: Message | None


class RecordKinds:
    """The record types of one internal topic."""

    __slots__ = ("_other_names", "_types", "kinds")

    def __init__(self, kinds: Mapping[int, RecordKind], other_names: Mapping[int, str]) -> None:
        """`other_names` are of types that exist but have no schema here."""
        self.kinds = kinds
        self._other_names = other_names
        self._types: dict[type[Message], int] = {}
        for record_type, kind in kinds.items():
            self._types[kind.key] = record_type

    def name_of(self, record_type: int) -> str | None:
        """What Kafka calls the record type; None for one that nobody has."""
        kind = self.kinds.get(record_type)
        if kind is not None:
            return kind.value.__name__.removesuffix("Value")
        return self._other_names.get(record_type)

    def decode(self, key: Buffer | None, value: Buffer | None) -> CoordinatorRecord:
        """The record of these bytes; UndecodableRecord, UnknownRecordType among them."""
        record_type, decoded = self.decode_key(key)
        version, content = self.decode_value(record_type, value)
        return CoordinatorRecord(record_type, decoded, version, content)

    def decode_key(self, key: Buffer | None) -> tuple[int, Message]:
        """(record type, key); UndecodableRecord as `decode` does."""
        record_type = _prefix(key, "key")
        return record_type, _decode(self._kind(record_type).key, key, record_type)

    def decode_value(self, record_type: int, value: Buffer | None) -> tuple[int, Message | None]:
        """(version, value) of a value under a key of this type; (-1, None) for a tombstone."""
        if value is None:
            return -1, None
        version = _prefix(value, "value")
        schema = self._kind(record_type).value
        if version not in schema.valid_versions:
            raise UndecodableRecord(f"{schema.__name__} has no version {version}")
        return version, _decode(schema, value, version)

    def encode_key(self, key: Message, record_type: int | None = None) -> bytes:
        """The key's bytes; the type follows from its class unless that has several.

        The highest type of a class is the one in use, as with offset commits.
        """
        if record_type is None:
            record_type = self._types[type(key)]
        return _PREFIX.pack(record_type) + key.encode(record_type)

    def encode(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        """(key, value) as they are appended: what `decode` takes."""
        return self.encode_key(record.key, record.record_type), encode_value(
            record.value, record.version
        )

    def _kind(self, record_type: int) -> RecordKind:
        kind = self.kinds.get(record_type)
        if kind is None:
            raise UnknownRecordType(record_type, self._other_names.get(record_type))
        return kind


def encode_value(value: Message | None, version: int) -> bytes | None:
    """A value's bytes in a version; None, a tombstone, for none."""
    return None if value is None else _PREFIX.pack(version) + value.encode(version)


def _prefix(data: Buffer | None, what: str) -> int:
    if data is None or len(data) < _PREFIX.size:
        raise UndecodableRecord(f"a {what} of {len(data or b'')} bytes says no type or version")
    return int(_PREFIX.unpack_from(data)[0])


def _decode(schema: type[Message], data: Buffer | None, version: int) -> Message:
    assert data is not None
    try:
        return schema.decode(data, version, _PREFIX.size)
    except MalformedFrame as error:
        raise UndecodableRecord(str(error)) from None
