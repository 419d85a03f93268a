import pytest

from broker.coordinator.transaction.ending import end_of
from broker.coordinator.transaction.metadata import EXHAUSTED_EPOCH, Transaction
from broker.coordinator.transaction.producer import Producer
from broker.coordinator.transaction.states import COMPLETE_ABORT, COMPLETE_COMMIT, EMPTY, ONGOING
from protocol.errors import ErrorCode, KafkaError
from protocol.internal.transaction_state import TransactionStatus

Outcome = bool | ErrorCode
MAPPING = ErrorCode.INVALID_PRODUCER_ID_MAPPING
FENCED = ErrorCode.PRODUCER_FENCED
CONCURRENT = ErrorCode.CONCURRENT_TRANSACTIONS
STATE = ErrorCode.INVALID_TXN_STATE


def outcome(
    before: Transaction, version: int, commit: bool, producer: tuple[int, int], pending: bool
) -> Outcome:
    try:
        return end_of(before, pending, Producer("id", *producer), commit, version)
    except KafkaError as error:
        return error.code


@pytest.mark.parametrize(
    ("state", "version", "epoch", "commit", "abort"),
    [
        (ONGOING, 0, 5, True, True),
        (ONGOING, 2, 5, True, True),
        (ONGOING, 2, 4, FENCED, FENCED),
        (EMPTY, 0, 5, STATE, STATE),
        (EMPTY, 2, 5, STATE, True),
        (EMPTY, 2, 4, FENCED, FENCED),
        (COMPLETE_COMMIT, 0, 5, False, STATE),
        (COMPLETE_ABORT, 0, 5, STATE, False),
        (COMPLETE_COMMIT, 2, 4, False, STATE),
        (COMPLETE_ABORT, 2, 4, STATE, False),
        (COMPLETE_COMMIT, 2, 5, STATE, True),
        (COMPLETE_ABORT, 2, 5, STATE, True),
        (COMPLETE_ABORT, 0, 4, FENCED, FENCED),
        (COMPLETE_ABORT, 2, 6, FENCED, FENCED),
    ],
)
def test_what_an_end_comes_to(
    state: TransactionStatus, version: int, epoch: int, commit: Outcome, abort: Outcome
) -> None:
    before = Transaction("id", 7, 5, 1000, state, client_version=version)
    assert outcome(before, version, True, (7, epoch), False) == commit
    assert outcome(before, version, False, (7, epoch), False) == abort


def test_a_pending_transition_is_told_last_by_the_first_protocol_and_first_by_the_second() -> None:
    before = Transaction("id", 7, 5, 1000, ONGOING)
    assert outcome(before, 0, True, (8, 5), True) is MAPPING
    assert outcome(before, 0, True, (7, 4), True) is FENCED
    assert outcome(before, 0, True, (7, 5), True) is CONCURRENT
    assert outcome(before, 2, True, (8, 4), True) is CONCURRENT


def test_a_retry_over_a_change_of_ids_names_the_id_before_at_its_last_epoch() -> None:
    before = Transaction(
        "id", 8, 0, 1000, COMPLETE_COMMIT, previous_producer_id=7, client_version=2
    )
    assert outcome(before, 2, True, (7, EXHAUSTED_EPOCH), False) is False
    assert outcome(before, 2, False, (7, EXHAUSTED_EPOCH), False) is STATE
    assert outcome(before, 2, True, (7, 5), False) is MAPPING
