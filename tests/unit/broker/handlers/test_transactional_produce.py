import pytest

from broker.coordinator.transaction.asking import Manner
from broker.coordinator.transaction.producer import Producer
from broker.handlers.transactional_produce import (
    TransactionalBatches,
    manner_of,
    told_to_producer,
)
from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicPartition
from tests.support.replicas import records_of
from tests.support.transactions import TransactionBroker

TP = TopicPartition("t", 0)


def batches(
    one: TransactionBroker, producer: Producer, version: int, *indexes: int
) -> TransactionalBatches:
    made = [
        (
            TopicPartition("t", index),
            records_of(
                b"a",
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                base_sequence=0,
                is_transactional=True,
            ),
        )
        for index in indexes or (0,)
    ]
    return TransactionalBatches(made, version, one.broker.replicas, one.questions)


@pytest.mark.parametrize(
    ("version", "manner"),
    [(3, Manner.OLD), (10, Manner.OLD), (11, Manner.KNOWS_ABORTABLE), (12, Manner.JOINS)],
)
def test_the_version_tells_how_to_ask(version: int, manner: Manner) -> None:
    assert manner_of(version) is manner


@pytest.mark.parametrize(
    ("code", "version", "told"),
    [
        (ErrorCode.NOT_COORDINATOR, 12, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 9, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.CONCURRENT_TRANSACTIONS, 11, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.CONCURRENT_TRANSACTIONS, 12, ErrorCode.CONCURRENT_TRANSACTIONS),
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, 9, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
    ],
)
def test_what_passes_is_told_as_something_to_try_again(
    code: ErrorCode, version: int, told: ErrorCode
) -> None:
    assert told_to_producer(KafkaError(code), manner_of(version)).code is told


def test_what_was_verified_is_presented_by_the_append() -> None:
    one = TransactionBroker()
    producer = one.begin()
    one.add(producer, TP)
    asked = batches(one, producer, 9)
    assert asked.ask("id") is None
    assert not asked.refused
    assert asked.terms[TP].verification is not None


@pytest.mark.parametrize(
    ("version", "code"),
    [(10, ErrorCode.INVALID_TXN_STATE), (11, ErrorCode.TRANSACTION_ABORTABLE)],
)
def test_partitions_that_have_not_joined_are_refused(version: int, code: ErrorCode) -> None:
    one = TransactionBroker()
    producer = one.begin()
    one.add(producer, TP)
    asked = batches(one, producer, version, 0, 1)
    asked.ask("id")
    assert {tp: error.code for tp, error in asked.refused.items()} == {("t", 1): code}


def test_by_the_second_protocol_they_join() -> None:
    one = TransactionBroker()
    producer = one.begin()
    asked = batches(one, producer, 12, 0, 1)
    assert asked.ask("id") is None
    assert not asked.refused
    assert one.transaction().partitions == {("t", 0), ("t", 1)}


def test_a_partition_that_is_not_led_here_is_refused_and_not_asked_about() -> None:
    one = TransactionBroker()
    producer = one.begin()
    one.broker.partition("t", 1).is_leader = False
    asked = batches(one, producer, 12, 0, 1)
    asked.ask("id")
    assert {tp: error.code for tp, error in asked.refused.items()} == {
        ("t", 1): ErrorCode.NOT_LEADER_OR_FOLLOWER
    }
    assert one.transaction().partitions == {TP}


def test_without_verification_the_first_protocol_asks_nobody() -> None:
    one = TransactionBroker()
    one.verifies = False
    asked = batches(one, one.begin(), 9)
    assert asked.ask("id") is None
    assert not asked.terms


def test_while_the_last_transaction_ends_the_answer_comes_later() -> None:
    one = TransactionBroker()
    producer = one.begin()
    one.add(producer, ("t", 1), version=2)
    one.broker.partition("t", 1).is_leader = False
    one.end(producer, commit=True, version=2)
    asked = batches(one, producer._replace(producer_epoch=1), 12)
    waiting = asked.ask("id")
    assert waiting is not None
    replies: list[object] = []
    waiting.attach(replies.append)
    assert replies == []
    one.broker.partition("t", 1).is_leader = True
    for _ in range(5):
        one.broker.advance(20)
    assert len(replies) == 1
    assert not asked.refused
