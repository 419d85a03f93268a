"""Groups as administrators see them: described one by one, and listed.

A classic group that does not exist is Dead. Source: ClassicGroup.asDescribedGroup, GroupMetadata-
Manager.listGroups (4.3), KIP-518, KIP-1043.
"""

from collections.abc import Iterator
from typing import Final

from broker.coordinator.group.classic import ClassicGroups
from broker.coordinator.group.classic_group import ClassicGroup, ClassicMember, GroupState
from broker.coordinator.group.offsets import OffsetStore
from protocol.errors import ErrorCode
from protocol.messages.describe_groups import (
    FIRST_VERSION_WITH_MESSAGE,
    DescribedGroup,
    DescribedGroupMember,
)
from protocol.messages.list_groups import ListedGroup

CLASSIC: Final = "classic"


class Reports:
    """Looks at a shard's groups; see the module."""

    def __init__(self, offsets: OffsetStore, classic: ClassicGroups) -> None:
        self._offsets = offsets
        self._classic = classic

    def describe(self, group_id: str, version: int) -> DescribedGroup:
        """One group with its members."""
        group = self._classic.groups.get(group_id)
        if group is None:
            if self._offsets.has_offsets(group_id):
                return DescribedGroup(group_id=group_id, group_state=GroupState.EMPTY.value)
            return no_group(group_id, version)
        is_stable = group.state is GroupState.STABLE
        return DescribedGroup(
            group_id=group_id,
            group_state=group.state.value,
            protocol_type=group.protocol_type or "",
            protocol_data=(group.protocol_name or "") if is_stable else "",
            members=[
                _described(group, member, tells_metadata=is_stable)
                for member in group.members.values()
            ],
        )

    def listed(self) -> Iterator[ListedGroup]:
        """Every group, those with nothing but offsets too."""
        for group in self._classic.groups.values():
            yield ListedGroup(
                group_id=group.group_id,
                protocol_type=group.protocol_type or "",
                group_state=group.state.value,
                group_type=CLASSIC,
            )
        for group_id in self._offsets.groups():
            if group_id not in self._classic.groups:
                yield ListedGroup(
                    group_id=group_id, group_state=GroupState.EMPTY.value, group_type=CLASSIC
                )


def no_group(group_id: str, version: int) -> DescribedGroup:
    """What is told of a classic group that does not exist."""
    dead = DescribedGroup(group_id=group_id, group_state=GroupState.DEAD.value)
    if version >= FIRST_VERSION_WITH_MESSAGE:
        dead.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        dead.error_message = f"Group {group_id} not found."
    return dead


def _described(
    group: ClassicGroup, member: ClassicMember, *, tells_metadata: bool
) -> DescribedGroupMember:
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.metadata(group.protocol_name) if tells_metadata else b"",
        member_assignment=member.assignment,
    )
