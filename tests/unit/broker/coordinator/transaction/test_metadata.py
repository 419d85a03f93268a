import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.coordinator.shard import CoordinatorRecord
from broker.coordinator.transaction import metadata
from broker.coordinator.transaction.metadata import (
    LAST_EPOCH,
    Transaction,
    by_topic,
    completed,
    created,
    decided,
    decode_record,
    fenced,
    joined,
    record_of,
    reopened,
    tombstone_of,
)
from broker.coordinator.transaction.states import COMPLETE_COMMIT, EMPTY, ONGOING
from protocol.internal.coordinator_record import UndecodableRecord
from protocol.internal.transaction_state import TransactionStatus
from protocol.model import TopicPartition
from protocol.records.batch import iterate_batches
from tests.support.storage_golden import ARCHIVE

OPEN = joined(created("id", 7, 1000, 5), [TopicPartition("t", 1)], 2, 10)

longs = st.integers(-1, 2**63 - 1)
transactions = st.builds(
    Transaction,
    st.text(max_size=20),
    longs,
    st.integers(-1, LAST_EPOCH),
    st.integers(0, 2**31 - 1),
    st.sampled_from([state for state in TransactionStatus if state is not EMPTY]),
    st.frozensets(st.builds(TopicPartition, st.text(max_size=3), st.integers(0, 9)), max_size=5),
    longs,
    longs,
    longs,
    longs,
    st.integers(0, 2),
)


@given(transactions)
def test_a_record_says_all_of_a_transaction(transaction: Transaction) -> None:
    assert decode_record(record_of(transaction, 1)) == (transaction.transactional_id, transaction)


def test_the_older_version_leaves_out_what_only_the_newer_protocol_needs() -> None:
    decoded = decode_record(record_of(OPEN, 0))[1]
    assert decoded is not None
    assert decoded == OPEN._replace(previous_producer_id=-1, client_version=0)


def test_what_kafka_wrote_is_written_again_to_the_byte() -> None:
    with tarfile.open(ARCHIVE.parent / "storage-dirs.tar.xz") as archive:
        file = archive.extractfile("./clean/__transaction_state-1/00000000000000000000.log")
        assert file is not None
        content = file.read()
    records = [record for batch in iterate_batches(content) for record in batch.records()]
    assert len(records) == 8
    for record in records:
        kafkas = CoordinatorRecord(record.key or b"", record.value)
        transaction = decode_record(kafkas)[1]
        assert transaction is not None
        assert record_of(transaction, 1) == kafkas


def test_a_tombstone_forgets_the_id() -> None:
    assert decode_record(tombstone_of("id")) == ("id", None)


def test_bytes_that_are_no_record_are_refused() -> None:
    record = record_of(OPEN, 1)
    assert record.value is not None
    with pytest.raises(UndecodableRecord):
        decode_record(record._replace(value=record.value[:-3]))


def test_partitions_are_written_by_topic_in_order() -> None:
    partitions = [TopicPartition("u", 0), TopicPartition("t", 2), TopicPartition("t", 1)]
    assert by_topic(partitions) == [("t", [1, 2]), ("u", [0])]


def test_each_transition_remembers_the_producer_id_before_it() -> None:
    rotated = completed(decided(OPEN, True, 2, 8, 20), 30)
    assert (rotated.producer_id, rotated.producer_epoch) == (8, 0)
    assert rotated.previous_producer_id == 7
    assert rotated.next_producer_id == -1
    again = joined(rotated, [TopicPartition("t", 0)], 2, 40)
    assert again.previous_producer_id == 8


def test_only_the_second_protocol_raises_the_epoch_at_an_end() -> None:
    assert decided(OPEN, True, 0, -1, 20).producer_epoch == OPEN.producer_epoch
    assert decided(OPEN, True, 2, -1, 20).producer_epoch == OPEN.producer_epoch + 1


@pytest.mark.parametrize("version", [0, 2])
def test_a_fence_takes_the_epoch_from_the_producer_but_never_goes_beyond_the_last(
    version: int,
) -> None:
    assert fenced(OPEN, -1, version, 20).producer_epoch == OPEN.producer_epoch + 1
    last = OPEN._replace(producer_epoch=LAST_EPOCH)
    assert fenced(last, -1, version, 20).producer_epoch == LAST_EPOCH


def test_a_transition_that_is_not_in_the_table_is_a_bug() -> None:
    with pytest.raises(AssertionError):
        reopened(OPEN, 7, 1, 1000, 20)
    with pytest.raises(AssertionError):
        completed(OPEN, 20)


def test_an_open_transaction_is_overdue_after_its_time() -> None:
    assert not OPEN.is_overdue(10 + 1000)
    assert OPEN.is_overdue(10 + 1001)
    ended = completed(decided(OPEN, True, 0, -1, 20), 30)
    assert ended.state is COMPLETE_COMMIT
    assert not ended.is_overdue(10**9)
    assert OPEN.state is ONGOING
    assert metadata.is_exhausted(LAST_EPOCH - 1)
