"""A consumer group of KIP-848 as its records tell of it: three kinds of epochs, members, targets.

```text
group epoch        counts what members want and which topics there are     record 3
assignment epoch   of which group epoch the targets are                    record 6, targets 7
member epoch       to which target a member has come                       record 8
```
A member is on its way to its target: what it is to give up it keeps, pending, until it says that it
has let go, and only then is it anybody else's. So a partition has one owner at any time, the member
in whose current assignment it is, pending or not.

Only the methods here change a group, and only records have them called, live as at replay; a record
stands for itself, since compaction keeps no order between keys. Source: ConsumerGroup,
ConsumerGroupMember, ModernGroup (4.3).
"""

import enum
import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from protocol.internal.consumer_offsets import ClassicMemberMetadata
from protocol.model import TopicId

_logger = logging.getLogger(__name__)

FIRST_EPOCH: Final = 1
"""Of a group that nobody wanted anything of yet; its first target is of epoch 2."""
NO_EPOCH: Final = -1

Target = Mapping[TopicId, Collection[int]]
"""What a member is to have; no topic has an empty set."""
Owned = Mapping[TopicId, Mapping[int, int]]
"""Partitions, with the epoch in which the member got each."""


_NOTHING: Final[Owned] = MappingProxyType({})
_NONE: Final[Mapping[int, int]] = MappingProxyType({})


class MemberState(enum.IntEnum):
    """How far a member is; by the numbers of the records."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127


class GroupState(enum.Enum):
    """What a group is called."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class Subscription(NamedTuple):
    """Who a member is and what it wants: record 5. `topics` are sorted, `regex` "" where none."""

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()
    regex: str = ""
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    classic: ClassicMemberMetadata | None = None


class Current(NamedTuple):
    """Where a member is on the way to its target: record 8."""

    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: Owned = _NOTHING
    revoking: Owned = _NOTHING

    def given_in(self, topic: TopicId, partition: int) -> int | None:
        """In which epoch the member got a partition; None when it does not have it."""
        epoch = self.assigned.get(topic, _NONE).get(partition)
        return self.revoking.get(topic, _NONE).get(partition) if epoch is None else epoch


_GONE: Final = Current(NO_EPOCH, NO_EPOCH)


class Member(NamedTuple):
    """One member."""

    member_id: str
    subscription: Subscription = Subscription()
    current: Current = Current()


class ResolvedRegex(NamedTuple):
    """The topics an expression stood for, by a version of the metadata, at a time (ms)."""

    topics: frozenset[str]
    version: int
    resolved_ms: int


class ConsumerGroup:
    """See the module. `subscriptions_version` grows with whatever may change the topics."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = FIRST_EPOCH
        self.assigned_ms = 0
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}
        self.targets: dict[str, Target] = {}
        self.regexes: dict[str, ResolvedRegex] = {}
        self.topic_subscribers: Counter[str] = Counter()
        self.regex_subscribers: Counter[str] = Counter()
        self.has_partition_metadata = False
        self.subscriptions_version = 0
        self._owners: dict[tuple[TopicId, int], str] = {}

    # Looking.

    @property
    def state(self) -> GroupState:
        """What the group is called; one that left for a while is a member not reconciled."""
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return GroupState.ASSIGNING
        for member in self.members.values():
            if not self.is_reconciled(member.current):
                return GroupState.RECONCILING
        return GroupState.STABLE

    def is_reconciled(self, current: Current) -> bool:
        """Whether a member has come to its target."""
        return current.state is MemberState.STABLE and current.epoch == self.assignment_epoch

    def owner(self, topic: TopicId, partition: int) -> str | None:
        """Who has a partition, even if only until it lets go of it."""
        return self._owners.get((topic, partition))

    def topics_of(self, subscription: Subscription) -> Collection[str]:
        """The names a member subscribes to; an expression not resolved stands for nothing."""
        resolved = self.regexes.get(subscription.regex)
        if resolved is None:
            return subscription.topics
        return resolved.topics.union(subscription.topics)

    def is_subscribed(self, topic: str) -> bool:
        """Whether any member subscribes to a topic."""
        return topic in self.topic_subscribers or any(
            topic in resolved.topics for resolved in self.regexes.values()
        )

    def topics_after(
        self, old: Collection[Subscription], new: Collection[Subscription]
    ) -> set[str]:
        """All topics subscribed to, once these subscriptions have come in place of those."""
        names = self.topic_subscribers.copy()
        regexes = self.regex_subscribers.copy()
        for subscription in old:
            names.subtract(subscription.topics)
            regexes[subscription.regex] -= 1
        for subscription in new:
            names.update(subscription.topics)
            regexes[subscription.regex] += 1
        topics = {name for name, subscribers in names.items() if subscribers > 0}
        for regex, resolved in self.regexes.items():
            if regexes[regex] > 0:
                topics |= resolved.topics
        return topics

    def orphaned_regexes(
        self, old: Collection[Subscription], new: Collection[Subscription]
    ) -> Iterator[str]:
        """Expressions that nobody uses any more, once these came in place of those."""
        left = Counter(one.regex for one in old)
        left.subtract(one.regex for one in new)
        for regex, number in left.items():
            if regex and number > 0 and self.regex_subscribers[regex] <= number:
                yield regex

    # What records tell.

    def set_epoch(self, epoch: int, metadata_hash: int) -> None:
        """The group epoch, and the hash of the topics it is about."""
        self.epoch, self.metadata_hash = epoch, metadata_hash

    def set_assignment_epoch(self, epoch: int, assigned_ms: int) -> None:
        """The targets are of this epoch, computed at that time."""
        self.assignment_epoch, self.assigned_ms = epoch, assigned_ms

    def set_target(self, member_id: str, target: Target | None) -> None:
        """What a member, known or not, is to have; None forgets it."""
        if target is None:
            self.targets.pop(member_id, None)
        else:
            self.targets[member_id] = target

    def set_regex(self, regex: str, resolved: ResolvedRegex | None) -> None:
        """What an expression stands for; None: nobody uses it."""
        self.subscriptions_version += 1
        if resolved is None:
            self.regexes.pop(regex, None)
        else:
            self.regexes[regex] = resolved

    def subscribe(self, member_id: str, subscription: Subscription) -> None:
        """A member comes, or wants something else."""
        known = self.members.get(member_id)
        if known is not None:
            self._unsubscribe(known)
        self.subscriptions_version += 1
        self.topic_subscribers.update(subscription.topics)
        if subscription.regex:
            self.regex_subscribers[subscription.regex] += 1
        if subscription.instance_id is not None:
            self.static_members[subscription.instance_id] = member_id
        current = Current() if known is None else known.current
        self.members[member_id] = Member(member_id, subscription, current)

    def remove(self, member_id: str) -> None:
        """A member is gone with all it had."""
        member = self.members.get(member_id)
        if member is not None:
            self.set_current(member_id, None)
            self.set_target(member_id, None)
            self._unsubscribe(member)
            self.subscriptions_version += 1
            del self.members[member_id]

    def set_current(self, member_id: str, current: Current | None) -> None:
        """A member has come further; with None, it has nothing."""
        member = self.members.get(member_id)
        if member is None:
            if current is None:
                return
            member = Member(member_id)
        self._disown(member)
        member = self.members[member_id] = member._replace(
            current=_GONE if current is None else current
        )
        for place in _places(member.current):
            owner = self._owners.setdefault(place, member_id)
            if owner != member_id:
                _logger.error(
                    "Partition %d of topic %s was given to %s while %s of group %s had it",
                    place[1],
                    place[0].hex(),
                    member_id,
                    owner,
                    self.group_id,
                )
                self._owners[place] = member_id

    def _disown(self, member: Member) -> None:
        for place in _places(member.current):
            if self._owners.get(place) == member.member_id:
                del self._owners[place]

    def _unsubscribe(self, member: Member) -> None:
        subscription = member.subscription
        _take_off(self.topic_subscribers, subscription.topics)
        if subscription.regex:
            _take_off(self.regex_subscribers, (subscription.regex,))
        instance_id = subscription.instance_id
        if instance_id is not None and self.static_members.get(instance_id) == member.member_id:
            del self.static_members[instance_id]


def _places(current: Current) -> Iterator[tuple[TopicId, int]]:
    for owned in (current.assigned, current.revoking):
        for topic, partitions in owned.items():
            for partition in partitions:
                yield topic, partition


def _take_off(counts: Counter[str], keys: Collection[str]) -> None:
    """One less of each; what is not counted any more is not there."""
    for key in keys:
        counts[key] -= 1
        if counts[key] <= 0:
            del counts[key]
