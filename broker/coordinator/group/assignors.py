"""Which member of a consumer group is to have which partitions: the uniform and the range assignor.

Pure functions from members and partition counts to targets. Every partition of every topic that
somebody subscribes to has exactly one owner, and nobody gets a partition of another topic.

uniform  Totals are even, and a partition stays where it is as long as they can be. Where all
         members subscribe to the same topics, totals differ by one at most, and nobody within its
         share loses anything. Elsewhere balance goes before stickiness, topic by topic: who has
         more than one partition above the least loaded subscriber gives one to it.
range    Each topic is cut into ranges of its own, handed to its subscribers in one order, so that
         members have the same partitions of topics that are partitioned alike. Not sticky.

Neither minds racks. Ties are decided by the order in which members are given.
Source: KIP-848; Kafka 4.3 `UniformHomogeneousAssignmentBuilder`, `RangeAssignor`, and
`UniformHeterogeneousAssignmentBuilder`.
"""

import heapq
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from protocol.model import TopicId

BALANCING_PASSES: Final = 16
"""Topics pull at each other's subscribers; so many rounds, and the best there is by then."""

Partitions = Mapping[TopicId, Collection[int]]
Target = dict[TopicId, set[int]]
Targets = dict[str, Target]
"""What each member is to have; no topic has an empty set, but every member an entry."""


class Subscriber(NamedTuple):
    """A member; `topics` are only those that exist, `partitions` what its last target was."""

    member_id: str
    instance_id: str | None
    topics: Collection[TopicId]
    partitions: Partitions


Assignor = Callable[[Sequence[Subscriber], Mapping[TopicId, int]], Targets]
"""(members, number of partitions of each topic they subscribe to) -> targets."""


def by_range(members: Sequence[Subscriber], partition_counts: Mapping[TopicId, int]) -> Targets:
    """Ranges of each topic, static members first, by instance id; the others by member id."""
    ordered = sorted(members, key=_range_order)
    targets: Targets = {member.member_id: {} for member in ordered}
    for topic, subscribers in _subscribers(ordered).items():
        share, extras = divmod(partition_counts[topic], len(subscribers))
        start = 0
        for rank, index in enumerate(subscribers):
            end = start + share + (rank < extras)
            if end > start:
                targets[ordered[index].member_id][topic] = set(range(start, end))
            start = end
    return targets


def uniform(members: Sequence[Subscriber], partition_counts: Mapping[TopicId, int]) -> Targets:
    """Even totals, and as few moves as that allows."""
    if not members:
        return {}
    topics = set(members[0].topics)
    if all(
        member.topics == members[0].topics or set(member.topics) == topics for member in members
    ):
        return _share_evenly(members, {topic: partition_counts[topic] for topic in sorted(topics)})
    return _Balance(members, partition_counts).targets()


ASSIGNORS: Final[Mapping[str, Assignor]] = {"uniform": uniform, "range": by_range}
"""By the names that `group.consumer.assignors` and members know them by."""


def _range_order(member: Subscriber) -> tuple[bool, str]:
    is_dynamic = member.instance_id is None
    return is_dynamic, member.member_id if member.instance_id is None else member.instance_id


def _subscribers(members: Sequence[Subscriber]) -> dict[TopicId, list[int]]:
    """The places in `members` of each topic's subscribers, in order."""
    found: dict[TopicId, list[int]] = {}
    for index, member in enumerate(members):
        for topic in member.topics:
            found.setdefault(topic, []).append(index)
    return found


def _share_evenly(members: Sequence[Subscriber], counts: Mapping[TopicId, int]) -> Targets:
    """All members subscribe to the topics of `counts`.

    The first members that can fill one partition more than the others' share get it; who cannot
    passes it on, as long as there are members enough to take all that is left over.
    """
    free = _all_partitions(counts)
    share, extras = divmod(sum(counts.values()), len(members))
    targets: Targets = {}
    missing: list[tuple[Target, int]] = []
    for index, member in enumerate(members):
        has_extra = extras > 0
        target, kept = _keep(member, free, share + has_extra)
        targets[member.member_id] = target
        still_to_come = len(members) - index
        if has_extra and kept <= share and still_to_come > extras:
            has_extra = False
        extras -= has_extra
        if kept < share + has_extra:
            missing.append((target, share + has_extra - kept))
    remaining = _in_order(free)
    for target, number in missing:
        for topic, partition in islice(remaining, number):
            target.setdefault(topic, set()).add(partition)
    assert next(remaining, None) is None, "shares add up to all partitions"
    return targets


def _all_partitions(counts: Mapping[TopicId, int]) -> dict[TopicId, set[int]]:
    return {topic: set(range(count)) for topic, count in counts.items()}


def _in_order(free: Mapping[TopicId, set[int]]) -> Iterator[tuple[TopicId, int]]:
    return ((topic, partition) for topic, left in free.items() for partition in sorted(left))


def _keep(member: Subscriber, free: Mapping[TopicId, set[int]], limit: int) -> tuple[Target, int]:
    """Up to `limit` of the member's partitions, taken out of `free`, and how many those are.

    What does not exist any more, or is somebody else's, is not free.
    """
    target: Target = {}
    left = limit
    for topic, partitions in member.partitions.items():
        available = free.get(topic)
        kept = available.intersection(partitions) if available and left else set()
        if available and kept:
            if len(kept) > left:
                kept = set(sorted(kept)[:left])
            available -= kept
            left -= len(kept)
            target[topic] = kept
    return target, limit - left


class _Balance:
    """Members that subscribe to different topics, while their totals are brought together."""

    def __init__(self, members: Sequence[Subscriber], counts: Mapping[TopicId, int]) -> None:
        self._members = members
        self._subscribers = _subscribers(members)
        self._counts = {
            topic: counts[topic] for topic in sorted(self._subscribers, key=self._order(counts))
        }
        self._free = _all_partitions(self._counts)
        self._targets: list[Target] = []
        self._loads: list[int] = []

    def _order(
        self, counts: Mapping[TopicId, int]
    ) -> Callable[[TopicId], tuple[float, int, bytes]]:
        """Topics with the most partitions a subscriber go first, then those of few subscribers."""

        def order(topic: TopicId) -> tuple[float, int, bytes]:
            subscribers = len(self._subscribers[topic])
            return -counts[topic] / subscribers, subscribers, topic

        return order

    def targets(self) -> Targets:
        """What each member is to have."""
        for member in self._members:
            wanted = {topic: self._free[topic] for topic in member.topics}
            target, load = _keep(member, wanted, sum(map(len, wanted.values())))
            self._targets.append(target)
            self._loads.append(load)
        for topic, partitions in self._free.items():
            self._hand_out(topic, sorted(partitions))
        shared = [topic for topic in self._counts if len(self._subscribers[topic]) > 1]
        for _ in range(BALANCING_PASSES):
            if not sum(map(self._level, shared)):
                break
        return {
            member.member_id: target
            for member, target in zip(self._members, self._targets, strict=True)
        }

    def _hand_out(self, topic: TopicId, partitions: list[int]) -> None:
        """Give each of the partitions to the subscriber that has the least by then."""
        least = self._least_loaded(topic)
        for partition in partitions:
            self._give(topic, partition, least[0][1])
            heapq.heapreplace(least, (self._loads[least[0][1]], least[0][1]))

    def _level(self, topic: TopicId) -> int:
        """Move partitions of one topic down to less loaded subscribers; how many moved.

        A move leaves the giver with no less than the taker, so that neither changes sides.
        """
        moved = 0
        least = self._least_loaded(topic)
        most = [
            (-self._loads[index], index)
            for index in self._subscribers[topic]
            if topic in self._targets[index]
        ]
        heapq.heapify(most)
        while most and -most[0][0] - least[0][0] > 1:
            giver, taker = most[0][1], least[0][1]
            self._take_and_give(topic, giver, taker)
            moved += 1
            heapq.heapreplace(least, (self._loads[taker], taker))
            if topic in self._targets[giver]:
                heapq.heapreplace(most, (-self._loads[giver], giver))
            else:
                heapq.heappop(most)
        return moved

    def _least_loaded(self, topic: TopicId) -> list[tuple[int, int]]:
        """A heap of (load, member)."""
        heap = [(self._loads[index], index) for index in self._subscribers[topic]]
        heapq.heapify(heap)
        return heap

    def _take_and_give(self, topic: TopicId, giver: int, taker: int) -> None:
        partitions = self._targets[giver][topic]
        partition = max(partitions)
        partitions.remove(partition)
        if not partitions:
            del self._targets[giver][topic]
        self._loads[giver] -= 1
        self._give(topic, partition, taker)

    def _give(self, topic: TopicId, partition: int, taker: int) -> None:
        self._targets[taker].setdefault(topic, set()).add(partition)
        self._loads[taker] += 1
