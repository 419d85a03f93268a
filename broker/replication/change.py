"""What a call on a partition changed, and the one queue through which that wakes anybody.

A change is a small set of bits, so that the produce path makes no object for it. Invariant: nothing
that waits is completed while a partition is being changed. Changes are merged by partition in
`ChangeQueue` and worked off by one drain at the end of the loop's callback, so that completing one
operation, which may append again, never runs inside another (Kafka's ActionQueue). The last stable
offset has no bit of its own: it is bounded by the high watermark and moves only when that does.
"""

from collections.abc import Callable
from typing import Final

from protocol.model import TopicPartition

NOTHING: Final = 0
LOG_END: Final = 1
HIGH_WATERMARK: Final = 2
FLUSHED: Final = 4
LOG_START: Final = 8
LEADERSHIP: Final = 16
STORAGE: Final = 32

PartitionChange = int

# A drain that completes many operations would hold the loop; the rest waits for the next turn.
CHANGES_PER_TURN: Final = 64


class ChangeQueue:
    """Collects changes by partition and hands them to `wake` once the current callback is over.

    `defer` runs a function soon, after the caller has returned (`loop.call_soon`); in tests it is
    a list's `append`. A change made while draining is worked off in a later turn.
    """

    __slots__ = ("_changes", "_defer", "_scheduled", "_wake")

    def __init__(
        self,
        defer: Callable[[Callable[[], None]], object],
        wake: Callable[[TopicPartition, PartitionChange], None],
    ) -> None:
        self._defer = defer
        self._wake = wake
        self._changes: dict[TopicPartition, PartitionChange] = {}
        self._scheduled = False

    def __len__(self) -> int:
        return len(self._changes)

    def add(self, topic_partition: TopicPartition, change: PartitionChange) -> None:
        """Remember a change; those of one partition are merged until the next drain."""
        if change == NOTHING:
            return
        changes = self._changes
        changes[topic_partition] = changes.get(topic_partition, NOTHING) | change
        if not self._scheduled:
            self._scheduled = True
            self._defer(self.drain)

    def drain(self) -> None:
        """Wake what waits on the queued changes, oldest first, a bounded number a turn."""
        changes = self._changes
        batch = list(changes)[:CHANGES_PER_TURN]
        try:
            for topic_partition in batch:
                self._wake(topic_partition, changes.pop(topic_partition))
        finally:
            self._scheduled = bool(changes)
            if changes:
                self._defer(self.drain)
