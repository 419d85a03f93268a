from broker.coordinator.transaction.producer import Producer
from broker.handlers.add_partitions_to_txn import handle_add_partitions_to_txn
from protocol.errors import ErrorCode
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from tests.support.replicas import Delivery, context_of
from tests.support.transactions import TransactionBroker

NONE = ErrorCode.NONE


def topics(*indexes: int) -> list[AddPartitionsToTxnTopic]:
    return [AddPartitionsToTxnTopic(name="t", partitions=list(indexes))]


def respond(
    one: TransactionBroker, request: AddPartitionsToTxnRequest, version: int
) -> AddPartitionsToTxnResponse:
    result = handle_add_partitions_to_txn(
        context_of(version),
        request,
        transactions=one.coordinator,
        metadata=one.broker.metadata,
    )
    return Delivery(result, AddPartitionsToTxnResponse).reply


def codes(results: list[AddPartitionsToTxnTopicResult]) -> list[int]:
    return [each.partition_error_code for topic in results for each in topic.results_by_partition]


def of_client(
    one: TransactionBroker, producer: Producer, *indexes: int, version: int = 3
) -> list[int]:
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=producer.transactional_id,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.producer_epoch,
        v3_and_below_topics=topics(*indexes),
    )
    return codes(respond(one, request, version).results_by_topic_v3_and_below)


def of_broker(
    producer: Producer, verify_only: bool, *indexes: int
) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id=producer.transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        verify_only=verify_only,
        topics=topics(*indexes),
    )


def test_a_clients_partitions_join_all_or_none() -> None:
    one = TransactionBroker()
    producer = one.begin()
    assert of_client(one, producer, 0, 1) == [NONE, NONE]
    assert of_client(one, producer, 2, 9) == [
        ErrorCode.OPERATION_NOT_ATTEMPTED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert one.transaction().partitions == {("t", 0), ("t", 1)}
    assert one.transaction().client_version == 0


def test_a_fence_is_told_in_the_words_of_the_version() -> None:
    one = TransactionBroker()
    old = one.begin()
    one.begin()
    assert of_client(one, old, 0, version=1) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert of_client(one, old, 0, version=2) == [ErrorCode.PRODUCER_FENCED]


def test_brokers_ask_about_many_transactions_each_with_its_answer() -> None:
    one = TransactionBroker()
    first, second = one.begin("a"), one.begin("b")
    wanted = [
        of_broker(first, False, 0),
        of_broker(first, True, 0, 1),
        of_broker(second, True, 0),
        of_broker(second._replace(producer_id=5), False, 0),
    ]
    response = respond(one, AddPartitionsToTxnRequest(transactions=wanted), 4)
    assert [codes(each.topic_results) for each in response.results_by_transaction] == [
        [NONE],
        [NONE, ErrorCode.TRANSACTION_ABORTABLE],
        [ErrorCode.TRANSACTION_ABORTABLE],
        [ErrorCode.INVALID_PRODUCER_ID_MAPPING],
    ]
    assert one.shard.transactions["a"].client_version == 2


def test_no_transactions_are_answered_at_once() -> None:
    response = respond(TransactionBroker(), AddPartitionsToTxnRequest(), 5)
    assert response.results_by_transaction == []
