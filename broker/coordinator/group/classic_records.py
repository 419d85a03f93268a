"""A classic group as the record that keeps it: what a generation was settled on.

Members are written with their metadata for the protocol chosen and their assignment; what else they
knew is not kept, so that a group read from its record can do that one protocol. A group without
members is written when it is made and when its last member has gone.
Source: GroupCoordinatorRecordHelpers.newGroupMetadataRecord, GroupMetadataManager.replay (4.3).
"""

from collections.abc import Mapping
from typing import Final

from broker.coordinator.group.classic_group import ClassicGroup, ClassicMember, GroupState
from broker.coordinator.shard import CoordinatorRecord
from protocol.internal.consumer_offsets import (
    RECORDS,
    GroupMetadataKey,
    GroupMetadataValue,
)
from protocol.internal.consumer_offsets import ClassicMember as StoredMember
from protocol.internal.coordinator_record import UndecodableRecord, encode_value

GROUP_KEY: Final = 2
_WRITTEN: Final = 3
_NO_TIME: Final = -1


def group_record(group: ClassicGroup, assignments: Mapping[str, bytes]) -> CoordinatorRecord:
    """The group with these assignments, by member id; nothing where there is none.

    Without members it is empty: no protocol, no leader.
    """
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=group.protocol_name,
        leader=group.leader,
        current_state_timestamp=_NO_TIME if group.state_since_ms is None else group.state_since_ms,
        members=[
            StoredMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata(group.protocol_name),
                assignment=assignments.get(member.member_id, b""),
            )
            for member in group.members.values()
        ],
    )
    return CoordinatorRecord(_key(group.group_id), encode_value(value, _WRITTEN))


def new_group_record(group: ClassicGroup) -> CoordinatorRecord:
    """The group as it is made: nothing is settled yet, whoever is about to join."""
    value = GroupMetadataValue(current_state_timestamp=group.state_since_ms or _NO_TIME)
    return CoordinatorRecord(_key(group.group_id), encode_value(value, _WRITTEN))


def group_tombstone(group_id: str) -> CoordinatorRecord:
    """The record by which a classic group is forgotten."""
    return CoordinatorRecord(_key(group_id), None)


def group_of_key(key: bytes) -> str:
    """Whose record this is; UndecodableRecord."""
    _, decoded = RECORDS.decode_key(key)
    assert isinstance(decoded, GroupMetadataKey)
    return decoded.group


def group_of_record(group_id: str, value: bytes) -> ClassicGroup:
    """The group as its record left it: stable, or empty; UndecodableRecord."""
    _, stored = RECORDS.decode_value(GROUP_KEY, value)
    assert isinstance(stored, GroupMetadataValue)
    since_ms = stored.current_state_timestamp
    group = ClassicGroup(group_id, None if since_ms == _NO_TIME else since_ms)
    group.generation = stored.generation
    group.protocol_type = stored.protocol_type or None
    group.protocol_name = stored.protocol
    for member in stored.members:
        if member.member_id in group.members:
            raise UndecodableRecord(f"member {member.member_id} is there twice")
        group.add(_member(member, stored.protocol or ""))
    if stored.members:
        group.state = GroupState.STABLE
        group.leader = stored.leader
    group.note_subscriptions()
    return group


def _member(stored: StoredMember, protocol: str) -> ClassicMember:
    rebalance_ms = stored.rebalance_timeout
    return ClassicMember(
        stored.member_id,
        stored.group_instance_id,
        (stored.client_id, stored.client_host),
        (stored.session_timeout, stored.session_timeout if rebalance_ms < 0 else rebalance_ms),
        ((protocol, stored.subscription),),
        stored.assignment,
    )


def _key(group_id: str) -> bytes:
    return RECORDS.encode_key(GroupMetadataKey(group=group_id))
