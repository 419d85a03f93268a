"""Records of `__transaction_state`: byte for byte those that Kafka writes."""

import tarfile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.internal.coordinator_record import CoordinatorRecord
from protocol.internal.transaction_state import (
    RECORDS,
    TransactionLogKey,
    TransactionLogValue,
    TransactionStatus,
)
from protocol.records.batch import iterate_batches
from tests.support.message_values import values_of
from tests.support.storage_golden import ARCHIVE


@pytest.fixture(scope="module")
def states() -> list[tuple[bytes, bytes]]:
    """What Kafka 4.3 wrote for the transactional id t1: one commit, one abort."""
    with tarfile.open(ARCHIVE.parent / "storage-dirs.tar.xz") as archive:
        member = "./clean/__transaction_state-1/00000000000000000000.log"
        file = archive.extractfile(member)
        assert file is not None
        content = file.read()
    return [
        (record.key or b"", record.value or b"")
        for batch in iterate_batches(content)
        for record in batch.records()
    ]


def test_kafkas_records_decode_and_encode_to_the_same_bytes(
    states: list[tuple[bytes, bytes]],
) -> None:
    for key, value in states:
        assert RECORDS.encode(RECORDS.decode(key, value)) == (key, value)


def test_a_transaction_passes_through_its_states(states: list[tuple[bytes, bytes]]) -> None:
    values: list[Any] = [RECORDS.decode(key, value).value for key, value in states]
    passed = [TransactionStatus(value.transaction_status).name for value in values]
    assert passed[:4] == ["EMPTY", "ONGOING", "PREPARE_COMMIT", "COMPLETE_COMMIT"]
    assert passed[4:] == ["EMPTY", "ONGOING", "PREPARE_ABORT", "COMPLETE_ABORT"]
    assert values[0].transaction_partitions is None
    assert values[1].transaction_partitions[0].partition_ids == [0]
    assert all(value.previous_producer_id == 1 for value in values)


def test_version_0_has_no_tags() -> None:
    value = TransactionLogValue(producer_id=7, previous_producer_id=6, transaction_status=1)
    record = CoordinatorRecord(0, TransactionLogKey(transactional_id="t"), 0, value)
    decoded: Any = RECORDS.decode(*RECORDS.encode(record)).value
    assert (decoded.producer_id, decoded.previous_producer_id) == (7, -1)


@given(data=st.data())
def test_any_state_survives_encoding(data: st.DataObject) -> None:
    version = data.draw(st.sampled_from((0, 1)))
    key = data.draw(values_of(TransactionLogKey, 0))
    value = data.draw(values_of(TransactionLogValue, version))
    record = CoordinatorRecord(0, key, version, value)
    assert RECORDS.decode(*RECORDS.encode(record)) == record
