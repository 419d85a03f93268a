"""Who a heartbeat or a commit is from: members by id, instance and epoch, and the refusals.

A received epoch may be one behind, if the member proves by what it has that only our answer was
lost. A static member's place is free once it said that it left for a while.
Source: GroupMetadataManager.throwIf…, ConsumerGroup.validateOffsetCommit (4.3), KIP-1251.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Final

from broker.coordinator.group.consumer_group import ConsumerGroup, Member
from broker.coordinator.group.consumer_reconciliation import Report
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.consumer_group_heartbeat import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_FOR_A_WHILE_EPOCH,
    ConsumerGroupHeartbeatRequest,
)
from protocol.model import TopicId

_logger = logging.getLogger(__name__)

FIRST_COMMIT_VERSION: Final = 9
"""OffsetCommit of members of this kind."""
FIRST_VERSION_WITH_OWN_ID: Final = 1


def check_request(
    request: ConsumerGroupHeartbeatRequest, version: int, assignors: Iterable[str]
) -> None:
    """Refuse what makes no sense, whatever the group is; KafkaError."""
    epoch = request.member_epoch
    needs_id = version >= FIRST_VERSION_WITH_OWN_ID or epoch > 0 or epoch == LEAVE_EPOCH
    faults = [
        (needs_id and not request.member_id.strip(), "MemberId can't be empty."),
        (not request.group_id.strip(), "GroupId can't be empty."),
        (_is_blank(request.instance_id), "InstanceId can't be empty."),
        (_is_blank(request.rack_id), "RackId can't be empty."),
        (epoch < LEAVE_FOR_A_WHILE_EPOCH, "MemberEpoch is invalid."),
        (
            epoch == LEAVE_FOR_A_WHILE_EPOCH and request.instance_id is None,
            "InstanceId can't be null.",
        ),
    ]
    if epoch == JOIN_EPOCH:
        faults += [
            (
                request.rebalance_timeout_ms == -1,
                "RebalanceTimeoutMs must be provided in first request.",
            ),
            (request.topic_partitions != [], "TopicPartitions must be empty when (re-)joining."),
            (
                request.subscribed_topic_names is None and request.subscribed_topic_regex is None,
                "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when "
                "(re-)joining.",
            ),
        ]
    for is_fault, text in faults:
        if is_fault:
            raise KafkaError(ErrorCode.INVALID_REQUEST, text)
    wanted = request.server_assignor
    if wanted is not None and wanted not in assignors:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {wanted} is not supported. "
            f"Supported assignors: {', '.join(assignors)}.",
        )


def check_size(group: ConsumerGroup, member_id: str, max_size: int) -> None:
    """Whether a member may be added; GROUP_MAX_SIZE_REACHED."""
    if len(group.members) >= max_size and member_id not in group.members:
        raise KafkaError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {max_size} members.",
        )


def find_member(
    group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, unique: Callable[[], str]
) -> tuple[Member, Member | None]:
    """The member that heartbeats, and whom it replaces; KafkaError."""
    member_id = request.member_id or unique()
    if request.instance_id is not None:
        return _static_member(group, request, member_id)
    member = group.members.get(member_id)
    if request.member_epoch == JOIN_EPOCH:
        if member is None:
            _logger.info("Member %s joins consumer group %s", member_id, group.group_id)
        return member or Member(member_id), None
    if member is None:
        raise unknown_member(group, member_id)
    _check_epoch(member, request)
    return member, None


def _static_member(
    group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, member_id: str
) -> tuple[Member, Member | None]:
    instance_id = request.instance_id
    assert instance_id is not None
    if request.member_epoch != JOIN_EPOCH:
        member = static_member(group, instance_id, member_id)
        _check_epoch(member, request)
        return member, None
    holder_id = group.static_members.get(instance_id)
    if holder_id is None:
        _logger.info(
            "Static member %s with instance id %s joins consumer group %s",
            member_id,
            instance_id,
            group.group_id,
        )
        return group.members.get(member_id) or Member(member_id), None
    holder = group.members[holder_id]
    if holder.current.epoch != LEAVE_FOR_A_WHILE_EPOCH:
        raise KafkaError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} cannot join the group "
            f"because the instance id is owned by {holder_id} member.",
        )
    _logger.info(
        "Static member with instance id %s is back in consumer group %s as %s, was %s",
        instance_id,
        group.group_id,
        member_id,
        holder_id,
    )
    current = holder.current._replace(epoch=0, previous_epoch=0)
    return Member(member_id, holder.subscription, current), holder


def static_member(group: ConsumerGroup, instance_id: str, member_id: str) -> Member:
    """The holder of an instance id, which has to be this member; KafkaError."""
    holder_id = group.static_members.get(instance_id)
    if holder_id is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if holder_id != member_id:
        raise KafkaError(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member "
            f"{holder_id}.",
        )
    return group.members[holder_id]


def named_member(group: ConsumerGroup, member_id: str, instance_id: str | None) -> Member:
    """Who is to leave; administrators name static members by their instance alone. KafkaError."""
    if instance_id is not None:
        return static_member(
            group, instance_id, member_id or group.static_members.get(instance_id, "")
        )
    member = group.members.get(member_id)
    if member is None:
        raise unknown_member(group, member_id)
    return member


def unknown_member(group: ConsumerGroup, member_id: str) -> KafkaError:
    """It is no member, or not any more."""
    return KafkaError(
        ErrorCode.UNKNOWN_MEMBER_ID,
        f"Member {member_id} is not a member of group {group.group_id}.",
    )


def reported_partitions(request: ConsumerGroupHeartbeatRequest) -> Report | None:
    """What the client says it has; None where it says nothing."""
    if request.topic_partitions is None:
        return None
    reported: dict[TopicId, set[int]] = {}
    for one in request.topic_partitions:
        reported.setdefault(one.topic_id, set()).update(one.partitions)
    return reported


def _check_epoch(member: Member, request: ConsumerGroupHeartbeatRequest) -> None:
    current, received = member.current, request.member_epoch
    if received == current.epoch:
        return
    if received < current.epoch and received == current.previous_epoch:
        reported = reported_partitions(request)
        if reported is not None and all(
            current.assigned.get(topic, {}).keys() >= set(partitions)
            for topic, partitions in reported.items()
        ):
            return
    size = "greater" if received > current.epoch else "smaller"
    raise KafkaError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {size} member epoch ({received}) than the one known by "
        f"the group coordinator ({current.epoch}). The member must abandon all its partitions and "
        "rejoin.",
    )


def check_commit(
    group: ConsumerGroup,
    member_id: str,
    epoch: int,
    partitions: Iterable[tuple[TopicId, int]],
    stale: ErrorCode,
) -> None:
    """Whether a member may commit offsets of these partitions, all or none; KafkaError.

    With its epoch it may commit anything; with an older one, as of its last poll, what it has
    had since then (KIP-1251). Anybody may while there are no members. The session is not touched.
    """
    if epoch < 0 and not group.members:
        return
    member = group.members.get(member_id)
    if member is None:
        raise unknown_member(group, member_id)
    current = member.current
    if epoch == current.epoch:
        return
    if epoch > current.epoch:
        raise KafkaError(stale)
    for topic, partition in partitions:
        given_in = current.given_in(topic, partition)
        if given_in is None or epoch < given_in:
            raise KafkaError(stale)


def check_fetch(group: ConsumerGroup, member_id: str | None, epoch: int) -> None:
    """Whether somebody may ask for the group's offsets in a member's name; KafkaError."""
    if member_id is None and epoch < 0:
        return
    if member_id is None:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    member = group.members.get(member_id)
    if member is None:
        raise unknown_member(group, member_id)
    if epoch != member.current.epoch:
        raise KafkaError(ErrorCode.STALE_MEMBER_EPOCH)


def _is_blank(text: str | None) -> bool:
    return text is not None and not text.strip()
