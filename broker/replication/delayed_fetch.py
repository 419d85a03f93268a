"""Fetches that wait for records: the long poll of consumers and followers.

The operation keeps a running estimate of how many bytes a read would give, from positions, without
touching a file; a wake-up looks again only at the partition that changed. It completes at the
wanted minimum, at any error or truncation, or when its time is up, and then reads again once.
"""

from collections.abc import Callable, Sequence

from broker.replication.fetch_session import Reads
from broker.replication.partition import Partition
from broker.replication.purgatory import DelayedOperation
from broker.replication.wanted_partition import WantedPartition
from protocol.errors import KafkaError
from protocol.model import TopicPartition
from storage.log.results import ReadBound


class FetchParams:
    """What a fetch asks for as a whole; sizes in bytes, `max_wait_ms` from now."""

    __slots__ = ("bound", "leader_only", "max_bytes", "max_wait_ms", "min_bytes", "replica_id")

    def __init__(
        self,
        replica_id: int,
        max_wait_ms: int,
        min_bytes: int,
        max_bytes: int,
        bound: ReadBound,
        leader_only: bool,
    ) -> None:
        self.replica_id = replica_id
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.bound = bound
        self.leader_only = leader_only


class DelayedFetch(DelayedOperation):
    """Waits until `min_bytes` can be read, then reads and hands the reads to `done`."""

    __slots__ = ("_available", "_done", "_failed", "_params", "_read_again", "_sources")

    def __init__(
        self,
        params: FetchParams,
        sources: Sequence[tuple[WantedPartition, Partition]],
        read_again: Callable[[], Reads],
        done: Callable[[Reads], None],
        failed: Callable[[Exception], None],
    ) -> None:
        super().__init__()
        self._params = params
        self._sources = {partition.topic_partition: (w, partition) for w, partition in sources}
        self._available: dict[TopicPartition, int] = {}
        self._read_again = read_again
        self._done = done
        self._failed = failed

    def is_due(self, key: TopicPartition | None) -> bool:
        """Whether enough can be read; a refusal is an answer too."""
        params = self._params
        available = self._available
        for changed in self._sources if key is None else (key,):
            wanted, partition = self._sources[changed]
            try:
                available[changed] = partition.available_bytes(
                    wanted, params.bound, params.leader_only
                )
            except KafkaError:
                return True
        return sum(available.values()) >= params.min_bytes

    def on_complete(self) -> None:
        """Read again and hand over what was found."""
        self._done(self._read_again())

    def on_failure(self, error: Exception) -> None:
        """Answer as for any bug."""
        self._failed(error)
