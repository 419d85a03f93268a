"""Appends that wait: for the in-sync replicas under acks=all, for the fsync under flush-before-ack.

An append's outcome is known when its partition says so (`Partition.acknowledgement`); the operation
completes when all of a request's outcomes are known. What is not known when the time runs out is
REQUEST_TIMED_OUT; the records stay in the log.
"""

from collections.abc import Callable, Sequence

from broker.replication.partition import Partition
from broker.replication.purgatory import DelayedOperation
from protocol.errors import ErrorCode
from protocol.model import TopicPartition


class PendingAppend:
    """One partition's append: acknowledged once everything before `end_offset` is safe.

    `error` is None while the outcome is not known.
    """

    __slots__ = ("end_offset", "error", "partition")

    def __init__(self, partition: Partition, end_offset: int) -> None:
        self.partition = partition
        self.end_offset = end_offset
        self.error: ErrorCode | None = None


class DelayedProduce(DelayedOperation):
    """Waits until the outcome of every append is known, then hands them to `done`."""

    __slots__ = ("_acks", "_appends", "_done", "_failed")

    def __init__(
        self,
        acks: int,
        appends: Sequence[PendingAppend],
        done: Callable[[Sequence[PendingAppend]], None],
        failed: Callable[[Exception], None],
    ) -> None:
        super().__init__()
        self._acks = acks
        self._appends = appends
        self._done = done
        self._failed = failed

    def topic_partitions(self) -> list[TopicPartition]:
        """What it waits on."""
        return [append.partition.topic_partition for append in self._appends]

    def is_due(self, key: TopicPartition | None) -> bool:
        """All outcomes are known; only the partition that changed is asked again."""
        due = True
        for append in self._appends:
            if append.error is None:
                if key is None or append.partition.topic_partition == key:
                    append.error = append.partition.acknowledgement(append.end_offset, self._acks)
                due = due and append.error is not None
        return due

    def on_expiration(self) -> None:
        """Time is up: what has happened by now counts, the rest is a timeout."""
        self.is_due(None)
        for append in self._appends:
            if append.error is None:
                append.error = ErrorCode.REQUEST_TIMED_OUT

    def on_complete(self) -> None:
        """Hand over the outcomes."""
        self._done(self._appends)

    def on_failure(self, error: Exception) -> None:
        """Answer as for any bug."""
        self._failed(error)
