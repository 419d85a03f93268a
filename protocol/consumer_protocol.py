"""What consumers say to each other through a classic group: the bytes in JoinGroup and SyncGroup.

    | version int16 | fields of that version, never flexible |        group protocol type "consumer"

Members send their subscription with JoinGroup, their leader an assignment for each with SyncGroup;
to the coordinator both are bytes, until a group moves to the consumer protocol of KIP-848. Versions
only add fields at the end, so a newer one is read as the newest known here, and what is left over
is ignored.

v1 the partitions a member owns (KIP-429), v2 the generation in which it got them (KIP-792), v3 its
rack (KIP-881). Assignments stay the same in all versions.
Source: Kafka 4.3 `ConsumerProtocol`, `ConsumerProtocolSubscription`, `ConsumerProtocolAssignment`.
"""

from struct import Struct
from typing import ClassVar, Final, TypeVar

from protocol.errors import MalformedFrame
from protocol.schema.fields import array, bytes_, int32, string
from protocol.schema.message import Message, Request
from protocol.schema.primitives import Buffer

PROTOCOL_TYPE: Final = "consumer"
HIGHEST_VERSION: Final = 3
NO_GENERATION: Final = -1

_VERSION = Struct(">h")


class TopicPartitions(Message):
    """Partitions of one topic."""

    topic: str = string()
    partitions: list[int] = array(int32)


class _Blob(Message):
    """Bytes of a member, as far from being trusted as any request."""

    ignores_trailing_bytes: ClassVar[bool] = True
    item_limit: ClassVar[int | None] = Request.item_limit


class ConsumerProtocolSubscription(_Blob, versions="0-3"):
    """The topics a member wants and the partitions it has."""

    topics: list[str] = array(string)
    user_data: bytes | None = bytes_(nullable="0+", default=None)
    owned_partitions: list[TopicPartitions] = array(TopicPartitions, "1+")
    generation_id: int = int32("2+", default=NO_GENERATION)
    rack_id: str | None = string("3+", nullable="3+", default=None)


class ConsumerProtocolAssignment(_Blob, versions="0-3"):
    """The partitions a member gets."""

    assigned_partitions: list[TopicPartitions] = array(TopicPartitions)
    user_data: bytes | None = bytes_(nullable="0+", default=None)


B = TypeVar("B", bound=_Blob)


def version_of(blob: Buffer) -> int:
    """The version that bytes say they are of; MalformedFrame where it is none."""
    if len(blob) < _VERSION.size:
        raise MalformedFrame(f"{len(blob)} bytes of the consumer protocol say no version")
    version = int(_VERSION.unpack_from(blob)[0])
    if version < 0:
        raise MalformedFrame(f"version {version} of the consumer protocol")
    return version


def decode_subscription(blob: Buffer) -> ConsumerProtocolSubscription:
    """The subscription in a member's metadata; MalformedFrame for anything else."""
    return _decode(ConsumerProtocolSubscription, blob)


def decode_assignment(blob: Buffer) -> ConsumerProtocolAssignment:
    """The assignment of a member; MalformedFrame for anything else, no bytes at all too."""
    return _decode(ConsumerProtocolAssignment, blob)


def encode_subscription(
    subscription: ConsumerProtocolSubscription, version: int = HIGHEST_VERSION
) -> bytes:
    """The bytes of a subscription; the newest version stands for newer ones."""
    return _encode(subscription, version)


def encode_assignment(
    assignment: ConsumerProtocolAssignment, version: int = HIGHEST_VERSION
) -> bytes:
    """The bytes of an assignment; the newest version stands for newer ones."""
    return _encode(assignment, version)


def _decode(schema: type[B], blob: Buffer) -> B:
    return schema.decode(blob, min(version_of(blob), HIGHEST_VERSION), _VERSION.size)


def _encode(message: _Blob, version: int) -> bytes:
    version = min(version, HIGHEST_VERSION)
    return _VERSION.pack(version) + message.encode(version)
