"""Incremental fetch sessions (KIP-227; FetchSession.scala of Kafka 3.9, unchanged in 4.3).

A session remembers what a reader wants and what it was last told, so that a request lists changed
partitions only and a response those with news. Sans-IO: values in, values out, time is passed.

    epoch  0   full request, opens a session (and closes the one it names)
    epoch -1   full request without a session (closes the one it names)
    epoch  n   incremental; n must be the session's next epoch, which wraps from 2^31-1 to 1

Invariants: a session holds each partition once; partitions that gave records move behind the
others, so that no partition starves when the response is full; a response made for an epoch that
is no longer the session's is never sent.
"""

from collections.abc import Callable, Iterable
from typing import Final

from broker.replication.partition_read import PartitionRead
from broker.replication.wanted_partition import UNKNOWN, WantedKey, WantedPartition
from protocol.errors import ErrorCode

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
MAX_EPOCH: Final = 2**31 - 1

Reads = list[tuple[WantedPartition, PartitionRead]]


def next_epoch(epoch: int) -> int:
    """The epoch of the request after this one."""
    return 1 if epoch == MAX_EPOCH else epoch + 1


class FetchSession:
    """What one reader wants, by key, in the order it is read."""

    __slots__ = (
        "created_ms",
        "epoch",
        "evictable_key",
        "is_follower",
        "last_used_ms",
        "partitions",
        "session_id",
        "uses_topic_ids",
    )

    def __init__(
        self, session_id: int, is_follower: bool, uses_topic_ids: bool, now_ms: int
    ) -> None:
        self.session_id = session_id
        self.is_follower = is_follower
        self.uses_topic_ids = uses_topic_ids
        self.created_ms = now_ms
        self.last_used_ms = now_ms
        self.epoch = next_epoch(INITIAL_EPOCH)
        self.partitions: dict[WantedKey, WantedPartition] = {}
        # Kept by the cache: where the session stands in its order of eviction.
        self.evictable_key: EvictableKey | None = None

    def update(
        self, wanted: dict[WantedKey, WantedPartition], forgotten: Iterable[WantedKey]
    ) -> None:
        """Merge an incremental request: added or changed partitions, then those to forget."""
        partitions = self.partitions
        for key, newer in wanted.items():
            known = partitions.get(key)
            if known is None:
                partitions[key] = newer
            else:
                known.adopt(newer)
        for key in forgotten:
            partitions.pop(key, None)

    def news(self, reads: Reads) -> Reads:
        """What the reader has not been told yet; remembers that it is told now."""
        news = []
        served = []
        for wanted, read in reads:
            records = read.records is not None and read.records.nbytes > 0
            if tell(wanted, read) or records:
                news.append((wanted, read))
            if records:
                served.append(wanted)
        for wanted in served:
            self._move_behind(wanted)
        return news

    def _move_behind(self, wanted: WantedPartition) -> None:
        key = self.key(wanted)
        if self.partitions.pop(key, None) is not None:
            self.partitions[key] = wanted

    def key(self, wanted: WantedPartition) -> WantedKey:
        """Under which key this session holds a partition."""
        if self.uses_topic_ids or wanted.topic_partition is None:
            return (wanted.topic_id, wanted.partition)
        return wanted.topic_partition


def tell(wanted: WantedPartition, read: PartitionRead) -> bool:
    """Note what the reader is told besides records; tells whether any of it is new to it."""
    new = (
        wanted.sent_high_watermark != read.high_watermark
        or wanted.sent_log_start_offset != read.log_start_offset
        or read.error != ErrorCode.NONE
        or read.diverging_epoch is not None
    )
    if new:
        # After an error nothing counts as told, so that the recovery is news.
        failed = read.error != ErrorCode.NONE
        wanted.sent_high_watermark = UNKNOWN if failed else read.high_watermark
        wanted.sent_log_start_offset = read.log_start_offset
    return new


# (is follower, partitions, session id): the smallest is evicted first.
EvictableKey = tuple[bool, int, int]


class FetchContext:
    """One fetch request in the light of its session; `finish` makes the response's content."""

    __slots__ = ("wanted",)

    def __init__(self, wanted: list[WantedPartition]) -> None:
        self.wanted = wanted

    def finish(self, reads: Reads) -> tuple[ErrorCode, int, Reads]:
        """Top-level error, session id and the partitions to answer. Here: all, no session."""
        return ErrorCode.NONE, NO_SESSION, reads


class FullFetchContext(FetchContext):
    """A full request that asks for a session, made once the answer is known."""

    __slots__ = ("_open", "_partitions")

    def __init__(
        self,
        partitions: dict[WantedKey, WantedPartition],
        open_session: Callable[[dict[WantedKey, WantedPartition]], int],
    ) -> None:
        super().__init__(list(partitions.values()))
        self._partitions = partitions
        self._open = open_session

    def finish(self, reads: Reads) -> tuple[ErrorCode, int, Reads]:
        """Open the session if the cache has room; everything is answered."""
        for wanted, read in reads:
            tell(wanted, read)
        return ErrorCode.NONE, self._open(self._partitions), reads


class IncrementalFetchContext(FetchContext):
    """A request inside a session."""

    __slots__ = ("_expected_epoch", "_session")

    def __init__(self, session: FetchSession) -> None:
        super().__init__(list(session.partitions.values()))
        self._session = session
        self._expected_epoch = session.epoch

    def finish(self, reads: Reads) -> tuple[ErrorCode, int, Reads]:
        """Answer what is new, unless the session went on without this request."""
        session = self._session
        if session.epoch != self._expected_epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH, session.session_id, []
        return ErrorCode.NONE, session.session_id, session.news(reads)
