"""Produce: what is refused in which order, when the answer comes, and how heavy work is done."""

import asyncio
from collections.abc import AsyncIterator, Awaitable

import pytest

from broker.context import CLOSE_CONNECTION, NO_RESPONSE, HandlerResult, Parked, Reply
from broker.handlers.produce import batch_refusal, handle_produce
from broker.turns import APPENDS_PER_TURN, WORK_PER_TURN_BYTES
from cluster.controller.messages import MetadataUpdate, PartitionMetadata
from config.topic_config import LogConfig
from protocol.errors import ErrorCode
from protocol.messages.produce import (
    LeaderIdAndEpoch,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from protocol.model import TopicPartition
from protocol.records.builder import BatchFields
from protocol.records.compression import Codec
from runtime.blocking import Workers
from tests.support.loops import closed_loop
from tests.support.replicas import Delivery, ReplicaBroker, context_of, records_of, topic_id_of
from tests.support.transactions import TransactionBroker

TP = TopicPartition("t", 0)
NO_WORKERS = Workers(closed_loop(), 1)
"""For requests that need none."""


@pytest.fixture
def broker() -> ReplicaBroker:
    made = ReplicaBroker()
    made.create("t", partitions=2)
    return made


def request(
    *batches: memoryview | None,
    acks: int = 1,
    topic: str = "t",
    topic_id: bytes | None = None,
    timeout_ms: int = 1000,
) -> ProduceRequest:
    """One batch a partition, of partitions 0, 1, …"""
    partitions = [
        PartitionProduceData(index=index, records=records) for index, records in enumerate(batches)
    ]
    data = TopicProduceData(name=topic, partition_data=partitions)
    if topic_id is not None:
        data = TopicProduceData(topic_id=topic_id, partition_data=partitions)
    return ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=[data])


@pytest.fixture
async def workers() -> AsyncIterator[Workers]:
    made = Workers(asyncio.get_running_loop(), 1)
    yield made
    made.close(wait=True)


def handle(
    broker: ReplicaBroker,
    asked: ProduceRequest,
    version: int = 9,
    client_id: str = "test",
    workers: Workers | None = None,
    transactions: TransactionBroker | None = None,
) -> HandlerResult:
    return handle_produce(
        context_of(version, client_id=client_id),
        asked,
        replicas=broker.replicas,
        workers=workers or NO_WORKERS,
        questions=(transactions or TransactionBroker(broker=broker, partitions=0)).questions,
    )


def respond(broker: ReplicaBroker, asked: ProduceRequest, version: int = 9) -> ProduceResponse:
    """Handle a request that is answered at once."""
    response = handle(broker, asked, version)
    assert isinstance(response, ProduceResponse)
    return response


def deliver(broker: ReplicaBroker, asked: ProduceRequest) -> Delivery[ProduceResponse]:
    """Handle a request that may be parked."""
    return Delivery(handle(broker, asked), ProduceResponse)


def unfinished(result: HandlerResult) -> Awaitable[Reply]:
    """The rest of the work, where more than one turn is needed."""
    assert isinstance(result, Awaitable)
    return result


def answers(response: object) -> list[PartitionProduceResponse]:
    assert isinstance(response, ProduceResponse)
    return [answer for topic in response.responses for answer in topic.partition_responses]


def codes(response: object) -> list[int]:
    return [answer.error_code for answer in answers(response)]


def test_a_batch_is_appended_and_its_place_told(broker: ReplicaBroker) -> None:
    broker.append()
    response = respond(broker, request(records_of(b"a", b"b")))
    (answer,) = answers(response)
    assert (answer.error_code, answer.base_offset, answer.log_start_offset) == (0, 1, 0)
    assert answer.log_append_time_ms == -1
    assert response.responses[0].name == "t"
    assert broker.log().log_end_offset == 3


def test_log_append_time_is_told(broker: ReplicaBroker) -> None:
    broker.log().update_config(broker.config("t")._replace(log_append_time=True))
    (answer,) = answers(handle(broker, request(records_of(b"a"))))
    assert answer.log_append_time_ms == broker.clock.now_ms()


def test_a_repeated_batch_is_answered_with_its_old_offset_and_timestamp(
    broker: ReplicaBroker,
) -> None:
    batch: BatchFields = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    first = answers(handle(broker, request(records_of(b"a", **batch), acks=-1)))
    again = answers(handle(broker, request(records_of(b"a", **batch), acks=-1)))
    assert [(a.error_code, a.base_offset) for a in first + again] == [(0, 0), (0, 0)]
    assert again[0].log_append_time_ms == 1_700_000_000_000
    assert broker.log().log_end_offset == 1


def test_topics_may_be_named_by_id(broker: ReplicaBroker) -> None:
    response = handle(broker, request(records_of(b"a"), topic_id=topic_id_of("t")), version=13)
    assert codes(response) == [ErrorCode.NONE]
    unknown = respond(broker, request(records_of(b"a"), topic_id=b"?" * 16), version=13)
    assert codes(unknown) == [ErrorCode.UNKNOWN_TOPIC_ID]
    assert unknown.responses[0].topic_id == b"?" * 16
    zero = handle(broker, request(records_of(b"a"), topic_id=bytes(16)), version=13)
    assert codes(zero) == [ErrorCode.UNKNOWN_TOPIC_ID]


def test_codes_come_in_kafkas_order(broker: ReplicaBroker) -> None:
    """3 before 87 before 21 before 2."""
    corrupt = records_of(b"a")
    corrupt[-1] ^= 1
    asked = request(corrupt, memoryview(bytearray(5)), records_of(b"a"), acks=5)
    assert codes(handle(broker, asked)) == [
        ErrorCode.INVALID_REQUIRED_ACKS,
        ErrorCode.INVALID_RECORD,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert codes(handle(broker, request(corrupt))) == [ErrorCode.CORRUPT_MESSAGE]
    assert codes(handle(broker, request(None))) == [ErrorCode.INVALID_RECORD]
    assert broker.log().log_end_offset == 0


def test_one_partitions_failure_is_its_own(broker: ReplicaBroker) -> None:
    corrupt = records_of(b"a")
    corrupt[-1] ^= 1
    assert codes(handle(broker, request(corrupt, records_of(b"a")))) == [2, 0]


def test_bad_records_are_named_with_a_text_and_all_else_has_none(broker: ReplicaBroker) -> None:
    broker.log().update_config(broker.config("t")._replace(compact=True))
    (answer,) = answers(handle(broker, request(records_of(b"a", b"b"))))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in answer.record_errors] == [0, 1]
    assert answer.error_message
    assert (answer.base_offset, answer.log_start_offset) == (-1, 0)
    wrong_base = records_of(b"a", base_offset=3)
    (answer,) = answers(handle(broker, request(wrong_base)))
    assert (answer.error_code, answer.error_message) == (ErrorCode.INVALID_RECORD, None)
    assert answer.record_errors == []


def test_internal_topics_are_written_by_the_admin_client_alone(broker: ReplicaBroker) -> None:
    broker.create("__consumer_offsets")
    asked = request(records_of(b"a"), topic="__consumer_offsets")
    assert codes(handle(broker, asked)) == [ErrorCode.INVALID_TOPIC_EXCEPTION]
    asked = request(records_of(b"a"), topic="__consumer_offsets")
    assert codes(handle(broker, asked, client_id="__admin_client")) == [ErrorCode.NONE]


def test_batches_of_transactions_nobody_began_are_refused(broker: ReplicaBroker) -> None:
    batch = records_of(
        b"a", producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    asked = request(batch)
    asked.transactional_id = "id"
    assert codes(handle(broker, asked, transactions=TransactionBroker(broker=broker))) == [
        ErrorCode.INVALID_PRODUCER_ID_MAPPING
    ]
    assert broker.log().log_end_offset == 0


def test_batches_of_several_producers_in_one_transaction_are_refused(broker: ReplicaBroker) -> None:
    batches = [
        records_of(
            b"a", producer_id=number, producer_epoch=0, base_sequence=0, is_transactional=True
        )
        for number in range(2)
    ]
    asked = request(*batches)
    asked.transactional_id = "id"
    assert (
        codes(handle(broker, asked, transactions=TransactionBroker(broker=broker)))
        == [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 2
    )


def test_what_is_wrong_with_a_transaction_is_told_before_wrong_acks(broker: ReplicaBroker) -> None:
    batch = records_of(
        b"a", producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    asked = request(batch, records_of(b"b"), acks=5)
    asked.transactional_id = "id"
    assert codes(handle(broker, asked, transactions=TransactionBroker(broker=broker))) == [
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.INVALID_REQUIRED_ACKS,
    ]


def test_a_batch_of_a_transaction_without_a_name_refuses_the_whole_request(
    broker: ReplicaBroker,
) -> None:
    batch = records_of(b"a", producer_id=1, producer_epoch=0, is_transactional=True)
    asked = request(batch, records_of(b"b"))
    refused = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert codes(handle(broker, asked)) == [refused, refused]
    assert broker.log().log_end_offset == 0


def test_without_acks_nothing_is_said_and_a_failure_closes_the_connection(
    broker: ReplicaBroker,
) -> None:
    assert handle(broker, request(records_of(b"a"), acks=0)) is NO_RESPONSE
    assert broker.log().log_end_offset == 1
    assert handle(broker, request(records_of(b"a"), topic="no", acks=0)) is CLOSE_CONNECTION


def test_the_current_leader_is_told_to_those_who_can_read_it(broker: ReplicaBroker) -> None:
    broker.tell_metadata([], brokers=(1, 2))
    state = broker.state(TP, leader=2, leader_epoch=4, replicas=(1, 2))
    broker.replicas.become_leader_or_follower(1, [state])
    response = respond(broker, request(records_of(b"a")), version=10)
    (answer,) = answers(response)
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert answer.current_leader == LeaderIdAndEpoch(leader_id=2, leader_epoch=4)
    assert [(node.node_id, node.port) for node in response.node_endpoints] == [(2, 9094)]
    old = handle(broker, request(records_of(b"a")), version=9)
    assert answers(old)[0].current_leader is None


def test_a_partition_led_elsewhere_is_told_apart_from_an_unknown_one(broker: ReplicaBroker) -> None:
    broker.replicas.maybe_update_metadata_cache(
        1,
        broker_update := _update(
            broker,
            PartitionMetadata(TopicPartition("far", 0), topic_id_of("far"), 2, 0, (2,), 0, (2,)),
        ),
    )
    assert broker_update.partitions
    response = handle(broker, request(records_of(b"a"), topic="far"))
    assert codes(response) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


def _update(broker: ReplicaBroker, *partitions: PartitionMetadata) -> MetadataUpdate:
    return MetadataUpdate(1, list(broker.metadata.brokers.values()), partitions)


def test_acks_all_waits_for_the_in_sync_set_then_answers_once() -> None:
    broker = ReplicaBroker()
    broker.create("t", replicas=(1, 2), isr=(1, 2))
    delivery = deliver(broker, request(records_of(b"a"), acks=-1, timeout_ms=100))
    assert delivery.waiting
    broker.advance(100)
    assert codes(delivery.reply) == [ErrorCode.REQUEST_TIMED_OUT]
    assert broker.replicas.purgatories.produce.size == 0


def test_too_few_in_sync_refuse_acks_all_before_the_append() -> None:
    broker = ReplicaBroker()
    broker.create("t", replicas=(1, 2), isr=(1,), config=LogConfig(min_insync_replicas=2))
    asked = request(records_of(b"a"), acks=-1)
    assert codes(handle(broker, asked)) == [ErrorCode.NOT_ENOUGH_REPLICAS]
    assert broker.log().log_end_offset == 0
    assert codes(handle(broker, request(records_of(b"a")))) == [ErrorCode.NONE]


def test_flush_before_ack_answers_after_one_fsync_for_all_that_wait() -> None:
    broker = ReplicaBroker()
    broker.create("t", config=LogConfig(flush_messages=1))
    deliveries = [deliver(broker, request(records_of(b"a"), acks=a)) for a in (1, -1, 1)]
    assert all(delivery.waiting for delivery in deliveries)
    broker.run_jobs()
    assert [codes(delivery.reply) for delivery in deliveries] == [[0], [0], [0]]
    assert broker.log().flushed_end_offset == 3


def test_an_abandoned_request_waits_no_more() -> None:
    broker = ReplicaBroker()
    broker.create("t", replicas=(1, 2), isr=(1, 2))
    parked = handle(broker, request(records_of(b"a"), acks=-1))
    assert isinstance(parked, Parked)
    parked.abandon()
    assert broker.replicas.purgatories.produce.size == 0


def big_batch() -> memoryview:
    return records_of(bytes(WORK_PER_TURN_BYTES * 2 // 3), codec=Codec.NONE)


async def test_a_large_request_is_worked_off_in_turns(broker: ReplicaBroker) -> None:
    config = broker.config("t")._replace(max_message_bytes=1 << 22)
    for index in (0, 1):
        broker.log(index=index).update_config(config)
    result = unfinished(handle(broker, request(big_batch(), big_batch())))
    assert broker.log().log_end_offset == 0
    assert codes(await result) == [0, 0]
    assert broker.log(index=1).log_end_offset == 1


async def test_a_batch_that_unfolds_to_a_lot_is_validated_by_a_worker(
    broker: ReplicaBroker, workers: Workers
) -> None:
    bomb = records_of(bytes(4 << 20), codec=Codec.GZIP)
    plain = records_of(b"a")
    result = unfinished(handle(broker, request(plain, bomb), workers=workers))
    assert broker.log(index=0).log_end_offset == 1
    bomb[:] = bytes(len(bomb))  # The frame is reused once the handler has returned.
    assert codes(await result) == [0, 0]
    assert broker.log(index=1).log_end_offset == 1


async def test_leadership_is_looked_at_again_after_the_worker(
    broker: ReplicaBroker, workers: Workers
) -> None:
    asked = request(records_of(bytes(4 << 20), codec=Codec.GZIP))
    result = unfinished(handle(broker, asked, workers=workers))
    broker.tell_metadata([], brokers=(1, 2))
    state = broker.state(TP, leader=2, leader_epoch=4, replicas=(1, 2))
    task = asyncio.ensure_future(result)
    await asyncio.sleep(0)
    broker.replicas.become_leader_or_follower(1, [state])
    assert codes(await task) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert broker.log().log_end_offset == 0


@pytest.fixture
def crowded(broker: ReplicaBroker) -> ReplicaBroker:
    """A topic with more partitions than one turn appends to."""
    broker.create("crowd", partitions=MANY)
    return broker


MANY = 2 * APPENDS_PER_TURN + 1


def crowd_request(acks: int = 1) -> ProduceRequest:
    return request(*(records_of(b"%d" % index) for index in range(MANY)), topic="crowd", acks=acks)


def appended(broker: ReplicaBroker) -> int:
    return sum(log.log_end_offset for log in broker.logs.all_logs())


async def test_many_partitions_are_appended_to_in_turns(crowded: ReplicaBroker) -> None:
    asked = crowd_request()
    frames = [partition.records for partition in asked.topic_data[0].partition_data]
    rest = unfinished(handle(crowded, asked))
    task = asyncio.ensure_future(rest)
    for frame in frames:
        assert frame is not None
        frame[:] = bytes(len(frame))  # The frame is reused once the handler has returned.
    before, most = 0, 0
    while not task.done():
        await asyncio.sleep(0)
        most = max(most, appended(crowded) - before)
        before = appended(crowded)
    assert most == APPENDS_PER_TURN
    response = task.result()
    assert codes(response) == [0] * MANY
    assert [answer.index for answer in answers(response)] == list(range(MANY))
    assert appended(crowded) == MANY


async def test_many_partitions_are_refused_as_few_are(crowded: ReplicaBroker) -> None:
    refused = await unfinished(handle(crowded, crowd_request(acks=7)))
    assert set(codes(refused)) == {ErrorCode.INVALID_REQUIRED_ACKS}
    assert appended(crowded) == 0


def test_the_shape_of_a_batch_is_told_by_code() -> None:
    batch = records_of(b"a")
    assert batch_refusal(batch, 9) == ErrorCode.NONE
    assert batch_refusal(batch[:-1], 9) == ErrorCode.INVALID_RECORD
    assert batch_refusal(memoryview(b""), 9) == ErrorCode.INVALID_RECORD
    two = memoryview(bytearray(batch) * 2)
    assert batch_refusal(two, 9) == ErrorCode.INVALID_RECORD
    assert batch_refusal(two[:-1], 9) == ErrorCode.NONE
    assert batch_refusal(two[: len(batch) + 3], 9) == ErrorCode.NONE


@pytest.mark.parametrize(
    ("position", "value", "code"),
    [
        (16, 1, ErrorCode.INVALID_RECORD),
        (16, 3, ErrorCode.CORRUPT_MESSAGE),
        (11, 13, ErrorCode.CORRUPT_MESSAGE),
        (11, 30, ErrorCode.CORRUPT_MESSAGE),
        (8, 0x80, ErrorCode.CORRUPT_MESSAGE),
    ],
)
def test_wrong_magic_and_length_have_their_codes(
    position: int, value: int, code: ErrorCode
) -> None:
    batch = records_of(b"a")
    batch[position] = value
    assert batch_refusal(batch, 9) == code


def test_zstd_needs_version_seven() -> None:
    batch = records_of(b"a", codec=Codec.ZSTD)
    assert batch_refusal(batch, 6) == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert batch_refusal(batch, 7) == ErrorCode.NONE
