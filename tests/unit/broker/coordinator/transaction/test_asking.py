import pytest

from broker.coordinator.transaction.asking import Manner
from broker.coordinator.transaction.producer import Producer
from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicPartition
from tests.support.transactions import TransactionBroker

TP = TopicPartition("t", 0)


def ask(
    one: TransactionBroker, producer: Producer, manner: Manner, *, patiently: bool = False
) -> list[ErrorCode]:
    """NONE, or the code of a refusal; nothing while there is no answer."""
    told: list[ErrorCode] = []

    def tell(refused: object) -> None:
        error = refused.get(TP) if isinstance(refused, dict) else None
        told.append(error.code if isinstance(error, KafkaError) else ErrorCode.NONE)

    one.questions.ask(producer, [TP], manner, tell, patiently=patiently)
    return told


def test_producers_of_the_second_protocol_have_their_partition_join() -> None:
    one = TransactionBroker()
    producer = one.begin()
    assert ask(one, producer, Manner.JOINS) == [ErrorCode.NONE]
    assert one.transaction().partitions == {TP}
    assert one.transaction().client_version == 2


@pytest.mark.parametrize(
    ("manner", "code"),
    [
        (Manner.OLD, ErrorCode.INVALID_TXN_STATE),
        (Manner.KNOWS_ABORTABLE, ErrorCode.TRANSACTION_ABORTABLE),
    ],
)
def test_others_are_told_that_it_has_not_joined(manner: Manner, code: ErrorCode) -> None:
    one = TransactionBroker()
    producer = one.begin()
    assert ask(one, producer, manner) == [code]
    one.add(producer, TP)
    assert ask(one, producer, manner) == [ErrorCode.NONE]


def test_a_fenced_producer_hears_of_its_epoch() -> None:
    one = TransactionBroker()
    old = one.begin()
    one.begin()
    for manner in Manner:
        assert ask(one, old, manner) == [ErrorCode.INVALID_PRODUCER_EPOCH]


def test_it_is_asked_again_while_the_last_transaction_ends() -> None:
    one = TransactionBroker()
    producer = one.begin()
    one.add(producer, ("t", 1))
    one.broker.partition("t", 1).is_leader = False
    one.end(producer, commit=True)
    assert ask(one, producer, Manner.JOINS) == [ErrorCode.CONCURRENT_TRANSACTIONS]
    patient = ask(one, producer, Manner.JOINS, patiently=True)
    for _ in range(5):
        assert patient == []
        one.broker.advance(20)
    assert patient == [ErrorCode.CONCURRENT_TRANSACTIONS]
    patient = ask(one, producer, Manner.JOINS, patiently=True)
    one.broker.partition("t", 1).is_leader = True
    for _ in range(5):
        one.broker.advance(20)
    assert patient == [ErrorCode.NONE]


def test_only_the_older_protocol_can_go_without_asking() -> None:
    one = TransactionBroker()
    one.verifies = False
    assert [manner for manner in Manner if one.questions.is_asked(manner)] == [Manner.JOINS]
