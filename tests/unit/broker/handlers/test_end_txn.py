from broker.coordinator.transaction.producer import Producer
from broker.handlers.end_txn import handle_end_txn
from config.topic_config import LogConfig
from protocol.errors import ErrorCode
from protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from tests.support.replicas import Delivery, context_of
from tests.support.transactions import TransactionBroker


def end(one: TransactionBroker, producer: Producer, version: int) -> Delivery[EndTxnResponse]:
    request = EndTxnRequest(
        transactional_id=producer.transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        committed=True,
    )
    result = handle_end_txn(context_of(version), request, transactions=one.coordinator)
    return Delivery(result, EndTxnResponse)


def test_the_second_protocol_is_told_what_to_produce_as() -> None:
    one = TransactionBroker()
    producer = one.begin()
    one.add(producer, ("t", 0), version=2)
    reply = end(one, producer, 5).reply
    assert (reply.error_code, reply.producer_id, reply.producer_epoch) == (0, 1000, 1)


def test_the_first_keeps_its_epoch() -> None:
    one = TransactionBroker()
    producer = one.begin()
    one.add(producer, ("t", 0))
    assert end(one, producer, 4).reply.error_code == 0
    assert one.transaction().producer_epoch == 0


def test_a_refusal_names_no_producer_and_a_fence_is_told_in_the_words_of_the_version() -> None:
    one = TransactionBroker()
    old = one.begin()
    one.begin()
    reply = end(one, old, 5).reply
    assert (reply.error_code, reply.producer_id) == (ErrorCode.PRODUCER_FENCED, -1)
    assert end(one, old, 1).reply.error_code == ErrorCode.INVALID_PRODUCER_EPOCH


def test_the_answer_waits_until_the_decision_is_safe() -> None:
    one = TransactionBroker(config=LogConfig(flush_messages=1))
    one.start()
    one.broker.run_jobs()
    producer = Producer("id", 1000, 0)
    one.add(producer, ("t", 0))
    one.broker.run_jobs()
    delivery = end(one, producer, 4)
    assert delivery.waiting
    one.broker.run_jobs()
    assert delivery.reply.error_code == 0
