from broker.coordinator.partition_of import partition_of
from broker.coordinator.transaction.producer import Producer
from broker.handlers.add_offsets_to_txn import handle_add_offsets_to_txn
from protocol.errors import ErrorCode
from protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from tests.support.replicas import Delivery, context_of
from tests.support.transactions import TransactionBroker


def add(one: TransactionBroker, producer: Producer, version: int = 4) -> int:
    request = AddOffsetsToTxnRequest(
        transactional_id=producer.transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        group_id="g",
    )
    result = handle_add_offsets_to_txn(
        context_of(version),
        request,
        transactions=one.coordinator,
        offsets_partitions=lambda: 50,
    )
    return Delivery(result, AddOffsetsToTxnResponse).reply.error_code


def test_the_partition_of_the_group_joins() -> None:
    one = TransactionBroker()
    assert add(one, one.begin()) == ErrorCode.NONE
    assert one.transaction().partitions == {("__consumer_offsets", partition_of("g", 50))}


def test_a_fence_is_told_in_the_words_of_the_version() -> None:
    one = TransactionBroker()
    old = one.begin()
    one.begin()
    assert add(one, old, 1) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert add(one, old, 2) == ErrorCode.PRODUCER_FENCED
