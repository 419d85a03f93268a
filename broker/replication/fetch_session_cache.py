"""The bounded set of fetch sessions and who has to make room for whom.

From FetchSessionCache of Kafka 3.9 (4.3 splits it into eight, which only spreads a lock): when all
slots are taken, a session idle longer than the eviction time goes first; failing that, a follower
may displace any consumer's session, smallest first, and a consumer only a strictly smaller
consumer's; sessions of the newcomer's own kind are fair game only when they are older than the
eviction time. Invariant: both orders of eviction hold a session under its `evictable_key` or not
at all.

Beyond Kafka, all sessions together hold no more than `MOST_PARTITIONS`: slots alone would let a
stranger fill the memory with partitions that need not exist. Who would exceed that gets no session,
or loses the one that grew, and goes on with full requests.
"""

import bisect
from collections.abc import Callable
from typing import Final

from broker.replication.fetch_session import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    MAX_EPOCH,
    NO_SESSION,
    EvictableKey,
    FetchContext,
    FetchSession,
    FullFetchContext,
    IncrementalFetchContext,
    next_epoch,
)
from broker.replication.wanted_partition import WantedKey, WantedPartition
from protocol.errors import ErrorCode, KafkaError

EVICTION_MS: Final = 120_000
MOST_PARTITIONS: Final = 200_000
"""Some 70 MB."""


class FetchSessionRequest:
    """The part of a fetch request that sessions are about."""

    __slots__ = ("epoch", "forgotten", "is_follower", "session_id", "uses_topic_ids", "wanted")

    def __init__(
        self,
        session_id: int,
        epoch: int,
        wanted: dict[WantedKey, WantedPartition],
        forgotten: list[WantedKey],
        uses_topic_ids: bool,
        is_follower: bool,
    ) -> None:
        self.session_id = session_id
        self.epoch = epoch
        self.wanted = wanted
        self.forgotten = forgotten
        self.uses_topic_ids = uses_topic_ids
        self.is_follower = is_follower


class FetchSessionCache:
    """Opens, finds, evicts and closes sessions. `random_below(n)` draws from 0..n-1."""

    __slots__ = (
        "_by_all",
        "_by_followers",
        "_last_used",
        "_max_sessions",
        "_random_below",
        "evictions",
        "partitions_cached",
    )

    def __init__(self, max_sessions: int, random_below: Callable[[int], int]) -> None:
        self._max_sessions = max_sessions
        self._random_below = random_below
        self.evictions = 0
        self.partitions_cached = 0
        # Sessions by id, the longest unused first.
        self._last_used: dict[int, FetchSession] = {}
        self._by_all: list[EvictableKey] = []
        self._by_followers: list[EvictableKey] = []

    def __len__(self) -> int:
        return len(self._last_used)

    def begin(self, request: FetchSessionRequest, now_ms: int) -> FetchContext:
        """Find or replace the request's session and say what to read.

        Raises KafkaError for the whole request: FETCH_SESSION_ID_NOT_FOUND,
        INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR.
        """
        if request.epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            return self._begin_full(request, now_ms)
        session = self._last_used.get(request.session_id)
        if session is None:
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.epoch:
            raise KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != request.uses_topic_ids:
            raise KafkaError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        if request.wanted or request.forgotten:
            session.update(request.wanted, request.forgotten)
            if not session.partitions:
                self._remove(session)
                return FetchContext([])
        self._touch(session, now_ms)
        if self.partitions_cached > MOST_PARTITIONS:
            self._remove(session)
            return FetchContext(list(session.partitions.values()))
        session.epoch = next_epoch(session.epoch)
        return IncrementalFetchContext(session)

    def _begin_full(self, request: FetchSessionRequest, now_ms: int) -> FetchContext:
        if request.session_id != NO_SESSION:
            session = self._last_used.get(request.session_id)
            if session is not None:
                self._remove(session)
        if request.epoch == FINAL_EPOCH or not request.wanted:
            return FetchContext(list(request.wanted.values()))

        def open_session(partitions: dict[WantedKey, WantedPartition]) -> int:
            return self._open(partitions, request.is_follower, request.uses_topic_ids, now_ms)

        return FullFetchContext(request.wanted, open_session)

    def _open(
        self,
        partitions: dict[WantedKey, WantedPartition],
        is_follower: bool,
        uses_topic_ids: bool,
        now_ms: int,
    ) -> int:
        if self.partitions_cached + len(partitions) > MOST_PARTITIONS:
            return NO_SESSION
        newcomer = (is_follower, len(partitions), 0)
        if len(self._last_used) >= self._max_sessions and not self._evict_for(newcomer, now_ms):
            return NO_SESSION
        session_id = self._new_id()
        session = FetchSession(session_id, is_follower, uses_topic_ids, now_ms)
        session.partitions = partitions
        self._touch(session, now_ms)
        return session_id

    def _new_id(self) -> int:
        while True:
            session_id = 1 + self._random_below(MAX_EPOCH)
            if session_id not in self._last_used:
                return session_id

    def _evict_for(self, newcomer: EvictableKey, now_ms: int) -> bool:
        oldest = next(iter(self._last_used.values()), None)
        if oldest is None:
            return False
        if now_ms - oldest.last_used_ms <= EVICTION_MS:
            order = self._by_followers if newcomer[0] else self._by_all
            if not order or newcomer < order[0]:
                return False
            oldest = self._last_used[order[0][2]]
        self._remove(oldest)
        self.evictions += 1
        return True

    def _touch(self, session: FetchSession, now_ms: int) -> None:
        session.last_used_ms = now_ms
        self._last_used.pop(session.session_id, None)
        self._last_used[session.session_id] = session
        key = (session.is_follower, len(session.partitions), session.session_id)
        if session.evictable_key != key:
            self._forget_order(session)
            session.evictable_key = key
            self.partitions_cached += key[1]
        is_old = now_ms - session.created_ms > EVICTION_MS
        if is_old or not session.is_follower:
            _insert(self._by_followers, key)
        if is_old:
            _insert(self._by_all, key)

    def _remove(self, session: FetchSession) -> None:
        del self._last_used[session.session_id]
        self._forget_order(session)

    def _forget_order(self, session: FetchSession) -> None:
        key = session.evictable_key
        if key is None:
            return
        self.partitions_cached -= key[1]
        session.evictable_key = None
        for order in (self._by_all, self._by_followers):
            position = bisect.bisect_left(order, key)
            if position < len(order) and order[position] == key:
                del order[position]


def _insert(order: list[EvictableKey], key: EvictableKey) -> None:
    position = bisect.bisect_left(order, key)
    if position == len(order) or order[position] != key:
        order.insert(position, key)
