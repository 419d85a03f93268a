"""Who may append what: sequences, epochs, transactions, markers."""

import pytest

from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicPartition
from protocol.records.control import EndTransactionMarker
from storage.log.results import Origin
from storage.producer.append_check import (
    AppendContext,
    CompletedTransaction,
    ProducerUpdate,
    check_data,
    check_marker,
)
from storage.producer.entry import BatchMetadata, ProducerEntry
from storage.producer.verification import Verification
from tests.support.record_batches import batch_at, marker_at

TP = TopicPartition("t", 0)
LAST = 2**31 - 1
CLIENT, COORDINATOR, REPLICATION = Origin.CLIENT, Origin.COORDINATOR, Origin.REPLICATION


def entry(epoch: int = 3, last_sequence: int = 9, transaction: int = -1) -> ProducerEntry:
    made = ProducerEntry(1)
    made.producer_epoch = epoch
    made.coordinator_epoch = 5
    made.transaction_first_offset = transaction
    if last_sequence >= 0:
        made.add(BatchMetadata(last_sequence, 50, 0, 0))
    return made


def data(
    known: ProducerEntry | None,
    sequence: int,
    epoch: int = 3,
    *,
    origin: Origin = CLIENT,
    transactional: bool = False,
    verification: Verification | None = None,
) -> ErrorCode | ProducerUpdate:
    batch = batch_at(
        100,
        2,
        producer_id=1,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=transactional,
    )
    try:
        return check_data(AppendContext(TP, origin, known, verification), batch)
    except KafkaError as error:
        return error.code if error.message else ErrorCode.UNKNOWN_SERVER_ERROR


def marker(
    known: ProducerEntry | None,
    epoch: int = 3,
    *,
    origin: Origin = COORDINATOR,
    coordinator_epoch: int = 5,
    transaction_version: int = 0,
) -> ErrorCode | ProducerUpdate:
    batch = marker_at(100, producer_id=1, producer_epoch=epoch)
    end = EndTransactionMarker(False, coordinator_epoch)
    context = AppendContext(TP, origin, known, None, transaction_version)
    try:
        return check_marker(context, batch, end)
    except KafkaError as error:
        return error.code if error.message else ErrorCode.UNKNOWN_SERVER_ERROR


OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
FENCED = ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize(
    ("known", "sequence", "epoch", "refused"),
    [
        (None, 0, 0, None),
        (None, 77, 0, None),
        (entry(epoch=-1, last_sequence=-1), 77, 0, None),
        (entry(), 10, 3, None),
        (entry(), 11, 3, OUT_OF_ORDER),
        (entry(), 9, 3, OUT_OF_ORDER),
        (entry(), 0, 3, OUT_OF_ORDER),
        (entry(last_sequence=LAST), 0, 3, None),
        (entry(last_sequence=LAST), 1, 3, OUT_OF_ORDER),
        (entry(), 0, 4, None),
        (entry(), 10, 4, OUT_OF_ORDER),
        (entry(), 10, 2, FENCED),
        (entry(last_sequence=-1), 0, 3, None),
        (entry(last_sequence=-1), 1, 3, OUT_OF_ORDER),
    ],
)
def test_sequences_of_clients(
    known: ProducerEntry | None, sequence: int, epoch: int, refused: ErrorCode | None
) -> None:
    result = data(known, sequence, epoch)
    if refused is not None:
        assert result == refused
    else:
        last = (sequence + 1) & LAST
        assert result == ProducerUpdate(
            1, epoch, 1000, BatchMetadata(last, 101, 1, 1000), -1, None, None
        )


def test_coordinators_are_asked_for_their_epoch_only() -> None:
    assert isinstance(data(entry(), -1, origin=COORDINATOR), ProducerUpdate)
    assert data(entry(), 10, 2, origin=COORDINATOR) == FENCED


def test_nothing_that_was_replicated_is_questioned() -> None:
    for known in (entry(), entry(transaction=80)):
        assert isinstance(data(known, 5, 2, origin=REPLICATION), ProducerUpdate)
        assert isinstance(
            marker(known, 2, origin=REPLICATION, coordinator_epoch=4, transaction_version=2),
            ProducerUpdate,
        )


def test_the_first_transactional_batch_opens_a_transaction() -> None:
    opened = data(entry(), 10, transactional=True)
    assert isinstance(opened, ProducerUpdate)
    assert opened.started_offset == 100
    going_on = data(entry(transaction=80), 10, transactional=True)
    assert isinstance(going_on, ProducerUpdate)
    assert going_on.started_offset == -1


def test_plain_batches_do_not_mix_with_a_transaction() -> None:
    assert data(entry(transaction=80), 10) == ErrorCode.INVALID_TXN_STATE


def test_verified_batches_do_not_overtake_the_first_one_seen() -> None:
    seen = Verification(lowest_sequence=4, producer_epoch=3, supports_epoch_bump=False)
    assert data(None, 5, verification=seen) == OUT_OF_ORDER
    assert isinstance(data(None, 4, verification=seen), ProducerUpdate)
    bumped = Verification(lowest_sequence=4, producer_epoch=3, supports_epoch_bump=True)
    assert data(None, 4, verification=bumped) == OUT_OF_ORDER
    assert isinstance(data(None, 0, verification=bumped), ProducerUpdate)


def test_a_marker_completes_the_open_transaction() -> None:
    result = marker(entry(transaction=80), coordinator_epoch=6)
    assert isinstance(result, ProducerUpdate)
    assert result.completed == CompletedTransaction(1, 80, 100, True)
    assert result.coordinator_epoch == 6
    assert result.batch is None


@pytest.mark.parametrize("known", [None, entry()])
def test_a_marker_without_a_transaction_completes_nothing(known: ProducerEntry | None) -> None:
    result = marker(known)
    assert isinstance(result, ProducerUpdate)
    assert result.completed is None


def test_markers_are_fenced_by_both_epochs() -> None:
    assert marker(entry(), 2) == FENCED
    assert marker(entry(), coordinator_epoch=4) == ErrorCode.TRANSACTION_COORDINATOR_FENCED


@pytest.mark.parametrize(
    ("known", "epoch", "allowed"),
    [
        (None, 0, True),
        (entry(transaction=80), 4, True),
        (entry(transaction=80), 3, False),
        (entry(), 3, True),
        (entry(), 2, False),
        (entry(epoch=32767, transaction=80), 32767, True),
    ],
)
def test_markers_of_transactions_v2_come_with_a_greater_epoch(
    known: ProducerEntry | None, epoch: int, allowed: bool
) -> None:
    result = marker(known, epoch, transaction_version=2)
    assert isinstance(result, ProducerUpdate) if allowed else result == FENCED
