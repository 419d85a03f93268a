"""Consumer groups as the records that keep them: one function writes each kind, one reads it.

```text
3  group          epoch, metadata hash      7  group, member  target
5  group, member  subscription              8  group, member  current assignment
6  group          assignment epoch, time    16 group, regex   the topics it stands for
```
Record 4, topics with partition counts, is what brokers before 4.1 knew changes by: it is forgotten
once. Sets are written in order, so that equal states have equal bytes.
Source: GroupCoordinatorRecordHelpers, GroupMetadataManager.replay (4.3).
"""

from collections.abc import Callable, Sequence
from typing import Final

from broker.coordinator.group.consumer_group import (
    ConsumerGroup,
    Current,
    Member,
    MemberState,
    Owned,
    ResolvedRegex,
    Subscription,
    Target,
)
from broker.coordinator.shard import CoordinatorRecord
from protocol.internal.consumer_offsets import (
    RECORDS,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    OwnedPartitions,
    TargetPartitions,
)
from protocol.internal.coordinator_record import UndecodableRecord, encode_value
from protocol.schema.message import Message

EPOCH_TYPE: Final = 3
RECORD_TYPES: Final = frozenset({3, 4, 5, 6, 7, 8, 16})
_STATES: Final = {state.value: state for state in MemberState}

# Writing.


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    """The group epoch, with the hash of the topics it is about."""
    value = ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return _record(ConsumerGroupMetadataKey(group_id=group_id), value)


def subscription_record(
    group_id: str, member_id: str, subscription: Subscription
) -> CoordinatorRecord:
    """What a member wants."""
    key = ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id)
    value = ConsumerGroupMemberMetadataValue(
        instance_id=subscription.instance_id,
        rack_id=subscription.rack_id,
        client_id=subscription.client_id,
        client_host=subscription.client_host,
        subscribed_topic_names=list(subscription.topics),
        subscribed_topic_regex=subscription.regex,
        rebalance_timeout_ms=subscription.rebalance_timeout_ms,
        server_assignor=subscription.assignor,
        classic_member_metadata=subscription.classic,
    )
    return _record(key, value)


def assignment_epoch_record(group_id: str, epoch: int, assigned_ms: int) -> CoordinatorRecord:
    """Of which group epoch the targets are, and when they were computed."""
    key = ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id)
    value = ConsumerGroupTargetAssignmentMetadataValue(
        assignment_epoch=epoch, assignment_timestamp=assigned_ms
    )
    return _record(key, value)


def target_record(group_id: str, member_id: str, target: Target) -> CoordinatorRecord:
    """What a member is to have."""
    key = ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    value = ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=[
            TargetPartitions(topic_id=topic, partitions=sorted(partitions))
            for topic, partitions in sorted(target.items())
        ]
    )
    return _record(key, value)


def current_record(group_id: str, member_id: str, current: Current) -> CoordinatorRecord:
    """Where a member is on the way there."""
    key = ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=current.epoch,
        previous_member_epoch=current.previous_epoch,
        state=current.state,
        assigned_partitions=_encoded(current.assigned),
        partitions_pending_revocation=_encoded(current.revoking),
    )
    return _record(key, value)


def regex_record(group_id: str, regex: str, resolved: ResolvedRegex) -> CoordinatorRecord:
    """What an expression stands for."""
    key = ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex)
    value = ConsumerGroupRegularExpressionValue(
        topics=sorted(resolved.topics), version=resolved.version, timestamp=resolved.resolved_ms
    )
    return _record(key, value)


def regex_tombstone(group_id: str, regex: str) -> CoordinatorRecord:
    """Nobody uses the expression any more."""
    return _record(
        ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex), None
    )


def partition_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    """What an older broker knew of topics is not needed."""
    return _record(ConsumerGroupPartitionMetadataKey(group_id=group_id), None)


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """A member is gone. Kafka loads them in no other order: what it had, was to have, wanted."""
    names = {"group_id": group_id, "member_id": member_id}
    return [
        _record(ConsumerGroupCurrentMemberAssignmentKey(**names), None),
        _record(ConsumerGroupTargetAssignmentMemberKey(**names), None),
        _record(ConsumerGroupMemberMetadataKey(**names), None),
    ]


def group_tombstones(group: ConsumerGroup) -> list[CoordinatorRecord]:
    """A group is gone with all its members; in Kafka's order, for the same reason."""
    group_id = group.group_id
    of_members = [member_tombstones(group_id, member_id) for member_id in group.members]
    currents, targets, subscriptions = zip(*of_members, strict=True) if of_members else ((),) * 3
    return [
        *currents,
        *targets,
        _record(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None),
        *subscriptions,
        *(regex_tombstone(group_id, regex) for regex in group.regexes),
        partition_metadata_tombstone(group_id),
        _record(ConsumerGroupMetadataKey(group_id=group_id), None),
    ]


# Reading.


def group_of_key(key: Message) -> str:
    """Which group a record is about."""
    return str(getattr(key, "group_id"))  # noqa: B009 - all of these keys have one, Message has not


def apply_value(group: ConsumerGroup, key: Message, value: Message) -> None:
    """What a record of any of these kinds tells of its group; UndecodableRecord."""
    _READERS[type(value)](group, key, value)


def apply_tombstone(group: ConsumerGroup, key: Message) -> None:
    """What a record without value takes from its group, the group itself excepted."""
    if isinstance(key, ConsumerGroupMemberMetadataKey):
        group.remove(key.member_id)
    elif isinstance(key, ConsumerGroupTargetAssignmentMemberKey):
        group.set_target(key.member_id, None)
    elif isinstance(key, ConsumerGroupCurrentMemberAssignmentKey):
        group.set_current(key.member_id, None)
    elif isinstance(key, ConsumerGroupTargetAssignmentMetadataKey):
        group.set_assignment_epoch(-1, 0)
    elif isinstance(key, ConsumerGroupRegularExpressionKey):
        group.set_regex(key.regular_expression, None)
    elif isinstance(key, ConsumerGroupPartitionMetadataKey):
        group.has_partition_metadata = False


def _apply_epoch(group: ConsumerGroup, _: Message, value: ConsumerGroupMetadataValue) -> None:
    group.set_epoch(value.epoch, value.metadata_hash)


def _apply_partition_metadata(group: ConsumerGroup, _: Message, __: Message) -> None:
    group.has_partition_metadata = True


def _apply_subscription(
    group: ConsumerGroup,
    key: ConsumerGroupMemberMetadataKey,
    value: ConsumerGroupMemberMetadataValue,
) -> None:
    subscription = Subscription(
        value.instance_id,
        value.rack_id,
        value.client_id,
        value.client_host,
        tuple(sorted(set(value.subscribed_topic_names))),
        value.subscribed_topic_regex or "",
        value.rebalance_timeout_ms,
        value.server_assignor,
        value.classic_member_metadata,
    )
    group.subscribe(key.member_id, subscription)


def _apply_assignment_epoch(
    group: ConsumerGroup, _: Message, value: ConsumerGroupTargetAssignmentMetadataValue
) -> None:
    group.set_assignment_epoch(value.assignment_epoch, value.assignment_timestamp)


def _apply_target(
    group: ConsumerGroup,
    key: ConsumerGroupTargetAssignmentMemberKey,
    value: ConsumerGroupTargetAssignmentMemberValue,
) -> None:
    target = {
        one.topic_id: frozenset(one.partitions) for one in value.topic_partitions if one.partitions
    }
    group.set_target(key.member_id, target)


def _apply_current(
    group: ConsumerGroup,
    key: ConsumerGroupCurrentMemberAssignmentKey,
    value: ConsumerGroupCurrentMemberAssignmentValue,
) -> None:
    current = Current(
        value.member_epoch,
        value.previous_member_epoch,
        _STATES.get(value.state, MemberState.UNKNOWN),
        _decoded(value.assigned_partitions, value.member_epoch),
        _decoded(value.partitions_pending_revocation, value.member_epoch),
    )
    group.set_current(key.member_id, current)


def _apply_regex(
    group: ConsumerGroup,
    key: ConsumerGroupRegularExpressionKey,
    value: ConsumerGroupRegularExpressionValue,
) -> None:
    resolved = ResolvedRegex(frozenset(value.topics), value.version, value.timestamp)
    group.set_regex(key.regular_expression, resolved)


_READERS: Final[dict[type[Message], Callable[..., None]]] = {
    ConsumerGroupMetadataValue: _apply_epoch,
    ConsumerGroupPartitionMetadataValue: _apply_partition_metadata,
    ConsumerGroupMemberMetadataValue: _apply_subscription,
    ConsumerGroupTargetAssignmentMetadataValue: _apply_assignment_epoch,
    ConsumerGroupTargetAssignmentMemberValue: _apply_target,
    ConsumerGroupCurrentMemberAssignmentValue: _apply_current,
    ConsumerGroupRegularExpressionValue: _apply_regex,
}


def _record(key: Message, value: Message | None) -> CoordinatorRecord:
    return CoordinatorRecord(RECORDS.encode_key(key), encode_value(value, 0))


def _encoded(owned: Owned) -> list[OwnedPartitions]:
    return [
        OwnedPartitions(
            topic_id=topic,
            partitions=sorted(partitions),
            assignment_epochs=[partitions[one] for one in sorted(partitions)],
        )
        for topic, partitions in sorted(owned.items())
    ]


def _decoded(owned: Sequence[OwnedPartitions], epoch: int) -> Owned:
    """Before 4.3 no epochs were written: the member's own stands for all."""
    decoded = {}
    for one in owned:
        epochs = one.assignment_epochs
        if epochs is None:
            epochs = [epoch] * len(one.partitions)
        if len(epochs) != len(one.partitions):
            raise UndecodableRecord("a member's partitions and their epochs do not pair up")
        if one.partitions:
            decoded[one.topic_id] = dict(zip(one.partitions, epochs, strict=True))
    return decoded


def replacement_records(
    group_id: str, old: Member, new: Member, target: Target | None
) -> list[CoordinatorRecord]:
    """A static member comes back under another id, and takes over what it had."""
    records = member_tombstones(group_id, old.member_id)
    records.append(subscription_record(group_id, new.member_id, new.subscription))
    records.append(target_record(group_id, new.member_id, target or {}))
    records.append(current_record(group_id, new.member_id, new.current))
    return records
