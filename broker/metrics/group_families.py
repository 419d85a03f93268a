"""Groups in numbers: how many in which state, why they rebalanced, and how far behind each is.

A group is shown as long as it has offsets, members or not. Lag is the distance from the committed
offset to the high watermark, and is not shown for partitions that are not hosted here. Offsets are
read from the bytes they are kept as, a group at a time, so that others have their turns between.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from broker.coordinator.group.coordinator import GroupCoordinator
from broker.coordinator.group.offsets import OffsetStore
from broker.coordinator.group.shard import GroupShard
from broker.metrics import declarations as names
from broker.metrics.families import Piece, Sample
from broker.replication.replica_manager import ReplicaManager
from protocol.model import TopicPartition

_STATES: Final = {
    "Stable": names.GROUPS_STABLE,
    "PreparingRebalance": names.GROUPS_PREPARING,
    "CompletingRebalance": names.GROUPS_COMPLETING,
    "Empty": names.GROUPS_EMPTY,
    "Dead": names.GROUPS_DEAD,
}
"""Kafka counts classic groups alone under these names."""


def group_pieces(groups: GroupCoordinator, replicas: ReplicaManager) -> Iterator[Piece]:
    """Everything about groups, each group's own numbers a piece of their own."""
    states: Counter[str] = Counter()
    for shard in list(groups.runtime.shards()):
        states.update(group.state.value for group in shard.classic.groups.values())
    yield Piece(names.GROUPS, [Sample("", {}, sum(states.values()))])
    for state, family in _STATES.items():
        yield Piece(family, [Sample("", {}, states[state])])
    yield Piece(
        names.REBALANCES,
        [
            Sample("", {"reason": reason.value}, count)
            for reason, count in groups.meters.rebalances.items()
        ],
    )
    for shard in list(groups.runtime.shards()):
        yield from _members(shard)
        for group_id in list(shard.offsets.groups()):
            yield from _progress(group_id, shard.offsets, replicas)


def _members(shard: GroupShard) -> Iterator[Piece]:
    for group in list(shard.classic.groups.values()):
        labels = {"consumergroup": group.group_id}
        yield Piece(names.C_GROUP_MEMBERS, [Sample("", labels, len(group.members))])


def _progress(group_id: str, offsets: OffsetStore, replicas: ReplicaManager) -> Iterator[Piece]:
    """Offsets and lag of one group, by partition and in sum by topic."""
    current, behind, current_sums, sums = [], [], [], []
    for topic in list(offsets.topics(group_id)):
        topic_labels = {"consumergroup": group_id, "topic": topic}
        offset_sum = lag_sum = 0
        for partition, offset in offsets.numbers(group_id, topic):
            labels = {**topic_labels, "partition": str(partition)}
            current.append(Sample("", labels, offset))
            offset_sum += offset
            hosted = replicas.partition(TopicPartition(topic, partition))
            if hosted is not None and hosted.log is not None:
                lag = max(0, hosted.log.high_watermark - offset)
                behind.append(Sample("", labels, lag))
                lag_sum += lag
        current_sums.append(Sample("", topic_labels, offset_sum))
        sums.append(Sample("", topic_labels, lag_sum))
    yield Piece(names.C_GROUP_OFFSET, current)
    yield Piece(names.C_GROUP_OFFSET_SUM, current_sums)
    yield Piece(names.C_GROUP_LAG, behind)
    yield Piece(names.C_GROUP_LAG_SUM, sums)
