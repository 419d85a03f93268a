"""Which brokers hold a new partition.

Kafka's rack-unaware round robin (AdminUtils.assignReplicasToBrokers of 3.9). With brokers 0–4 and
both random starts 0, ten partitions of three replicas are laid out so:

    broker-0  broker-1  broker-2  broker-3  broker-4
    p0        p1        p2        p3        p4        first replica
    p5        p6        p7        p8        p9        first replica
    p4        p0        p1        p2        p3        second replica
    p8        p9        p5        p6        p7        second replica
    p3        p4        p0        p1        p2        third replica
    p7        p8        p9        p5        p6        third replica

Each round of partitions shifts the later replicas by one more, so that the followers of one
broker's partitions are spread over all others.
"""

from collections.abc import Sequence
from typing import Protocol


class Random(Protocol):
    """What is needed of random.Random."""

    def randrange(self, stop: int, /) -> int:
        """A number from 0 to stop, exclusive."""


def place(
    brokers: Sequence[int], partitions: int, replication_factor: int, random: Random
) -> dict[int, tuple[int, ...]]:
    """Replicas of the partitions of a new topic, starting at a random broker."""
    start = random.randrange(len(brokers))
    shift = random.randrange(len(brokers))
    return _round_robin(brokers, range(partitions), replication_factor, start, shift)


def place_more(
    brokers: Sequence[int], existing: dict[int, tuple[int, ...]], count: int
) -> dict[int, tuple[int, ...]]:
    """Replicas of the partitions that grow a topic to `count`, going on where it started.

    brokers are sorted; the replication factor is that of partition 0.
    """
    first = existing[0]
    start = brokers.index(first[0]) if first[0] in brokers else 0
    return _round_robin(brokers, range(len(existing), count), len(first), start, start)


def _round_robin(
    brokers: Sequence[int], partitions: range, replication_factor: int, start: int, shift: int
) -> dict[int, tuple[int, ...]]:
    broker_count = len(brokers)
    assert 0 < replication_factor <= broker_count
    placed = {}
    for partition in partitions:
        if partition > 0 and partition % broker_count == 0:
            shift += 1
        first = (partition + start) % broker_count
        replicas = [brokers[first]]
        for place in range(replication_factor - 1):
            distance = 1 + (shift + place) % (broker_count - 1)
            replicas.append(brokers[(first + distance) % broker_count])
        placed[partition] = tuple(replicas)
    return placed
