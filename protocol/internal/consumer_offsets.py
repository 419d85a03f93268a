"""What group coordinators write to `__consumer_offsets`, as Kafka 3.9 and 4.3 do.

```text
type  key                     value, versions   tombstone means
0, 1  group, topic, partition OffsetCommit 0-4  nothing committed     (0 was written before 0.9)
2     group                   Group 0-4         a classic group is gone
3     group                   epoch             a consumer group is gone
4     group                   partitions        not written since 4.1
5     group, member           subscription      the member is gone
6     group                   assignment epoch  no target
7     group, member           target            the member has no target
8     group, member           current           the member has no partitions
16    group, regex            resolved topics   the regex is nobody's
9-15  share groups            17-23 streams groups              named only
```
3.9 writes offsets in version 3, 4.3 in version 4, which adds the topic id as a tag; version 1
carries an expiry and is still written where a commit asked for one. Groups are written in version 3
by both. A reader must not expect keys in any order: compaction keeps the last of each.
Source: group-coordinator/src/main/resources/common/message (3.9, 4.3), KIP-211, KIP-320, KIP-345,
KIP-848, KIP-915, KIP-1101, KIP-1263.
"""

from typing import Final

from protocol.internal.coordinator_record import RecordKind, RecordKinds
from protocol.schema.fields import array, bytes_, int8, int32, int64, string, struct, uuid
from protocol.schema.message import Message


class OffsetCommitKey(Message, versions="0-1"):
    """Whose progress, in which partition."""

    group: str = string()
    topic: str = string()
    partition: int = int32()


class OffsetCommitValue(Message, versions="0-4", flexible="4+"):
    """The next offset to read, and when that was said (ms)."""

    offset: int = int64()
    leader_epoch: int = int32("3+", default=-1)
    metadata: str = string()
    commit_timestamp: int = int64()
    expire_timestamp: int = int64("1", default=-1)
    topic_id: bytes = uuid("4+", tag=0)


class GroupMetadataKey(Message, versions="2"):
    """A classic group."""

    group: str = string()


class ClassicMember(Message):
    """One member of a classic group; times are ms."""

    member_id: str = string()
    group_instance_id: str | None = string("3+", nullable="3+", default=None)
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout: int = int32("1+", default=-1)
    session_timeout: int = int32()
    subscription: bytes = bytes_()
    assignment: bytes = bytes_()


class GroupMetadataValue(Message, versions="0-4", flexible="4+"):
    """A classic group as its last rebalance left it."""

    protocol_type: str = string()
    generation: int = int32()
    protocol: str | None = string(nullable="0+", default=None)
    leader: str | None = string(nullable="0+", default=None)
    current_state_timestamp: int = int64("2+", default=-1)
    members: list[ClassicMember] = array(ClassicMember)


class ConsumerGroupMetadataKey(Message, versions="3"):
    """A consumer group (KIP-848)."""

    group_id: str = string()


class ConsumerGroupMetadataValue(Message, versions="0", flexible="0+"):
    """Its epoch; the hash is of the topics it subscribes to, 0 where it is not known."""

    epoch: int = int32()
    metadata_hash: int = int64(tag=0)


class ConsumerGroupPartitionMetadataKey(Message, versions="4"):
    """A consumer group."""

    group_id: str = string()


class PartitionRacks(Message):
    """Where the replicas of a partition were."""

    partition: int = int32()
    racks: list[str] = array(string)


class SubscribedTopic(Message):
    """A topic as the group last saw it."""

    topic_id: bytes = uuid()
    topic_name: str = string()
    num_partitions: int = int32()
    partition_metadata: list[PartitionRacks] = array(PartitionRacks)


class ConsumerGroupPartitionMetadataValue(Message, versions="0", flexible="0+"):
    """The topics a consumer group subscribed to, up to 4.0."""

    topics: list[SubscribedTopic] = array(SubscribedTopic)


class ConsumerGroupMemberMetadataKey(Message, versions="5"):
    """A member of a consumer group."""

    group_id: str = string()
    member_id: str = string()


class ClassicProtocol(Message):
    """A protocol that a classic member of a consumer group supports."""

    name: str = string()
    metadata: bytes = bytes_()


class ClassicMemberMetadata(Message):
    """What only a member that speaks the classic protocol has."""

    session_timeout_ms: int = int32()
    supported_protocols: list[ClassicProtocol] = array(ClassicProtocol)


class ConsumerGroupMemberMetadataValue(Message, versions="0", flexible="0+"):
    """Who the member is and what it subscribes to."""

    instance_id: str | None = string(nullable="0+", default=None)
    rack_id: str | None = string(nullable="0+", default=None)
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = array(string)
    subscribed_topic_regex: str | None = string(nullable="0+", default=None)
    rebalance_timeout_ms: int = int32(default=-1)
    server_assignor: str | None = string(nullable="0+", default=None)
    classic_member_metadata: ClassicMemberMetadata | None = struct(
        ClassicMemberMetadata, nullable="0+", tag=0
    )


class ConsumerGroupTargetAssignmentMetadataKey(Message, versions="6"):
    """A consumer group."""

    group_id: str = string()


class ConsumerGroupTargetAssignmentMetadataValue(Message, versions="0", flexible="0+"):
    """The epoch of its newest target, and when that was computed (ms)."""

    assignment_epoch: int = int32()
    assignment_timestamp: int = int64(tag=0)


class ConsumerGroupTargetAssignmentMemberKey(Message, versions="7"):
    """A member of a consumer group."""

    group_id: str = string()
    member_id: str = string()


class TargetPartitions(Message):
    """Partitions of one topic that a member is to have."""

    topic_id: bytes = uuid()
    partitions: list[int] = array(int32)


class ConsumerGroupTargetAssignmentMemberValue(Message, versions="0", flexible="0+"):
    """All that the member is to have."""

    topic_partitions: list[TargetPartitions] = array(TargetPartitions)


class ConsumerGroupCurrentMemberAssignmentKey(Message, versions="8"):
    """A member of a consumer group."""

    group_id: str = string()
    member_id: str = string()


class OwnedPartitions(Message):
    """Partitions of one topic that a member has, and the epochs it got them in (4.3)."""

    topic_id: bytes = uuid()
    partitions: list[int] = array(int32)
    assignment_epochs: list[int] | None = array(int32, nullable="0+", tag=0, default=None)


class ConsumerGroupCurrentMemberAssignmentValue(Message, versions="0", flexible="0+"):
    """Where the member is on the way to its target."""

    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    state: int = int8()
    assigned_partitions: list[OwnedPartitions] = array(OwnedPartitions)
    partitions_pending_revocation: list[OwnedPartitions] = array(OwnedPartitions)


class ConsumerGroupRegularExpressionKey(Message, versions="16"):
    """A regular expression that members of a group subscribe to."""

    group_id: str = string()
    regular_expression: str = string()


class ConsumerGroupRegularExpressionValue(Message, versions="0", flexible="0+"):
    """The topics it stood for, by a version of the metadata, at a time (ms)."""

    topics: list[str] = array(string)
    version: int = int64()
    timestamp: int = int64()


RECORDS: Final = RecordKinds(
    {
        0: RecordKind(OffsetCommitKey, OffsetCommitValue),
        1: RecordKind(OffsetCommitKey, OffsetCommitValue),
        2: RecordKind(GroupMetadataKey, GroupMetadataValue),
        3: RecordKind(ConsumerGroupMetadataKey, ConsumerGroupMetadataValue),
        4: RecordKind(ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue),
        5: RecordKind(ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue),
        6: RecordKind(
            ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue
        ),
        7: RecordKind(
            ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue
        ),
        8: RecordKind(
            ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue
        ),
        16: RecordKind(ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue),
    },
    {
        9: "ShareGroupPartitionMetadata",
        10: "ShareGroupMemberMetadata",
        11: "ShareGroupMetadata",
        12: "ShareGroupTargetAssignmentMetadata",
        13: "ShareGroupTargetAssignmentMember",
        14: "ShareGroupCurrentMemberAssignment",
        15: "ShareGroupStatePartitionMetadata",
        17: "StreamsGroupMetadata",
        18: "StreamsGroupPartitionMetadata",
        19: "StreamsGroupMemberMetadata",
        20: "StreamsGroupTargetAssignmentMetadata",
        21: "StreamsGroupTargetAssignmentMember",
        22: "StreamsGroupCurrentMemberAssignment",
        23: "StreamsGroupTopology",
    },
)
