"""Groups as administrators see them: described one by one, and listed.

A classic group that does not exist is Dead. Source: ClassicGroup.asDescribedGroup, GroupMetadata-
Manager.listGroups (4.3), KIP-518, KIP-1043.
"""

from collections.abc import Iterator
from typing import Final

from broker.coordinator.group.classic import ClassicGroups
from broker.coordinator.group.classic_group import (
    CONSUMER,
    ClassicGroup,
    ClassicMember,
    GroupState,
)
from broker.coordinator.group.consumer import ConsumerGroups
from broker.coordinator.group.consumer_reports import described_consumer_group
from broker.coordinator.group.offsets import OffsetStore
from protocol.errors import ErrorCode
from protocol.messages.consumer_group_describe import DescribedGroup as DescribedConsumerGroup
from protocol.messages.describe_groups import (
    FIRST_VERSION_WITH_MESSAGE,
    DescribedGroup,
    DescribedGroupMember,
)
from protocol.messages.list_groups import ListedGroup

CLASSIC: Final = "classic"


class Reports:
    """Looks at a shard's groups; see the module."""

    def __init__(
        self, offsets: OffsetStore, classic: ClassicGroups, consumer: ConsumerGroups
    ) -> None:
        self._offsets = offsets
        self._classic = classic
        self._consumer = consumer

    def describe(self, group_id: str, version: int) -> DescribedGroup:
        """One group with its members."""
        if group_id in self._consumer.groups:
            return no_group(group_id, version, f"Group {group_id} is not a classic group.")
        group = self._classic.groups.get(group_id)
        if group is None:
            if self._offsets.has_offsets(group_id):
                return DescribedGroup(group_id=group_id, group_state=GroupState.EMPTY.value)
            return no_group(group_id, version, f"Group {group_id} not found.")
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

    def describe_consumer(self, group_id: str) -> DescribedConsumerGroup:
        """One group of KIP-848 with its members."""
        consumer = self._consumer
        group = consumer.groups.get(group_id)
        if group is not None:
            return described_consumer_group(group, consumer.topics, consumer.settings.assignors)
        is_classic = group_id in self._classic.groups or self._offsets.has_offsets(group_id)
        return DescribedConsumerGroup(
            group_id=group_id,
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=f"Group {group_id} "
            + ("is not a consumer group." if is_classic else "not found."),
        )

    def listed(self) -> Iterator[ListedGroup]:
        """Every group, those with nothing but offsets too."""
        for consumer in self._consumer.groups.values():
            yield ListedGroup(
                group_id=consumer.group_id,
                protocol_type=CONSUMER,
                group_state=consumer.state.value,
                group_type=CONSUMER,
            )
        for group in self._classic.groups.values():
            yield ListedGroup(
                group_id=group.group_id,
                protocol_type=group.protocol_type or "",
                group_state=group.state.value,
                group_type=CLASSIC,
            )
        for group_id in self._offsets.groups():
            if group_id not in self._classic.groups and group_id not in self._consumer.groups:
                yield ListedGroup(
                    group_id=group_id, group_state=GroupState.EMPTY.value, group_type=CLASSIC
                )


def no_group(group_id: str, version: int, text: str) -> DescribedGroup:
    """What is told of a classic group that does not exist."""
    dead = DescribedGroup(group_id=group_id, group_state=GroupState.DEAD.value)
    if version >= FIRST_VERSION_WITH_MESSAGE:
        dead.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        dead.error_message = text
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
