"""Records of Kafka's `__cluster_metadata`, as far as a data directory is carried by them.

```text
frame version  uvarint   1 (0 in the very first releases; nothing else differs)
type           uvarint   which record this is
version        uvarint   of its schema, always flexible
body                     the record, to the end of the value
```
Keys are null. Records that nothing here is read from come back as `Skipped` with their type: the
frame is enough to pass over them, whatever a newer Kafka put inside. Controllers write in batches
that Kafka applies one by one; what stands between `BeginTransactionRecord` and its end applies as
a whole or, when aborted or cut off, not at all.
Source: MetadataRecordSerde, AbstractApiMessageSerde and the schemas of Kafka 3.9 and 4.3, KIP-868.
"""

from typing import Final, NamedTuple

from protocol.errors import MalformedFrame
from protocol.schema.fields import (
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    string,
    uint16,
    uuid,
)
from protocol.schema.message import Message
from protocol.schema.primitives import read_varint, write_varint

FRAME_VERSION: Final = 1
UNCHANGED_LEADER: Final = -2
"""Leader of a PartitionChangeRecord that changes something else."""


class BrokerEndpoint(Message):
    """An address of a broker."""

    name: str = string()
    host: str = string()
    port: int = uint16()
    security_protocol: int = int16()


class BrokerFeature(Message):
    """The levels of a feature that a broker has."""

    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


class RegisterBrokerRecord(Message, versions="0-4", flexible="0+"):
    """A broker joined, with the epoch it has until it stops."""

    broker_id: int = int32()
    is_migrating_zk_broker: bool = boolean("2+")
    incarnation_id: bytes = uuid()
    broker_epoch: int = int64()
    end_points: list[BrokerEndpoint] = array(BrokerEndpoint)
    features: list[BrokerFeature] = array(BrokerFeature)
    rack: str | None = string(nullable="0+")
    fenced: bool = boolean(default=True)
    in_controlled_shutdown: bool = boolean("1+")
    log_dirs: list[bytes] = array(uuid, "3+", tag=0)
    cordoned_log_dirs: list[bytes] | None = array(uuid, "4+", nullable="4+", tag=1, default=None)


class TopicRecord(Message, versions="0", flexible="0+"):
    """A topic was created."""

    name: str = string()
    topic_id: bytes = uuid()


class PartitionRecord(Message, versions="0-2", flexible="0+"):
    """A partition was created, or in a snapshot: is so. Version 1: KIP-858, 2: KIP-966."""

    partition_id: int = int32(default=-1)
    topic_id: bytes = uuid()
    replicas: list[int] = array(int32)
    isr: list[int] = array(int32)
    removing_replicas: list[int] = array(int32)
    adding_replicas: list[int] = array(int32)
    leader: int = int32(default=-1)
    leader_recovery_state: int = int8(tag=0)
    leader_epoch: int = int32(default=-1)
    partition_epoch: int = int32(default=-1)
    directories: list[bytes] = array(uuid, "1+")
    eligible_leader_replicas: list[int] | None = array(
        int32, "2+", nullable="2+", tag=1, default=None
    )
    last_known_elr: list[int] | None = array(int32, "2+", nullable="2+", tag=2, default=None)


class PartitionChangeRecord(Message, versions="0-2", flexible="0+"):
    """What changed about a partition; None and UNCHANGED_LEADER: this did not.

    Whenever a leader is named, another one or the same or none, the leader epoch is one more.
    """

    partition_id: int = int32(default=-1)
    topic_id: bytes = uuid()
    isr: list[int] | None = array(int32, nullable="0+", tag=0, default=None)
    leader: int = int32(tag=1, default=UNCHANGED_LEADER)
    replicas: list[int] | None = array(int32, nullable="0+", tag=2, default=None)
    removing_replicas: list[int] | None = array(int32, nullable="0+", tag=3, default=None)
    adding_replicas: list[int] | None = array(int32, nullable="0+", tag=4, default=None)
    leader_recovery_state: int = int8(tag=5, default=-1)
    directories: list[bytes] | None = array(uuid, "1+", nullable="1+", tag=8, default=None)
    eligible_leader_replicas: list[int] | None = array(
        int32, "2+", nullable="2+", tag=6, default=None
    )
    last_known_elr: list[int] | None = array(int32, "2+", nullable="2+", tag=7, default=None)


class ConfigRecord(Message, versions="0", flexible="0+"):
    """A setting of a resource got a value; None takes it away. Types: protocol.model."""

    resource_type: int = int8()
    resource_name: str = string()
    name: str = string()
    value: str | None = string(nullable="0+")


class RemoveTopicRecord(Message, versions="0", flexible="0+"):
    """A topic and its partitions are gone."""

    topic_id: bytes = uuid()


class FeatureLevelRecord(Message, versions="0", flexible="0+"):
    """A feature was finalized; level 0 takes it away."""

    name: str = string()
    feature_level: int = int16()


class ProducerIdsRecord(Message, versions="0", flexible="0+"):
    """A block of producer ids was given out; the next begins at `next_producer_id`."""

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    next_producer_id: int = int64()


class BeginTransactionRecord(Message, versions="0", flexible="0+"):
    """What follows applies with the end of the transaction."""

    name: str | None = string(nullable="0+", tag=0, default=None)


class EndTransactionRecord(Message, versions="0", flexible="0+"):
    """What was collected applies now."""


class AbortTransactionRecord(Message, versions="0", flexible="0+"):
    """What was collected never happened."""

    reason: str | None = string(nullable="0+", tag=0, default=None)


class NoOpRecord(Message, versions="0", flexible="0+"):
    """The controller lives."""


RECORD_TYPES: Final[dict[int, type[Message]]] = {
    0: RegisterBrokerRecord,
    2: TopicRecord,
    3: PartitionRecord,
    4: ConfigRecord,
    5: PartitionChangeRecord,
    9: RemoveTopicRecord,
    12: FeatureLevelRecord,
    15: ProducerIdsRecord,
    20: NoOpRecord,
    23: BeginTransactionRecord,
    24: EndTransactionRecord,
    25: AbortTransactionRecord,
}
TYPE_NUMBERS: Final = {record: number for number, record in RECORD_TYPES.items()}

OTHER_TYPES: Final = {
    1: "UnregisterBrokerRecord",
    7: "FenceBrokerRecord",
    8: "UnfenceBrokerRecord",
    10: "DelegationTokenRecord",
    11: "UserScramCredentialRecord",
    14: "ClientQuotaRecord",
    17: "BrokerRegistrationChangeRecord",
    18: "AccessControlEntryRecord",
    19: "RemoveAccessControlEntryRecord",
    21: "ZkMigrationStateRecord",
    22: "RemoveUserScramCredentialRecord",
    26: "RemoveDelegationTokenRecord",
    27: "RegisterControllerRecord",
    28: "ClearElrRecord",
}
"""Names of record types that are passed over."""


class Skipped(NamedTuple):
    """A record of which only the frame was read."""

    type: int

    @property
    def name(self) -> str:
        """What Kafka calls it, or its number."""
        return OTHER_TYPES.get(self.type, f"record type {self.type}")


def decode_record(value: bytes) -> Message | Skipped:
    """The record in the value of a log record.

    MalformedFrame for what is no frame, and for a record of a type declared here in a version
    that is not: a newer Kafka says something there that must not be passed over.
    """
    try:
        frame_version, position = read_varint(value, 0)
        number, position = read_varint(value, position)
        version, position = read_varint(value, position)
    except IndexError as error:
        raise MalformedFrame(f"{len(value)} bytes hold no frame of a metadata record") from error
    if frame_version > FRAME_VERSION:
        raise MalformedFrame(f"metadata record frame of version {frame_version}")
    record = RECORD_TYPES.get(number)
    if record is None:
        return Skipped(number)
    if version not in record.valid_versions:
        raise MalformedFrame(
            f"{record.__name__} of version {version}; known are up to {record.valid_versions[-1]}"
        )
    return record.decode(value, version, position)


def encode_record(record: Message, version: int) -> bytes:
    """The value of a log record that holds this one."""
    number = TYPE_NUMBERS[type(record)]
    frame = (FRAME_VERSION, number, version)
    return b"".join(map(write_varint, frame)) + record.encode(version)
