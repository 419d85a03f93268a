"""Questions about transactions: whose answer counts for which append."""

import pytest

from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicPartition
from storage.log.results import Origin
from storage.producer.state import ProducerState
from storage.producer.verification import TransactionTerms, Verification, Verifications
from tests.support.fault_disk import FaultDisk
from tests.support.record_batches import batch_at

TP = TopicPartition("t", 0)


def state() -> ProducerState:
    disk = FaultDisk()
    disk.mkdir("/d")
    return ProducerState(disk, "/d", TP)


def attempt(
    producers: ProducerState,
    presented: Verification | None,
    *,
    offset: int = 0,
    sequence: int = 0,
    epoch: int = 0,
    transactional: bool = True,
    origin: Origin = Origin.CLIENT,
) -> ErrorCode:
    batch = batch_at(
        offset,
        producer_id=1,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=transactional,
    )
    try:
        update = producers.check(batch, origin, TransactionTerms(presented), must_be_verified=True)
    except KafkaError as error:
        return error.code
    producers.apply(update)
    producers.end_verification(1)
    return ErrorCode.NONE


def ask(sequence: int = 0, epoch: int = 0, started_ms: int = 0) -> Verification:
    return Verification(sequence, epoch, False, started_ms)


@pytest.mark.parametrize("origin", [Origin.CLIENT, Origin.COORDINATOR])
def test_a_transaction_is_opened_only_with_what_was_asked(origin: Origin) -> None:
    producers = state()
    assert attempt(producers, None, origin=origin) == ErrorCode.INVALID_TXN_STATE
    assert attempt(producers, ask(), origin=origin) == ErrorCode.INVALID_TXN_STATE
    presented = producers.start_verification(1, ask())
    assert presented is not None
    assert attempt(producers, presented, origin=origin) == ErrorCode.NONE
    assert producers.start_verification(1, ask()) is None
    assert attempt(producers, None, offset=1, sequence=1, origin=origin) == ErrorCode.NONE


def test_replicas_and_plain_batches_need_none() -> None:
    assert attempt(state(), None, origin=Origin.REPLICATION) == ErrorCode.NONE
    assert attempt(state(), None, transactional=False) == ErrorCode.NONE


def test_an_answer_to_an_earlier_question_does_not_count() -> None:
    producers = state()
    stale = producers.start_verification(1, ask())
    producers.end_verification(1)
    assert producers.start_verification(1, ask()) is not stale
    assert attempt(producers, stale) == ErrorCode.INVALID_TXN_STATE


def test_an_old_epoch_is_told_so() -> None:
    producers = state()
    assert attempt(producers, producers.start_verification(1, ask(epoch=3)), epoch=3) == 0
    assert attempt(producers, None, epoch=2) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert producers.start_verification(1, ask(epoch=4)) is not None
    assert attempt(producers, None, epoch=4) == ErrorCode.INVALID_TXN_STATE


def test_batches_that_wait_together_share_the_question_and_its_lowest_sequence() -> None:
    questions = Verifications()
    first = questions.start(1, ask(5))
    assert questions.start(1, ask(3)) is first
    assert questions.start(1, ask(9)) is first
    assert (first.lowest_sequence, first.producer_epoch) == (3, 0)
    questions.start(1, ask(7, epoch=1))
    assert (first.lowest_sequence, first.producer_epoch) == (7, 1)
    questions.start(1, ask(2, epoch=0))
    assert first.lowest_sequence == 7
    assert "epoch 1" in repr(first)


def test_unanswered_questions_are_forgotten() -> None:
    questions = Verifications()
    questions.remove_expired(5000, 1000)
    questions.start(1, ask(started_ms=1000))
    questions.start(2, ask(started_ms=1500))
    questions.remove_expired(2000, 1000)
    assert len(questions) == 1
    assert questions.get(1) is None
    questions.end(2)
    assert questions.get(2) is None
