from broker.coordinator.transaction.states import (
    COMES_FROM,
    COMPLETE,
    EMPTY,
    IDLE,
    NAMES,
    ONGOING,
    PREPARED,
)
from protocol.internal.transaction_state import TransactionStatus


def test_a_decided_transaction_only_completes() -> None:
    for prepared in PREPARED:
        follows = {state for state, before in COMES_FROM.items() if prepared in before}
        assert len(follows) == 1
        assert follows <= COMPLETE


def test_only_what_is_open_is_committed() -> None:
    assert COMES_FROM[TransactionStatus.PREPARE_COMMIT] == {ONGOING}


def test_a_transaction_begins_where_none_is_and_stays_open() -> None:
    assert COMES_FROM[ONGOING] == IDLE | {ONGOING}
    assert COMES_FROM[EMPTY] == IDLE


def test_names_are_kafkas() -> None:
    assert NAMES[TransactionStatus.PREPARE_EPOCH_FENCE] == "PrepareEpochFence"
    assert NAMES[TransactionStatus.COMPLETE_COMMIT] == "CompleteCommit"
