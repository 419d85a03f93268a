"""Transactions as transcripts: what is asked, what is answered, what state it leaves."""

import pytest

from broker.coordinator.transaction.metadata import EXHAUSTED_EPOCH, LAST_EPOCH
from broker.coordinator.transaction.producer import Producer, ProducerIdAndEpoch
from broker.coordinator.transaction.states import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
)
from config.topic_config import LogConfig
from protocol.errors import ErrorCode
from protocol.model import TRANSACTION_STATE_TOPIC
from tests.support.transactions import (
    EXPIRATION_MS,
    EXPIRY_INTERVAL_MS,
    TIMEOUT_INTERVAL_MS,
    TIMEOUT_MS,
    WAITING,
    TransactionBroker,
)

FLUSHED_FIRST = LogConfig(flush_messages=1)


def used_up(one: TransactionBroker, epoch: int) -> Producer:
    """A producer that has come to an epoch by beginning over and over."""
    producer = one.begin()
    before = one.transaction()
    one.shard.transactions["id"] = before._replace(producer_epoch=epoch)
    return producer._replace(producer_epoch=epoch)


# Beginning.


def test_a_new_id_begins_at_epoch_zero_and_each_producer_after_it_one_later() -> None:
    one = TransactionBroker()
    assert one.start() == (1000, 0)
    assert one.start() == (1000, 1)
    assert one.transaction().state is EMPTY
    assert one.transaction().producer_epoch == 1


def test_other_ids_have_other_producer_ids() -> None:
    one = TransactionBroker()
    assert one.start("a") == (1000, 0)
    assert one.start("b") == (1001, 0)


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_a_timeout_out_of_bounds_is_refused(timeout_ms: int) -> None:
    one = TransactionBroker()
    assert one.start(timeout_ms=timeout_ms) is ErrorCode.INVALID_TRANSACTION_TIMEOUT


def test_a_producer_that_names_its_epoch_gets_the_next_and_so_does_its_retry() -> None:
    one = TransactionBroker()
    one.start()
    assert one.start(claimed=ProducerIdAndEpoch(1000, 0)) == (1000, 1)
    assert one.start(claimed=ProducerIdAndEpoch(1000, 0)) == (1000, 1)
    assert one.start(claimed=ProducerIdAndEpoch(1000, 1)) == (1000, 2)
    assert one.start(claimed=ProducerIdAndEpoch(1000, 0)) is ErrorCode.PRODUCER_FENCED


def test_a_producer_with_another_id_is_fenced() -> None:
    one = TransactionBroker()
    one.start()
    assert one.start(claimed=ProducerIdAndEpoch(7, 0)) is ErrorCode.PRODUCER_FENCED


def test_an_id_nobody_used_takes_any_claim() -> None:
    one = TransactionBroker()
    assert one.start(claimed=ProducerIdAndEpoch(7, 5)) == (1000, 0)


def test_without_a_producer_id_at_hand_the_client_comes_back() -> None:
    one = TransactionBroker()
    one.has_producer_ids = False
    assert one.start() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


@pytest.mark.parametrize("epoch", [EXHAUSTED_EPOCH, LAST_EPOCH])
def test_a_used_up_epoch_gives_another_producer_id(epoch: int) -> None:
    one = TransactionBroker()
    used_up(one, epoch)
    assert one.start() == (1001, 0)
    assert one.transaction().previous_producer_id == 1000


def test_the_retry_of_a_change_of_ids_gets_the_same_id() -> None:
    one = TransactionBroker()
    used_up(one, EXHAUSTED_EPOCH)
    claimed = ProducerIdAndEpoch(1000, EXHAUSTED_EPOCH)
    assert one.start(claimed=claimed) == (1001, 0)
    assert one.start(claimed=claimed) == (1001, 0)


# A transaction of the first protocol.


def test_a_transaction_passes_through_its_states_and_its_markers_are_written() -> None:
    one = TransactionBroker()
    producer = one.begin()
    assert one.add(producer, ("t", 0), ("t", 2)) is None
    assert one.transaction().state is ONGOING
    assert one.end(producer, commit=True) == (1000, 0)
    assert one.transaction().state is COMPLETE_COMMIT
    assert not one.transaction().partitions
    assert one.markers("t", 0) == one.markers("t", 2) == [(1000, 0, True)]
    assert one.markers("t", 1) == []


def test_partitions_that_are_in_the_transaction_already_write_nothing() -> None:
    one = TransactionBroker()
    producer = one.begin()
    one.add(producer, ("t", 0))
    before = one.broker.log(TRANSACTION_STATE_TOPIC).log_end_offset
    assert one.add(producer, ("t", 0)) is None
    assert one.broker.log(TRANSACTION_STATE_TOPIC).log_end_offset == before


def test_a_transaction_keeps_the_time_it_began_at() -> None:
    one = TransactionBroker()
    producer = one.begin()
    one.add(producer, ("t", 0))
    began = one.transaction().started_ms
    one.broker.clock.advance(5)
    one.add(producer, ("t", 1))
    assert one.transaction().started_ms == began
    one.end(producer, commit=False)
    one.broker.clock.advance(5)
    one.add(producer, ("t", 1))
    assert one.transaction().started_ms == began + 10


def test_the_same_end_again_is_answered_again_and_another_refused() -> None:
    one = TransactionBroker()
    producer = one.begin()
    one.add(producer, ("t", 0))
    one.end(producer, commit=False)
    assert one.end(producer, commit=False) == (1000, 0)
    assert one.end(producer, commit=True) is ErrorCode.INVALID_TXN_STATE
    assert one.markers() == [(1000, 0, False)]


@pytest.mark.parametrize("commit", [True, False])
def test_nothing_to_end_is_refused(commit: bool) -> None:
    one = TransactionBroker()
    assert one.end(one.begin(), commit=commit) is ErrorCode.INVALID_TXN_STATE


def test_who_asks_under_an_unknown_id_or_as_another_producer_is_refused() -> None:
    one = TransactionBroker()
    producer = one.begin()
    unknown = producer._replace(transactional_id="who")
    other = producer._replace(producer_id=5)
    old = one.begin() and producer
    for asked, code in (
        (unknown, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (other, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (old, ErrorCode.PRODUCER_FENCED),
        (old._replace(transactional_id=""), ErrorCode.INVALID_REQUEST),
    ):
        assert one.add(asked, ("t", 0)) is code
        assert one.verify(asked, ("t", 0)) is code
        assert one.end(asked, commit=True) is code
        assert one.end(asked, commit=True, version=2) is code


def test_verification_names_what_is_not_part_of_the_transaction() -> None:
    one = TransactionBroker()
    producer = one.begin()
    one.add(producer, ("t", 0))
    assert one.verify(producer, ("t", 0), ("t", 1)) == [("t", 1)]
    assert one.verify(producer, ("t", 0)) == []


# Fencing.


def test_a_second_producer_aborts_what_the_first_has_open_and_comes_back() -> None:
    one = TransactionBroker()
    producer = one.begin()
    one.add(producer, ("t", 0))
    assert one.start() is ErrorCode.CONCURRENT_TRANSACTIONS
    assert one.transaction().state is COMPLETE_ABORT
    assert one.markers() == [(1000, 1, False)]
    assert one.start() == (1000, 2)
    assert one.add(producer, ("t", 0)) is ErrorCode.PRODUCER_FENCED
    assert one.end(producer, commit=True) is ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize(("server_version", "next_id"), [(2, 1001), (0, 1001)])
def test_fencing_a_producer_at_its_last_epoch_goes_on_with_another_id(
    server_version: int, next_id: int
) -> None:
    one = TransactionBroker(server_version=server_version)
    producer = used_up(one, EXHAUSTED_EPOCH)
    one.add(producer, ("t", 0))
    assert one.start() is ErrorCode.CONCURRENT_TRANSACTIONS
    assert one.markers() == [(1000, LAST_EPOCH, False)]
    told = one.start()
    assert isinstance(told, ProducerIdAndEpoch)
    assert told.producer_id == next_id
    assert told.producer_epoch <= 1


# The second protocol.


def test_each_end_raises_the_epoch_and_its_marker_has_the_raised_one() -> None:
    one = TransactionBroker()
    producer = one.begin()
    one.add(producer, ("t", 0), version=2)
    assert one.end(producer, commit=True, version=2) == (1000, 1)
    assert one.markers() == [(1000, 1, True)]
    assert one.add(producer, ("t", 0), version=2) is ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize("commit", [True, False])
def test_a_retry_names_the_epoch_before_and_is_answered_again(commit: bool) -> None:
    one = TransactionBroker()
    producer = one.begin()
    one.add(producer, ("t", 0), version=2)
    one.end(producer, commit=commit, version=2)
    assert one.end(producer, commit=commit, version=2) == (1000, 1)
    assert one.end(producer, commit=not commit, version=2) is ErrorCode.INVALID_TXN_STATE
    assert len(one.markers()) == 1


def test_a_producer_that_lost_the_answer_to_its_end_may_begin_anew() -> None:
    one = TransactionBroker()
    producer = one.begin()
    one.add(producer, ("t", 0), version=2)
    one.end(producer, commit=True, version=2)
    assert one.start(claimed=ProducerIdAndEpoch(1000, 0)) == (1000, 1)


def test_an_abort_of_nothing_raises_the_epoch_and_a_commit_of_nothing_is_refused() -> None:
    one = TransactionBroker()
    producer = one.begin()
    assert one.end(producer, commit=True, version=2) is ErrorCode.INVALID_TXN_STATE
    assert one.end(producer, commit=False, version=2) == (1000, 1)
    assert one.transaction().state is COMPLETE_ABORT
    producer = producer._replace(producer_epoch=1)
    assert one.end(producer, commit=True, version=2) is ErrorCode.INVALID_TXN_STATE
    assert one.end(producer, commit=False, version=2) == (1000, 2)


def test_the_end_at_the_last_epoch_tells_another_id_and_knows_its_retry() -> None:
    one = TransactionBroker()
    producer = used_up(one, EXHAUSTED_EPOCH)
    one.add(producer, ("t", 0), version=2)
    assert one.end(producer, commit=True, version=2) == (1001, 0)
    assert one.markers() == [(1000, LAST_EPOCH, True)]
    assert one.end(producer, commit=True, version=2) == (1001, 0)
    assert one.end(producer, commit=False, version=2) is ErrorCode.INVALID_TXN_STATE
    assert one.add(Producer("id", 1001, 0), ("t", 0), version=2) is None


def test_a_fenced_producer_is_no_retry_of_one_that_raises_no_epochs() -> None:
    one = TransactionBroker()
    fenced = one.begin()
    producer = one.begin()
    one.add(producer, ("t", 0))
    one.end(producer, commit=False)
    assert one.end(fenced, commit=False, version=2) is ErrorCode.PRODUCER_FENCED


# While a write is not safe, or markers are under way.


def test_nothing_is_answered_and_nothing_else_begins_before_a_transition_is_safe() -> None:
    one = TransactionBroker(config=FLUSHED_FIRST)
    assert one.start() is WAITING
    assert one.start() is ErrorCode.CONCURRENT_TRANSACTIONS
    one.broker.run_jobs()
    producer = Producer("id", 1000, 0)
    assert one.add(producer, ("t", 0)) is WAITING
    assert one.end(producer, commit=True) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert one.add(producer, ("t", 1), version=2) is ErrorCode.CONCURRENT_TRANSACTIONS
    one.broker.run_jobs()
    assert one.end(producer, commit=True) is WAITING
    assert one.transaction().state is PREPARE_COMMIT
    assert one.markers() == []
    one.broker.run_jobs()
    assert one.markers() == [(1000, 0, True)]
    assert one.add(producer, ("t", 0)) is ErrorCode.CONCURRENT_TRANSACTIONS
    one.broker.run_jobs()
    assert one.add(producer, ("t", 0)) is WAITING


@pytest.mark.parametrize("commit", [True, False])
def test_while_markers_are_under_way_everything_else_comes_back_later(commit: bool) -> None:
    one = TransactionBroker()
    producer = one.begin()
    one.add(producer, ("t", 0))
    one.broker.partition("t", 0).is_leader = False
    assert one.end(producer, commit=commit) == (1000, 0)
    assert one.transaction().state is (PREPARE_COMMIT if commit else PREPARE_ABORT)
    concurrent = ErrorCode.CONCURRENT_TRANSACTIONS
    assert one.end(producer, commit=commit) is concurrent
    assert one.end(producer, commit=not commit) is concurrent
    assert one.end(producer, commit=commit, version=2) is concurrent
    assert one.add(producer, ("t", 0)) is concurrent
    assert one.verify(producer, ("t", 0)) is concurrent
    assert one.start() is concurrent
    one.broker.partition("t", 0).is_leader = True
    one.broker.advance(100)
    assert one.markers() == [(1000, 0, commit)]
    assert one.add(producer, ("t", 0)) is None


def test_a_write_that_is_refused_changes_nothing() -> None:
    one = TransactionBroker()
    one.start()
    state = one.broker.partition(TRANSACTION_STATE_TOPIC)
    isr, state.in_sync = state.in_sync, ()
    refused = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert one.start(claimed=ProducerIdAndEpoch(1000, 0)) is refused
    assert one.start(claimed=ProducerIdAndEpoch(1000, 0)) is refused
    state.in_sync = isr
    assert one.start(claimed=ProducerIdAndEpoch(1000, 0)) == (1000, 1)


# The clock.


@pytest.mark.parametrize("server_version", [0, 2])
def test_a_transaction_open_for_too_long_is_aborted_and_its_producer_fenced(
    server_version: int,
) -> None:
    one = TransactionBroker(server_version=server_version)
    producer = one.begin()
    one.add(producer, ("t", 0))
    for _ in range(TIMEOUT_MS // TIMEOUT_INTERVAL_MS):
        one.broker.advance(TIMEOUT_INTERVAL_MS)
    assert one.transaction().state is ONGOING
    one.broker.advance(TIMEOUT_INTERVAL_MS)
    assert one.transaction().state is COMPLETE_ABORT
    assert one.markers() == [(1000, 1, False)]
    assert one.end(producer, commit=True) is ErrorCode.PRODUCER_FENCED


def test_many_overdue_transactions_are_aborted_in_turns() -> None:
    one = TransactionBroker()
    for number in range(250):
        one.add(one.begin(f"id{number}"), ("t", 0))
    one.broker.clock.advance(TIMEOUT_MS)
    one.broker.advance(TIMEOUT_INTERVAL_MS)
    one.broker.advance(0)
    one.broker.advance(0)
    assert {each.state for each in one.shard.transactions.values()} == {COMPLETE_ABORT}


def test_the_clock_is_looked_at_again_where_nothing_could_be_written() -> None:
    one = TransactionBroker()
    one.add(one.begin(), ("t", 0))
    state = one.broker.partition(TRANSACTION_STATE_TOPIC)
    isr, state.in_sync = state.in_sync, ()
    one.broker.clock.advance(TIMEOUT_MS)
    one.broker.advance(TIMEOUT_INTERVAL_MS)
    assert one.transaction().state is ONGOING
    state.in_sync = isr
    one.broker.advance(TIMEOUT_INTERVAL_MS)
    assert one.transaction().state is COMPLETE_ABORT


def test_an_id_long_unused_is_forgotten_and_one_in_use_is_not() -> None:
    one = TransactionBroker()
    one.start("idle")
    busy = one.begin("busy", timeout_ms=900_000)
    one.broker.clock.advance(EXPIRATION_MS)
    one.add(busy, ("t", 0))
    one.broker.advance(EXPIRY_INTERVAL_MS - EXPIRATION_MS)
    assert set(one.shard.transactions) == {"busy"}
    one.crash()
    assert set(one.shard.transactions) == {"busy"}


# Loading.


def test_what_was_decided_comes_about_after_a_crash() -> None:
    one = TransactionBroker()
    producer = one.begin()
    one.add(producer, ("t", 0), ("t", 1))
    one.broker.partition("t", 1).is_leader = False
    one.end(producer, commit=True)
    one.broker.partition("t", 1).is_leader = True
    one.crash()
    assert one.transaction().state is COMPLETE_COMMIT
    assert one.markers("t", 1) == [(1000, 0, True)]
    assert one.markers("t", 0) == [(1000, 0, True)] * 2


def test_what_was_not_decided_stays_open_and_times_out() -> None:
    one = TransactionBroker()
    one.add(one.begin(), ("t", 0))
    one.crash()
    assert one.transaction().state is ONGOING
    one.broker.clock.advance(TIMEOUT_MS)
    one.broker.advance(TIMEOUT_INTERVAL_MS)
    assert one.transaction().state is COMPLETE_ABORT


def test_records_are_of_the_version_that_the_cluster_speaks() -> None:
    for server_version, value_version in ((0, 0), (1, 1), (2, 1)):
        one = TransactionBroker(server_version=server_version)
        one.start()
        (batch,) = one.batches(TRANSACTION_STATE_TOPIC)
        value = batch.records()[0].value
        assert value is not None
        assert int.from_bytes(value[:2], "big") == value_version
