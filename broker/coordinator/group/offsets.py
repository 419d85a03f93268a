"""The committed offsets of the groups in one partition of `__consumer_offsets`.

    group ─ topic ─ partition ─ (value, offset of its record)        committed
    producer id ─ (group, topic, partition) ─ (value, offset)        pending, until its marker

Values stay the bytes they were written as and are decoded when somebody asks: a start replays
millions of which few are looked at. A pending offset becomes the committed one when its transaction
commits, unless a later record has said something newer. Nothing is known here of members; who may
commit is decided before. Source: OffsetMetadataManager (4.3).
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Final, NamedTuple

from broker.coordinator.group.offset_records import (
    NEVER,
    PARTITION,
    CommittedOffset,
    check_value,
    decode_offset,
    encode_expiring,
    encode_offset,
    key_prefix,
    offset_of,
    parse_prefix,
    tail_of,
)
from broker.coordinator.shard import CoordinatorRecord, Writer
from protocol.internal.coordinator_record import UndecodableRecord

_logger = logging.getLogger(__name__)

_PARTITION_SIZE: Final = PARTITION.size

Stored = tuple[bytes, int]
Place = tuple[str, str, int]
"""(group, topic, partition)"""


class OffsetToCommit(NamedTuple):
    """What a client wants remembered of one partition."""

    partition: int
    offset: int
    leader_epoch: int
    metadata: str


class OffsetStore:
    """See the module. Only `apply` and `apply_marker` change anything."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[str, dict[int, Stored]]] = {}
        # The innermost mappings by the bytes their keys begin with: replay parses a name once.
        self._by_prefix: dict[bytes, dict[int, Stored]] = {}
        self._pending: dict[int, dict[Place, Stored]] = {}
        self._writers: dict[str, dict[tuple[str, int], set[int]]] = {}

    # What records tell.

    def apply(self, record: CoordinatorRecord, offset: int, writer: Writer | None) -> None:
        """An offset was committed, or forgotten; with a writer, when its transaction commits."""
        key, value = record
        if value is not None:
            check_value(value)
        if writer is not None and value is not None:
            self._apply_pending(key, (value, offset), writer.producer_id)
        elif value is not None:
            prefix = key[:-_PARTITION_SIZE]
            partitions = self._by_prefix.get(prefix)
            if partitions is None:
                partitions = self._open(prefix)
            partitions[int.from_bytes(key[-_PARTITION_SIZE:], "big", signed=True)] = (value, offset)
        else:
            self._forget(*_place(key))

    def apply_marker(self, writer: Writer, *, committed: bool) -> None:
        """What the writer's transaction held is committed, or thrown away."""
        pending = self._pending.pop(writer.producer_id, {})
        for place, stored in pending.items():
            self._no_longer_pending(place, writer.producer_id)
            if committed:
                group, topic, partition = place
                partitions = self._open(key_prefix(group, topic))
                newest = partitions.get(partition)
                if newest is None or newest[1] < stored[1]:
                    partitions[partition] = stored

    def _open(self, prefix: bytes) -> dict[int, Stored]:
        group, topic = parse_prefix(prefix)
        partitions = self._groups.setdefault(group, {}).setdefault(topic, {})
        self._by_prefix[prefix] = partitions
        return partitions

    def _forget(self, group: str, topic: str, partition: int) -> None:
        for producer_id in self._writers.get(group, {}).get((topic, partition), set()).copy():
            place = (group, topic, partition)
            self._pending[producer_id].pop(place, None)
            self._no_longer_pending(place, producer_id)
        topics = self._groups.get(group, {})
        partitions = topics.get(topic)
        if partitions is None:
            return
        partitions.pop(partition, None)
        if not partitions:
            del topics[topic]
            for version in (0, 1):
                self._by_prefix.pop(key_prefix(group, topic, version), None)
            if not topics:
                del self._groups[group]

    def _apply_pending(self, key: bytes, stored: Stored, producer_id: int) -> None:
        group, topic, partition = place = _place(key)
        self._pending.setdefault(producer_id, {})[place] = stored
        writers = self._writers.setdefault(group, {})
        writers.setdefault((topic, partition), set()).add(producer_id)

    def _no_longer_pending(self, place: Place, producer_id: int) -> None:
        group, topic, partition = place
        by_partition = self._writers[group]
        writers = by_partition[topic, partition]
        writers.discard(producer_id)
        if not writers:
            del by_partition[topic, partition]
            if not by_partition:
                del self._writers[group]

    # Asking.

    def groups(self) -> Iterable[str]:
        """Every group with an offset, committed or pending, each once."""
        return self._groups.keys() | self._writers.keys()

    def has_offsets(self, group: str) -> bool:
        """Whether something of the group is remembered, or will be if a transaction commits."""
        return group in self._groups or group in self._writers

    def topics(self, group: str) -> Mapping[str, Mapping[int, object]]:
        """The partitions a group has offsets of, by topic; not to be kept."""
        return self._groups.get(group, {})

    def numbers(self, group: str, topic: str) -> list[tuple[int, int]]:
        """(partition, offset committed last) of a topic."""
        partitions = self._groups.get(group, {}).get(topic, {})
        return [(partition, offset_of(stored[0])) for partition, stored in partitions.items()]

    def committed(self, group: str, topic: str, partition: int) -> CommittedOffset | None:
        """The offset committed last; None where none is, or none that can be understood."""
        stored = self._groups.get(group, {}).get(topic, {}).get(partition)
        if stored is None:
            return None
        try:
            return decode_offset(stored[0])
        except UndecodableRecord as error:
            _logger.error(
                "The offset of group %s in %s-%d, record %d, cannot be understood: %s",
                group,
                topic,
                partition,
                stored[1],
                error,
            )
            return None

    def is_pending(self, group: str, topic: str, partition: int) -> bool:
        """Whether an open transaction holds an offset of this partition."""
        return (topic, partition) in self._writers.get(group, ())

    def count(self) -> int:
        """How many offsets are committed."""
        return sum(map(len, self._by_prefix.values()))

    # Deciding: the records that would make it so.

    @staticmethod
    def commit(
        group: str,
        topic: str,
        topic_id: bytes,
        commits: Iterable[OffsetToCommit],
        now_ms: int,
        expires_ms: int = NEVER,
    ) -> list[CoordinatorRecord]:
        """Remember offsets in one topic, whose id is zero where it is not known."""
        prefix = key_prefix(group, topic)
        pack = PARTITION.pack
        if expires_ms != NEVER:
            return [
                CoordinatorRecord(
                    prefix + pack(partition), encode_expiring(offset, metadata, now_ms, expires_ms)
                )
                for partition, offset, _, metadata in commits
            ]
        tail = tail_of(topic_id)
        return [
            CoordinatorRecord(
                prefix + pack(partition), encode_offset(offset, epoch, metadata, now_ms, tail)
            )
            for partition, offset, epoch, metadata in commits
        ]

    def tombstones(self, group: str) -> list[CoordinatorRecord]:
        """Forget everything of a group, open transactions included."""
        committed = (
            (topic, partition)
            for topic, partitions in self._groups.get(group, {}).items()
            for partition in partitions
        )
        pending = self._writers.get(group, ())
        return [tombstone(group, *place) for place in dict.fromkeys((*committed, *pending))]

    def tombstones_of_topic(self, topic: str, limit: int) -> list[CoordinatorRecord]:
        """Forget the offsets of every group in a topic; so many of them at a time."""
        gone = (
            tombstone(group, topic, partition)
            for group, topics in self._groups.items()
            for partition in topics.get(topic, ())
        )
        return list(islice(gone, limit))

    def expired(
        self,
        group: str,
        is_subscribed: Callable[[str], bool],
        has_expired: Callable[[CommittedOffset], bool],
    ) -> tuple[list[CoordinatorRecord], bool]:
        """(tombstones of what has expired, whether nothing is left then)."""
        gone = []
        kept = group in self._writers
        for topic, partitions in self._groups.get(group, {}).items():
            if is_subscribed(topic):
                kept = True
                continue
            for partition in partitions:
                committed = self.committed(group, topic, partition)
                pending = self.is_pending(group, topic, partition)
                if pending or (committed is not None and not has_expired(committed)):
                    kept = True
                else:
                    gone.append(tombstone(group, topic, partition))
        return gone, not kept


def tombstone(group: str, topic: str, partition: int) -> CoordinatorRecord:
    """The record by which an offset is forgotten."""
    return CoordinatorRecord(key_prefix(group, topic) + PARTITION.pack(partition), None)


def _place(key: bytes) -> Place:
    group, topic = parse_prefix(key[:-_PARTITION_SIZE])
    return group, topic, int.from_bytes(key[-_PARTITION_SIZE:], "big", signed=True)
