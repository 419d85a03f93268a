from broker.coordinator.partition_of import partition_of
from broker.coordinator.transaction.metadata import Transaction
from protocol.errors import ErrorCode
from tests.support.tally_shard import Asker
from tests.support.transactions import TransactionBroker


def test_an_id_lives_where_its_hash_says() -> None:
    one = TransactionBroker(partitions=5)
    for name in ("a", "b", "some-id"):
        assert one.coordinator.partition_for(name) == partition_of(name, 5)
        assert one.start(name)
    assert {each.transactional_id for each in one.coordinator.transactions()} == {
        "a",
        "b",
        "some-id",
    }


def test_without_the_topic_nobody_coordinates() -> None:
    one = TransactionBroker(partitions=0)
    assert one.coordinator.partition_for("id") is None
    assert one.start() is ErrorCode.NOT_COORDINATOR


def test_an_id_is_described_if_it_is_known() -> None:
    one = TransactionBroker()
    one.start("id")
    told = []
    for name in ("id", "who", ""):
        asker = Asker()
        one.coordinator.describe(name, asker)
        told += asker.told
    known, *others = told
    assert isinstance(known, Transaction)
    assert known.producer_id == 1000
    assert others == [ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, ErrorCode.INVALID_REQUEST]
    assert not one.coordinator.is_loading
