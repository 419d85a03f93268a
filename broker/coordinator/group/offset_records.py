"""The bytes of committed offsets, written and read without the generic codec.

A commit of fifty partitions is fifty records, and a start may replay millions, so both sides go
straight to the bytes. Those are what `protocol.internal.consumer_offsets` declares:

```text
key    i16 1 │ group: i16 length, UTF-8 │ topic: i16 length, UTF-8 │ i32 partition
       └──────────────────── prefix, one for each topic ─────────┘
value  i16 4 │ i64 offset │ i32 leader epoch │ metadata: varint length + 1, UTF-8
       │ i64 commit time (ms) │ tags: 01 00 10 and 16 bytes of topic id, or 00
```
Version 4 is what Kafka 4.3 writes; version 1, with the time of its expiry in place of leader epoch
and id, is written where an old client asked for a retention of its own. All versions are read.
Source: GroupCoordinatorRecordHelpers.newOffsetCommitRecord, OffsetAndMetadata (4.3).
"""

import struct
from struct import Struct
from typing import Final, NamedTuple

from protocol.internal.consumer_offsets import RECORDS, OffsetCommitValue
from protocol.internal.coordinator_record import UndecodableRecord, encode_value
from protocol.model import NO_LEADER_EPOCH, ZERO_TOPIC_ID
from protocol.schema.primitives import write_string_length

NEVER: Final = -1
"""The expiry of an offset that only the broker's retention ends."""
PARTITION: Final = Struct(">i")
_LENGTH: Final = Struct(">h")
_VERSION: Final = Struct(">h")
_HEAD: Final = Struct(">hqi")
_TIME: Final = Struct(">q")
_WITHOUT_METADATA: Final = Struct(">hqiBq")
_WRITTEN: Final = 4
_KEY_VERSION: Final = 1
_HIGHEST_VALUE_VERSION: Final = 4
_SMALLEST_VALUE: Final = 20
_WITH_EXPIRY: Final = 1
_NO_TAGS: Final = b"\x00"
_TOPIC_ID_TAG: Final = b"\x01\x00\x10"


class CommittedOffset(NamedTuple):
    """The next offset a group will read, as somebody said at `committed_ms`.

    `topic_id` is zero where it was not known; `expires_ms` is `NEVER` for all but old commits.
    """

    offset: int
    leader_epoch: int
    metadata: str
    committed_ms: int
    expires_ms: int = NEVER
    topic_id: bytes = ZERO_TOPIC_ID


def key_prefix(group: str, topic: str, version: int = _KEY_VERSION) -> bytes:
    """What the keys of a group's offsets in a topic begin with; the partition follows."""
    group_bytes, topic_bytes = group.encode(), topic.encode()
    return b"".join(
        (
            _VERSION.pack(version),
            _LENGTH.pack(len(group_bytes)),
            group_bytes,
            _LENGTH.pack(len(topic_bytes)),
            topic_bytes,
        )
    )


def parse_prefix(prefix: bytes) -> tuple[str, str]:
    """(group, topic) of such a prefix; UndecodableRecord when it is not one."""
    names = []
    position = _VERSION.size
    try:
        for _ in range(2):
            (length,) = _LENGTH.unpack_from(prefix, position)
            position += _LENGTH.size + length
            names.append(prefix[position - length : position].decode())
    except (struct.error, UnicodeDecodeError) as error:
        raise UndecodableRecord(f"a key of {len(prefix)} bytes: {error}") from None
    if position != len(prefix):
        raise UndecodableRecord("names and length of a key do not agree")
    return names[0], names[1]


def tail_of(topic_id: bytes) -> bytes:
    """How values end for a topic of this id."""
    return _NO_TAGS if topic_id == ZERO_TOPIC_ID else _TOPIC_ID_TAG + topic_id


def encode_offset(
    offset: int, leader_epoch: int, metadata: str, committed_ms: int, tail: bytes
) -> bytes:
    """A value of version 4; `tail` as `tail_of` has it."""
    if not metadata:
        return _WITHOUT_METADATA.pack(_WRITTEN, offset, leader_epoch, 1, committed_ms) + tail
    text = metadata.encode()
    return b"".join(
        (
            _HEAD.pack(_WRITTEN, offset, leader_epoch),
            write_string_length(len(text) + 1),
            text,
            _TIME.pack(committed_ms),
            tail,
        )
    )


def encode_expiring(offset: int, metadata: str, committed_ms: int, expires_ms: int) -> bytes:
    """A value of version 1, which has its own end."""
    value = OffsetCommitValue(
        offset=offset, metadata=metadata, commit_timestamp=committed_ms, expire_timestamp=expires_ms
    )
    encoded = encode_value(value, _WITH_EXPIRY)
    assert encoded is not None
    return encoded


def check_value(value: bytes) -> None:
    """UndecodableRecord for what cannot be a value; what passes may still fail to decode."""
    if len(value) < _SMALLEST_VALUE or value[0] or value[1] > _HIGHEST_VALUE_VERSION:
        raise UndecodableRecord(f"{len(value)} bytes that begin with {value[:2].hex()} no offset")


def offset_of(value: bytes) -> int:
    """The offset alone, which stands in the same place in every version."""
    return int.from_bytes(value[2:10], "big", signed=True)


def decode_offset(value: bytes) -> CommittedOffset:
    """What a value of any version says; UndecodableRecord."""
    if value[1] == _WRITTEN and len(value) > _WITHOUT_METADATA.size and value[14] == 1:
        _, offset, leader_epoch, _, committed_ms = _WITHOUT_METADATA.unpack_from(value)
        tail = value[_WITHOUT_METADATA.size :]
        if tail == _NO_TAGS:
            return CommittedOffset(offset, leader_epoch, "", committed_ms)
        if tail[:3] == _TOPIC_ID_TAG and len(tail) == len(_TOPIC_ID_TAG) + len(ZERO_TOPIC_ID):
            return CommittedOffset(offset, leader_epoch, "", committed_ms, NEVER, tail[3:])
    _, decoded = RECORDS.decode_value(_KEY_VERSION, value)
    assert isinstance(decoded, OffsetCommitValue)
    return CommittedOffset(
        decoded.offset,
        decoded.leader_epoch if decoded.leader_epoch >= 0 else NO_LEADER_EPOCH,
        decoded.metadata,
        decoded.commit_timestamp,
        decoded.expire_timestamp,
        decoded.topic_id,
    )
