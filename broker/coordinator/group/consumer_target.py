"""What each member of a consumer group is to have: votes, input and output of the assignors.

The assignor is the one that most members ask for, else the broker's first; it sees only topics that
exist, and each member's last target, so that it can leave partitions where they are. A static
member that came back under another id has its old target. Assignors are imported when the first
group needs one. Source: TargetAssignmentBuilder (4.3).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from broker.coordinator.group.consumer_group import ConsumerGroup, Member
from broker.coordinator.group.consumer_topics import GroupTopics
from protocol.model import TopicId

if TYPE_CHECKING:
    from broker.coordinator.group.assignors import Targets


def preferred_assignor(members: Sequence[Member], assignors: Sequence[str]) -> str:
    """The name most members vote for."""
    votes = Counter(
        member.subscription.assignor
        for member in members
        if member.subscription.assignor in assignors
    )
    winner = votes.most_common(1)
    return assignors[0] if not winner else str(winner[0][0])


def members_after(
    group: ConsumerGroup, member: Member, replaced: Member | None
) -> Iterator[Member]:
    """All members once this one has come, or has come in another's place."""
    for one in group.members.values():
        if one.member_id != member.member_id and one is not replaced:
            yield one
    yield member


def targets(
    group: ConsumerGroup,
    member: Member,
    replaced: Member | None,
    topics: GroupTopics,
    assignors: Sequence[str],
) -> "Targets":
    """What all members are to have, now that this one wants what it wants."""
    from broker.coordinator.group.assignors import ASSIGNORS, Subscriber

    members = sorted(members_after(group, member, replaced), key=lambda one: one.member_id)
    counts: dict[TopicId, int] = {}
    ids_of: dict[tuple[tuple[str, ...], str], list[TopicId]] = {}
    subscribers = []
    for one in members:
        subscription = one.subscription
        wanted = subscription.topics, subscription.regex
        if wanted not in ids_of:
            found = topics.partition_counts(group.topics_of(subscription))
            counts.update(found)
            ids_of[wanted] = sorted(found)
        last = replaced.member_id if replaced and one is member else one.member_id
        subscribers.append(
            Subscriber(
                one.member_id,
                subscription.instance_id,
                ids_of[wanted],
                group.targets.get(last, {}),
            )
        )
    return ASSIGNORS[preferred_assignor(members, assignors)](subscribers, counts)
