"""Deletions of records that wait until every live replica has given them up.

With one replica nothing waits. What is not done when the time runs out is REQUEST_TIMED_OUT.
"""

from collections.abc import Callable, Collection, Sequence

from broker.replication.partition import Partition
from broker.replication.purgatory import DelayedOperation
from protocol.errors import ErrorCode, KafkaError
from protocol.model import NO_OFFSET, TopicPartition


class PendingDeletion:
    """One partition's deletion of what lies before `offset`.

    `error` is None while the outcome is not known; `low_watermark` is the answer of a success.
    """

    __slots__ = ("error", "low_watermark", "offset", "partition", "topic_partition")

    def __init__(
        self, topic_partition: TopicPartition, partition: Partition | None, offset: int
    ) -> None:
        self.topic_partition = topic_partition
        self.partition = partition
        self.offset = offset
        self.low_watermark = NO_OFFSET
        self.error: ErrorCode | None = None

    def refuse(self, error: ErrorCode) -> None:
        """The outcome is a failure."""
        self.error = error
        self.low_watermark = NO_OFFSET

    def look(self, live_replicas: Collection[int]) -> bool:
        """Settle the outcome if it can be told; tells whether it is known."""
        if self.error is None and self.partition is not None:
            try:
                low_watermark = self.partition.low_watermark(live_replicas)
            except KafkaError as refusal:
                self.refuse(refusal.code)
                return True
            if low_watermark >= self.offset:
                self.low_watermark = low_watermark
                self.error = ErrorCode.NONE
        return self.error is not None


class DelayedDeleteRecords(DelayedOperation):
    """Waits until the outcome of every deletion is known, then calls `done`."""

    __slots__ = ("_deletions", "_done", "_failed", "_live_replicas")

    def __init__(
        self,
        deletions: Sequence[PendingDeletion],
        live_replicas: Callable[[], Collection[int]],
        done: Callable[[], None],
        failed: Callable[[Exception], None],
    ) -> None:
        super().__init__()
        self._deletions = deletions
        self._live_replicas = live_replicas
        self._done = done
        self._failed = failed

    def topic_partitions(self) -> list[TopicPartition]:
        """What it waits on."""
        return [deletion.topic_partition for deletion in self._deletions]

    def is_due(self, key: TopicPartition | None) -> bool:
        """All outcomes are known; only the partition that changed is looked at again."""
        live = self._live_replicas()
        due = True
        for deletion in self._deletions:
            if deletion.error is None and key in (None, deletion.topic_partition):
                deletion.look(live)
            due = due and deletion.error is not None
        return due

    def on_expiration(self) -> None:
        """Time is up: what has happened by now counts, the rest is a timeout."""
        self.is_due(None)
        for deletion in self._deletions:
            if deletion.error is None:
                deletion.refuse(ErrorCode.REQUEST_TIMED_OUT)

    def on_complete(self) -> None:
        """Tell that the outcomes are known."""
        self._done()

    def on_failure(self, error: Exception) -> None:
        """Answer as for any bug."""
        self._failed(error)
