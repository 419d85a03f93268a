"""Sessions are opened, continued, closed, and evicted in Kafka's order."""

from collections.abc import Iterable, Sequence

import pytest

from broker.replication.fetch_session import FetchContext, Reads
from broker.replication.fetch_session_cache import (
    EVICTION_MS,
    MOST_PARTITIONS,
    FetchSessionCache,
    FetchSessionRequest,
)
from broker.replication.partition_read import PartitionRead
from broker.replication.wanted_partition import WantedKey, WantedPartition
from protocol.errors import ErrorCode, KafkaError
from protocol.model import ZERO_TOPIC_ID, TopicPartition


class Counting:
    """Draws 0, 1, 2 …"""

    def __init__(self, *draws: int) -> None:
        self.draws = list(draws)
        self.next = 0

    def __call__(self, below: int) -> int:
        if self.draws:
            return self.draws.pop(0)
        self.next += 1
        return self.next


def wanted(count: int, first: int = 0) -> dict[WantedKey, WantedPartition]:
    return {
        TopicPartition("t", index): WantedPartition(
            TopicPartition("t", index), ZERO_TOPIC_ID, index, 0, 100
        )
        for index in range(first, first + count)
    }


def begin(
    cache: FetchSessionCache,
    session_id: int,
    epoch: int,
    partitions: dict[WantedKey, WantedPartition] | None = None,
    now_ms: int = 0,
    *,
    forgotten: Sequence[WantedKey] = (),
    by_id: bool = False,
    follower: bool = False,
) -> FetchContext:
    request = FetchSessionRequest(
        session_id, epoch, partitions or {}, list(forgotten), by_id, follower
    )
    return cache.begin(request, now_ms)


def answer(context: FetchContext) -> tuple[ErrorCode, int, Reads]:
    reads = [(one, PartitionRead(ErrorCode.NONE, 0, 0, 0)) for one in context.wanted]
    return context.finish(reads)


def open_session(
    cache: FetchSessionCache, count: int, now_ms: int = 0, follower: bool = False
) -> int:
    return answer(begin(cache, 0, 0, wanted(count), now_ms, follower=follower))[1]


@pytest.fixture
def cache() -> FetchSessionCache:
    return FetchSessionCache(3, Counting())


def refused(
    cache: FetchSessionCache, session_id: int, epoch: int, *, by_id: bool = False
) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        begin(cache, session_id, epoch, by_id=by_id)
    return caught.value.code


def test_a_full_request_opens_a_session_whose_next_epoch_is_one(cache: FetchSessionCache) -> None:
    session_id = open_session(cache, 2)
    assert session_id > 0
    context = begin(cache, session_id, 1)
    assert [one.partition for one in context.wanted] == [0, 1]
    error, answered_id, news = answer(context)
    assert (error, answered_id, news) == (ErrorCode.NONE, session_id, [])
    assert begin(cache, session_id, 2) is not None


def test_a_request_of_the_final_epoch_reads_without_a_session_and_closes_the_named_one(
    cache: FetchSessionCache,
) -> None:
    session_id = open_session(cache, 2)
    context = begin(cache, session_id, -1, wanted(1))
    assert answer(context)[1] == 0
    assert len(cache) == 0
    assert refused(cache, session_id, 1) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_full_request_closes_the_session_it_names(cache: FetchSessionCache) -> None:
    first = open_session(cache, 2)
    second = answer(begin(cache, first, 0, wanted(1)))[1]
    assert second != first
    assert len(cache) == 1


def test_a_full_request_for_nothing_opens_no_session(cache: FetchSessionCache) -> None:
    assert answer(begin(cache, 0, 0))[1] == 0
    assert len(cache) == 0


def test_sessions_that_do_not_fit_are_refused(cache: FetchSessionCache) -> None:
    session_id = open_session(cache, 1)
    assert refused(cache, 999, 1) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert refused(cache, session_id, 2) == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert refused(cache, session_id, 1, by_id=True) == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert begin(cache, session_id, 1) is not None


def test_forgetting_everything_closes_the_session(cache: FetchSessionCache) -> None:
    session_id = open_session(cache, 1)
    context = begin(cache, session_id, 1, forgotten=[TopicPartition("t", 0)])
    assert context.wanted == []
    assert answer(context) == (ErrorCode.NONE, 0, [])
    assert len(cache) == 0
    assert cache.partitions_cached == 0


def test_an_id_in_use_is_drawn_again() -> None:
    cache = FetchSessionCache(3, Counting(5, 5, 6))
    assert open_session(cache, 1) == 6
    assert open_session(cache, 1) == 7


def test_a_full_cache_gives_no_session_to_a_consumer(cache: FetchSessionCache) -> None:
    for _ in range(3):
        open_session(cache, 2)
    assert open_session(cache, 5) == 0
    assert len(cache) == 3


def test_a_session_idle_longer_than_the_eviction_time_goes_first(cache: FetchSessionCache) -> None:
    idle = open_session(cache, 9)
    others = [open_session(cache, 1, now_ms=1000) for _ in range(2)]
    assert open_session(cache, 1, now_ms=EVICTION_MS + 1) > 0
    assert refused(cache, idle, 1) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    for other in others:
        assert begin(cache, other, 1) is not None
    assert cache.evictions == 1


def in_use(cache: FetchSessionCache, sessions: Iterable[int], now_ms: int) -> None:
    """Keep sessions from being idle; only what is touched when old becomes fair game."""
    for session_id in sessions:
        begin(cache, session_id, 1, now_ms=now_ms)


def test_a_consumer_displaces_only_a_strictly_smaller_old_consumer(
    cache: FetchSessionCache,
) -> None:
    small, big = open_session(cache, 2), open_session(cache, 5)
    follower = open_session(cache, 1, follower=True)
    later = EVICTION_MS + 1
    in_use(cache, (small, big, follower), later)
    assert open_session(cache, 2, now_ms=later) == 0
    assert open_session(cache, 3, now_ms=later) > 0
    assert refused(cache, small, 2) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert begin(cache, follower, 2) is not None


def test_a_consumer_never_displaces_a_follower(cache: FetchSessionCache) -> None:
    followers = [open_session(cache, 1, follower=True) for _ in range(3)]
    later = EVICTION_MS + 1
    in_use(cache, followers, later)
    assert open_session(cache, 9, now_ms=later) == 0


def test_a_follower_displaces_the_smallest_consumer_however_young(cache: FetchSessionCache) -> None:
    small, big = open_session(cache, 2), open_session(cache, 5)
    open_session(cache, 1, follower=True)
    assert open_session(cache, 1, follower=True) > 0
    assert refused(cache, small, 1) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert begin(cache, big, 1) is not None


def test_a_follower_displaces_only_a_strictly_smaller_old_follower(
    cache: FetchSessionCache,
) -> None:
    followers = [open_session(cache, size, follower=True) for size in (2, 3, 4)]
    assert open_session(cache, 9, follower=True) == 0
    later = EVICTION_MS + 1
    in_use(cache, followers, later)
    assert open_session(cache, 2, now_ms=later, follower=True) == 0
    assert open_session(cache, 3, now_ms=later, follower=True) > 0
    assert refused(cache, followers[0], 2) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_cached_partitions_are_counted(cache: FetchSessionCache) -> None:
    session_id = open_session(cache, 2)
    open_session(cache, 3)
    assert cache.partitions_cached == 5
    begin(cache, session_id, 1, wanted(4, first=2))
    assert cache.partitions_cached == 9
    begin(cache, session_id, -1)
    assert cache.partitions_cached == 3


def test_all_sessions_together_hold_so_many_partitions_and_no_more(
    cache: FetchSessionCache,
) -> None:
    largest = open_session(cache, MOST_PARTITIONS - 10)
    assert largest > 0
    assert open_session(cache, 11) == 0
    small = open_session(cache, 8)
    assert small > 0
    assert cache.partitions_cached == MOST_PARTITIONS - 2


def test_a_session_that_grows_beyond_what_all_may_hold_is_closed_and_answered_in_full(
    cache: FetchSessionCache,
) -> None:
    open_session(cache, MOST_PARTITIONS - 10)
    small = open_session(cache, 8)
    error, session_id, reads = answer(begin(cache, small, 1, wanted(3, first=8)))
    assert (error, session_id, len(reads)) == (ErrorCode.NONE, 0, 11)
    assert refused(cache, small, 2) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert cache.partitions_cached == MOST_PARTITIONS - 10
