"""Where everything that waits on partitions waits, sorted by what can wake it.

Followers wait for the log end and consumers for the high watermark, so an append that the in-sync
set has not confirmed does not try every consumer. Kafka counts both as its "Fetch" purgatory.
"""

from collections.abc import Callable
from typing import Final

from broker.replication.change import (
    FLUSHED,
    HIGH_WATERMARK,
    LEADERSHIP,
    LOG_END,
    LOG_START,
    STORAGE,
    PartitionChange,
)
from broker.replication.purgatory import Cancellable, Purgatory
from protocol.model import TopicPartition

_WAKES_PRODUCE: Final = HIGH_WATERMARK | FLUSHED | LEADERSHIP | STORAGE
_WAKES_READERS: Final = HIGH_WATERMARK | LEADERSHIP | STORAGE
_WAKES_FOLLOWERS: Final = LOG_END | LEADERSHIP | STORAGE
_WAKES_DELETIONS: Final = LOG_START | LEADERSHIP | STORAGE


class Purgatories:
    """The waiting appends, fetches and deletions of one broker."""

    __slots__ = ("deletions", "followers", "produce", "readers")

    def __init__(self, after: Callable[[int, Callable[[], None]], Cancellable]) -> None:
        self.produce = Purgatory("Produce", after)
        self.readers = Purgatory("Fetch", after)
        self.followers = Purgatory("Fetch", after)
        self.deletions = Purgatory("DeleteRecords", after)

    @property
    def empty(self) -> bool:
        """Nothing waits, so no change can be of interest."""
        return not (
            self.readers.size or self.produce.size or self.followers.size or self.deletions.size
        )

    def sizes(self) -> dict[str, int]:
        """How many operations wait, by Kafka's name of the purgatory."""
        return {
            "Produce": self.produce.size,
            "Fetch": self.readers.size + self.followers.size,
            "DeleteRecords": self.deletions.size,
        }

    def wake(self, topic_partition: TopicPartition, change: PartitionChange) -> None:
        """Complete what waited for this change."""
        if change & _WAKES_PRODUCE:
            self.produce.wake(topic_partition)
        if change & _WAKES_READERS:
            self.readers.wake(topic_partition)
        if change & _WAKES_FOLLOWERS:
            self.followers.wake(topic_partition)
        if change & _WAKES_DELETIONS:
            self.deletions.wake(topic_partition)

    def release_readers(self) -> None:
        """Answer who waits for something to happen: the broker is going down.

        Appends go on waiting: what they wait for, an fsync or a replica, is under way.
        """
        for purgatory in (self.readers, self.followers, self.deletions):
            purgatory.close()
