"""Fetch: sessions, long polls, limits, and what a response says of each partition."""

import asyncio
import inspect
from typing import TypedDict, Unpack

import pytest

from broker.context import Reply
from broker.handlers.fetch import handle_fetch
from broker.replication.fetch_session_cache import FetchSessionCache
from broker.turns import PARTITIONS_PER_TURN
from protocol.errors import ErrorCode
from protocol.messages.fetch import (
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    LeaderIdAndEpoch,
)
from protocol.model import TopicPartition
from storage.segment.file_records import FileSlice
from tests.support.replicas import Delivery, ReplicaBroker, context_of, topic_id_of

TP = TopicPartition("t", 0)


class Options(TypedDict, total=False):
    """Further fields of a request."""

    max_bytes: int
    isolation_level: int
    replica_id: int
    session_id: int
    session_epoch: int
    forgotten_topics_data: list[ForgottenTopic]


class FetchingBroker(ReplicaBroker):
    def __init__(self) -> None:
        super().__init__()
        self.sessions = FetchSessionCache(10, lambda n: len(self.sessions) + 1)
        self.fetch_max_bytes = 1 << 26

    def fetch(self, request: FetchRequest, version: int = 12) -> Delivery[FetchResponse]:
        result = handle_fetch(
            context_of(version),
            request,
            replicas=self.replicas,
            sessions=self.sessions,
            clock=self.clock,
            fetch_max_bytes=lambda: self.fetch_max_bytes,
        )
        return Delivery(result, FetchResponse)


@pytest.fixture
def broker() -> FetchingBroker:
    made = FetchingBroker()
    made.create("t", partitions=3)
    return made


def asked(
    *partitions: tuple[int, int] | tuple[int, int, int],
    topic_id: bytes | None = None,
    max_wait_ms: int = 500,
    min_bytes: int = 1,
    **options: Unpack[Options],
) -> FetchRequest:
    """(index, offset) or (index, offset, max bytes) of one topic."""
    wanted = [
        FetchPartition(
            partition=index, fetch_offset=offset, partition_max_bytes=(*most, 1 << 20)[0]
        )
        for index, offset, *most in partitions
    ]
    one = FetchTopic(topic="t", partitions=wanted)
    if topic_id is not None:
        one = FetchTopic(topic_id=topic_id, partitions=wanted)
    options.setdefault("max_bytes", 1 << 20)
    topics = [one] if partitions else []
    return FetchRequest(topics=topics, max_wait_ms=max_wait_ms, min_bytes=min_bytes, **options)


def told(response: FetchResponse) -> list[tuple[int, int, int]]:
    """(index, code, bytes) of each partition, records released."""
    rows = []
    for topic in response.responses:
        for data in topic.partitions:
            records = data.records
            if isinstance(records, FileSlice):
                nbytes = records.nbytes
                records.release()
            else:
                assert records == b""
                nbytes = 0
            rows.append((data.partition_index, data.error_code, nbytes))
    return rows


def test_records_there_are_told_at_once(broker: FetchingBroker) -> None:
    broker.append()
    size = broker.log().size
    delivery = broker.fetch(asked((0, 0)))
    (data,) = delivery.reply.responses[0].partitions
    assert (data.high_watermark, data.last_stable_offset, data.log_start_offset) == (1, 1, 0)
    assert data.aborted_transactions is None
    assert told(delivery.reply) == [(0, 0, size)]
    assert broker.replicas.meters.topics["t"].bytes_out == size


def test_at_the_high_watermark_a_fetch_is_parked_until_an_append(broker: FetchingBroker) -> None:
    delivery = broker.fetch(asked((0, 0)))
    assert delivery.waiting
    broker.append()
    assert delivery.waiting
    broker.turn()
    assert told(delivery.reply) == [(0, 0, broker.log().size)]


def test_without_a_wait_or_with_a_minimum_of_nothing_it_is_not_parked(
    broker: FetchingBroker,
) -> None:
    assert told(broker.fetch(asked((0, 0), max_wait_ms=0)).reply) == [(0, 0, 0)]
    assert told(broker.fetch(asked((0, 0), min_bytes=0)).reply) == [(0, 0, 0)]
    assert told(broker.fetch(asked()).reply) == []


def test_an_error_answers_everything_at_once(broker: FetchingBroker) -> None:
    rows = told(broker.fetch(asked((0, 0), (1, 5))).reply)
    assert rows == [(0, 0, 0), (1, ErrorCode.OFFSET_OUT_OF_RANGE, 0)]


def test_what_does_not_exist_is_no_reason_to_hurry(broker: FetchingBroker) -> None:
    delivery = broker.fetch(asked((0, 0), (9, 0)))
    assert delivery.waiting
    broker.advance(500)
    rows = told(delivery.reply)
    assert rows == [(0, 0, 0), (9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)]
    alone = broker.fetch(asked((9, 0)))
    (data,) = alone.reply.responses[0].partitions
    assert (data.high_watermark, data.last_stable_offset, data.log_start_offset) == (-1, -1, -1)


def test_read_committed_lists_aborted_transactions_and_read_uncommitted_null(
    broker: FetchingBroker,
) -> None:
    broker.append()
    delivery = broker.fetch(asked((0, 0), isolation_level=1))
    assert delivery.reply.responses[0].partitions[0].aborted_transactions == []
    told(delivery.reply)


def test_limits_hold_but_for_the_first_batch(broker: FetchingBroker) -> None:
    for index in range(3):
        broker.append(index=index)
    size = broker.log().size
    small = broker.fetch(asked((0, 0, 1), (1, 0, 1)))
    assert told(small.reply) == [(0, 0, size), (1, 0, 0)]
    two = broker.fetch(asked((0, 0), (1, 0), (2, 0), max_bytes=2 * size))
    assert told(two.reply) == [(0, 0, size), (1, 0, size), (2, 0, 0)]
    broker.fetch_max_bytes = size
    one = broker.fetch(asked((0, 0), (1, 0), (2, 0)))
    assert told(one.reply) == [(0, 0, size), (1, 0, 0), (2, 0, 0)]


def test_a_session_tells_only_news(broker: FetchingBroker) -> None:
    broker.append()
    opened = broker.fetch(asked((0, 0), (1, 0), session_epoch=0)).reply
    assert opened.session_id > 0
    assert [row[0] for row in told(opened)] == [0, 1]
    quiet = broker.fetch(asked((0, 1), session_epoch=1, session_id=opened.session_id))
    broker.advance(500)
    assert told(quiet.reply) == []
    assert quiet.reply.session_id == opened.session_id
    broker.append(index=1)
    broker.turn()
    news = broker.fetch(asked(session_epoch=2, session_id=opened.session_id)).reply
    assert [row[0] for row in told(news)] == [1]
    forget = [ForgottenTopic(topic="t", partitions=[0, 1])]
    request = asked(session_epoch=3, forgotten_topics_data=forget, session_id=opened.session_id)
    assert broker.fetch(request).reply.session_id == 0
    assert len(broker.sessions) == 0


def test_a_session_that_does_not_fit_fails_the_request(broker: FetchingBroker) -> None:
    answer = broker.fetch(asked((0, 0), session_id=99, session_epoch=1)).reply
    assert answer == FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)


def test_leader_epochs_below_minus_one_name_none(broker: FetchingBroker) -> None:
    request = asked((0, 0), max_wait_ms=0)
    (partition,) = request.topics[0].partitions
    partition.current_leader_epoch = partition.last_fetched_epoch = -5
    (data,) = broker.fetch(request).reply.responses[0].partitions
    assert (data.error_code, data.diverging_epoch) == (ErrorCode.NONE, None)


def test_what_is_not_here_has_an_empty_list_of_transactions(broker: FetchingBroker) -> None:
    (data,) = broker.fetch(asked((9, 0))).reply.responses[0].partitions
    assert data.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert data.aborted_transactions == []


def test_a_parked_fetch_whose_session_went_on_gives_its_records_up(broker: FetchingBroker) -> None:
    opened = broker.fetch(asked((0, 0), session_epoch=0, max_wait_ms=0)).reply
    parked = broker.fetch(asked(session_epoch=1, session_id=opened.session_id))
    broker.fetch(asked(session_epoch=2, session_id=opened.session_id))
    broker.append()
    broker.turn()
    assert parked.reply.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert parked.reply.responses == []


def test_topics_by_id_are_found_as_soon_as_they_exist(broker: FetchingBroker) -> None:
    known, unknown = topic_id_of("t"), topic_id_of("later")
    response = broker.fetch(asked((0, 0), topic_id=unknown, session_epoch=0), version=13).reply
    assert told(response) == [(0, ErrorCode.UNKNOWN_TOPIC_ID, 0)]
    assert response.responses[0].topic_id == unknown
    broker.create("later")
    again = asked(session_id=response.session_id, session_epoch=1, max_wait_ms=0)
    assert told(broker.fetch(again, version=13).reply) == [(0, 0, 0)]
    assert broker.fetch(asked((0, 0), topic_id=known), version=13).waiting


def test_another_incarnation_of_a_topic_is_refused(broker: FetchingBroker) -> None:
    opened = broker.fetch(asked((0, 0), topic_id=topic_id_of("t"), session_epoch=0), version=13)
    broker.advance(500)
    session_id = opened.reply.session_id
    broker.delete("t")
    state = broker.state(TP, topic_id=b"n" * 16)
    broker.replicas.become_leader_or_follower(1, [state])
    broker.tell_metadata([state])
    again = asked(session_id=session_id, session_epoch=1)
    rows = told(broker.fetch(again, version=13).reply)
    assert rows == [(0, ErrorCode.INCONSISTENT_TOPIC_ID, 0)]


def test_the_current_leader_and_its_endpoint_are_told(broker: FetchingBroker) -> None:
    broker.tell_metadata([], brokers=(1, 2))
    state = broker.state(TP, leader=2, leader_epoch=4, replicas=(1, 2))
    broker.replicas.become_leader_or_follower(1, [state])
    request = asked((0, 0), topic_id=topic_id_of("t"))
    request.topics[0].partitions[0].current_leader_epoch = 3
    (data,) = broker.fetch(request, version=15).reply.responses[0].partitions
    assert (data.error_code, data.current_leader) == (ErrorCode.FENCED_LEADER_EPOCH, None)
    response = broker.fetch(request, version=16).reply
    (data,) = response.responses[0].partitions
    assert data.error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert data.current_leader == LeaderIdAndEpoch(leader_id=2, leader_epoch=4)
    assert [(node.node_id, node.host) for node in response.node_endpoints] == [(2, "host2")]


def test_consumers_read_followers_from_version_eleven(broker: FetchingBroker) -> None:
    broker.append()
    broker.tell_metadata([], brokers=(1, 2))
    state = broker.state(TP, leader=2, leader_epoch=4, replicas=(1, 2))
    broker.replicas.become_leader_or_follower(1, [state])
    old = told(broker.fetch(asked((0, 0)), version=10).reply)
    assert old == [(0, ErrorCode.NOT_LEADER_OR_FOLLOWER, 0)]
    assert told(broker.fetch(asked((0, 0)), version=11).reply)[0][1] == ErrorCode.NONE


def test_a_diverging_follower_is_told_without_waiting() -> None:
    broker = FetchingBroker()
    broker.create("t", replicas=(1, 2), isr=(1, 2))
    broker.append()
    more = broker.state(TP, leader_epoch=3, replicas=(1, 2), isr=(1, 2))
    broker.replicas.become_leader_or_follower(1, [more])
    request = asked((0, 5), replica_id=2)
    request.topics[0].partitions[0].last_fetched_epoch = 2
    (data,) = broker.fetch(request).reply.responses[0].partitions
    assert data.diverging_epoch == EpochEndOffset(epoch=0, end_offset=1)
    assert data.records == b""
    assert broker.partition().remotes[2].log_end_offset == -1


def test_a_follower_counts_as_replication_traffic() -> None:
    broker = FetchingBroker()
    broker.create("t", replicas=(1, 2), isr=(1, 2))
    broker.append()
    told(broker.fetch(asked((0, 0), replica_id=2)).reply)
    meters = broker.replicas.meters.topics["t"]
    assert meters.replication_bytes_out > 0
    assert meters.bytes_out == 0


def test_an_abandoned_fetch_is_forgotten(broker: FetchingBroker) -> None:
    delivery = broker.fetch(asked((0, 0)))
    delivery.abandon()
    assert broker.replicas.purgatories.sizes()["Fetch"] == 0
    broker.append()
    broker.turn()
    assert delivery.waiting


MANY = 2 * PARTITIONS_PER_TURN + 1


@pytest.fixture
def crowded() -> FetchingBroker:
    """More partitions than one turn reads, with one record in each."""
    made = FetchingBroker()
    made.create("t", partitions=MANY)
    for index in range(MANY):
        made.append(index=index)
    return made


def begin(broker: FetchingBroker, request: FetchRequest) -> asyncio.Task[Reply]:
    result = handle_fetch(
        context_of(12),
        request,
        replicas=broker.replicas,
        sessions=broker.sessions,
        clock=broker.clock,
        fetch_max_bytes=lambda: broker.fetch_max_bytes,
    )
    assert inspect.iscoroutine(result)
    return asyncio.ensure_future(result)


def everywhere(offset: int) -> list[tuple[int, int]]:
    return [(index, offset) for index in range(MANY)]


def looked_into(broker: FetchingBroker) -> int:
    return broker.replicas.meters.topics["t"].total_fetch_requests


async def finished(task: asyncio.Task[Reply]) -> FetchResponse:
    reply = await task
    assert isinstance(reply, FetchResponse)
    return reply


async def test_many_partitions_are_read_in_turns(crowded: FetchingBroker) -> None:
    task = begin(crowded, asked(*everywhere(0)))
    before, most = 0, 0
    while not task.done():
        await asyncio.sleep(0)
        most = max(most, looked_into(crowded) - before)
        before = looked_into(crowded)
    assert most == PARTITIONS_PER_TURN
    response = await finished(task)
    assert len(response.responses) == 1
    rows = told(response)
    assert rows == [(index, 0, crowded.log(index=index).size) for index in range(MANY)]


async def test_limits_hold_over_all_turns(crowded: FetchingBroker) -> None:
    size = crowded.log().size
    task = begin(crowded, asked(*everywhere(0), max_bytes=size * (PARTITIONS_PER_TURN + 2)))
    rows = told(await finished(task))
    assert sum(nbytes for _, _, nbytes in rows) == size * (PARTITIONS_PER_TURN + 2)
    assert rows[PARTITIONS_PER_TURN + 1][2] == size
    assert rows[PARTITIONS_PER_TURN + 2][2] == 0
    first_too_large = begin(crowded, asked(*everywhere(0), max_bytes=1))
    rows = told(await finished(first_too_large))
    assert [nbytes for _, _, nbytes in rows if nbytes] == [size]


async def until_waiting(broker: FetchingBroker) -> None:
    while not broker.replicas.purgatories.sizes()["Fetch"]:
        await asyncio.sleep(0)


async def test_a_fetch_of_many_waits_and_reads_again_in_turns(crowded: FetchingBroker) -> None:
    task = begin(crowded, asked(*everywhere(1)))
    await until_waiting(crowded)
    crowded.append(index=MANY - 1)
    crowded.turn()
    rows = told(await finished(task))
    assert [index for index, _, nbytes in rows if nbytes] == [MANY - 1]


async def test_a_fetch_of_many_ends_with_its_time(crowded: FetchingBroker) -> None:
    task = begin(crowded, asked(*everywhere(1)))
    await until_waiting(crowded)
    crowded.advance(500)
    assert not any(nbytes for _, _, nbytes in told(await finished(task)))


async def test_an_abandoned_fetch_of_many_is_forgotten(crowded: FetchingBroker) -> None:
    task = begin(crowded, asked(*everywhere(1)))
    await until_waiting(crowded)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert crowded.replicas.purgatories.sizes()["Fetch"] == 0
    task = begin(crowded, asked(*everywhere(0)))
    while not looked_into(crowded) > MANY:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for log in crowded.logs.all_logs():
        log.close()
    assert crowded.disk.open_count == 0


async def test_a_session_of_many_tells_only_news(crowded: FetchingBroker) -> None:
    full = await finished(begin(crowded, asked(*everywhere(1), session_epoch=0, max_wait_ms=0)))
    assert len(told(full)) == MANY
    following = asked(session_id=full.session_id, session_epoch=1)
    task = begin(crowded, following)
    await until_waiting(crowded)
    crowded.append(index=7)
    crowded.turn()
    assert [index for index, _, _ in told(await finished(task))] == [7]
    wrong = begin(crowded, asked(*everywhere(1), session_id=99, session_epoch=5))
    assert (await finished(wrong)).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
