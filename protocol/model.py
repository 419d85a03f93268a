"""Kafka's small shared values: partitions, topic ids, and the numbers with a special meaning."""

import binascii
import enum
from typing import Final, NamedTuple

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_TIMESTAMP: Final = -1
NO_LEADER_EPOCH: Final = -1
NO_OFFSET: Final = -1
NO_PARTITION_LEADER_EPOCH: Final = -1
NO_LEADER: Final = -1
"""Broker id of the leader of a partition that has none."""

CONSUMER_REPLICA_ID: Final = -1
"""Replica id in a Fetch or ListOffsets of an ordinary client."""

DEBUGGING_REPLICA_ID: Final = -2
"""Replica id that may read a replica that does not lead, up to its log end."""

FUTURE_LOCAL_REPLICA_ID: Final = -3
"""Replica id of a log that moves between directories of one broker."""

ACKS_ALL: Final = -1
AUTHORIZED_OPERATIONS_UNKNOWN: Final = -(2**31)
"""Value of the authorized-operations fields when they were not asked for."""

CONSUMER_OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTION_STATE_TOPIC: Final = "__transaction_state"


class TopicPartition(NamedTuple):
    """A partition by name; equal to the plain tuple and hashed like it."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


TopicId = bytes
"""16 bytes of a UUID, big-endian, as on the wire."""

ZERO_TOPIC_ID: Final[TopicId] = bytes(16)
"""Stands for "no id": a topic older than ids, or one named instead."""

METADATA_TOPIC_ID: Final[TopicId] = bytes(15) + b"\x01"
"""Reserved for Kafka's own metadata log; never given to a topic."""


def topic_id_to_text(topic_id: TopicId) -> str:
    """The 22 characters of URL-safe base64 that Kafka prints and keeps in partition.metadata."""
    text = binascii.b2a_base64(topic_id, newline=False).decode("ascii")
    return text.rstrip("=").replace("+", "-").replace("/", "_")


def topic_id_from_text(text: str) -> TopicId:
    """Inverse of `topic_id_to_text`; ValueError for anything that is not 16 bytes so written."""
    standard = text.replace("-", "+").replace("_", "/")
    try:
        topic_id = binascii.a2b_base64(standard + "=" * (-len(standard) % 4))
    except ValueError as error:
        raise ValueError(f"{text!r} is not a topic id: {error}") from error
    if len(topic_id) != 16 or topic_id_to_text(topic_id) != text:
        raise ValueError(f"{text!r} is not a topic id: 22 characters of base64 are")
    return topic_id


class IsolationLevel(enum.IntEnum):
    """Which records of transactions a reader sees."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class SpecialTimestamp(enum.IntEnum):
    """Timestamps of ListOffsets that ask for a place instead of a time, and the version they need.

    LATEST and EARLIEST: v1; MAX_TIMESTAMP: v7 (KIP-734); EARLIEST_LOCAL: v8 (KIP-405);
    LATEST_TIERED: v9 (KIP-1005); EARLIEST_PENDING_UPLOAD: v11 (KIP-1023).
    """

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5
    EARLIEST_PENDING_UPLOAD = -6


class ResourceType(enum.IntEnum):
    """What a configuration belongs to (DescribeConfigs, AlterConfigs, IncrementalAlterConfigs)."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigSource(enum.IntEnum):
    """Where the effective value of a configuration comes from (DescribeConfigs v1+)."""

    UNKNOWN = 0
    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    DYNAMIC_CLIENT_METRICS = 7
    DYNAMIC_GROUP = 8


class AlterOperation(enum.IntEnum):
    """What IncrementalAlterConfigs does to one key (KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3
