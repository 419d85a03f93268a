"""Consumer groups as administrators see them.

What a member has includes what it is still to let go of; topics that do not exist any more are left
out. Source: ConsumerGroup.asDescribedGroup, ConsumerGroupMember (4.3).
"""

from collections.abc import Collection, Mapping, Sequence

from broker.coordinator.group.consumer_group import ConsumerGroup, Member
from broker.coordinator.group.consumer_target import preferred_assignor
from broker.coordinator.group.consumer_topics import GroupTopics
from protocol.messages import consumer_group_describe as messages
from protocol.messages.consumer_group_describe import DescribedGroup, MemberType
from protocol.model import TopicId


def described_consumer_group(
    group: ConsumerGroup, topics: GroupTopics, assignors: Sequence[str]
) -> DescribedGroup:
    """State, epochs and members."""
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=preferred_assignor(list(group.members.values()), assignors),
        members=[_described(group, member, topics) for member in group.members.values()],
    )


def _described(group: ConsumerGroup, member: Member, topics: GroupTopics) -> messages.Member:
    subscription, current = member.subscription, member.current
    is_classic = subscription.classic is not None
    has: dict[TopicId, list[int]] = {}
    for owned in (current.assigned, current.revoking):
        for topic, partitions in owned.items():
            has.setdefault(topic, []).extend(partitions)
    return messages.Member(
        member_id=member.member_id,
        instance_id=subscription.instance_id,
        rack_id=subscription.rack_id,
        member_epoch=current.epoch,
        client_id=subscription.client_id,
        client_host=subscription.client_host,
        subscribed_topic_names=list(subscription.topics),
        subscribed_topic_regex=subscription.regex,
        assignment=_named(has, topics),
        target_assignment=_named(group.targets.get(member.member_id, {}), topics),
        member_type=MemberType.CLASSIC if is_classic else MemberType.CONSUMER,
    )


def _named(
    partitions: Mapping[TopicId, Collection[int]], topics: GroupTopics
) -> messages.Assignment:
    named = []
    for topic_id, numbers in sorted(partitions.items()):
        name = topics.name(topic_id)
        if name is not None:
            named.append(
                messages.TopicPartitions(
                    topic_id=topic_id, topic_name=name, partitions=sorted(numbers)
                )
            )
    return messages.Assignment(topic_partitions=named)
