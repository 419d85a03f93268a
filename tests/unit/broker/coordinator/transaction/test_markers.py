from broker.coordinator.transaction.markers import MARKERS_A_TURN, PAUSE_MS
from broker.coordinator.transaction.producer import Producer
from broker.coordinator.transaction.states import COMPLETE_COMMIT, PREPARE_COMMIT
from config.topic_config import LogConfig
from protocol.errors import ErrorCode
from protocol.model import TRANSACTION_STATE_TOPIC
from protocol.records.control import EndTransactionMarker
from protocol.records.control import build_end_transaction_marker as marker_of
from storage.log.results import Origin
from tests.support.transactions import WAITING, TransactionBroker


def test_only_the_partitions_that_refused_are_written_again() -> None:
    one = TransactionBroker()
    producer = one.begin()
    one.add(producer, ("t", 0), ("t", 1))
    one.broker.partition("t", 1).is_leader = False
    one.end(producer, commit=True)
    for _ in range(3):
        one.broker.advance(PAUSE_MS)
    assert one.transaction().state is PREPARE_COMMIT
    one.broker.partition("t", 1).is_leader = True
    one.broker.advance(PAUSE_MS)
    assert one.transaction().state is COMPLETE_COMMIT
    assert len(one.markers("t", 0)) == len(one.markers("t", 1)) == 1


def test_a_deleted_topic_holds_nothing_up() -> None:
    one = TransactionBroker()
    producer = one.begin()
    one.add(producer, ("t", 0), ("t", 1))
    one.broker.delete("t", 1)
    one.end(producer, commit=True)
    assert one.transaction().state is COMPLETE_COMMIT
    assert one.markers() == [(1000, 0, True)]


def test_a_log_that_knows_a_later_coordinator_ends_the_attempt() -> None:
    one = TransactionBroker()
    producer = one.begin()
    one.add(producer, ("t", 0))
    later = marker_of(
        EndTransactionMarker(False, 9), producer_id=1000, producer_epoch=0, timestamp=0
    )
    one.broker.replicas.append(one.broker.partition("t"), memoryview(later), -1, Origin.COORDINATOR)
    one.end(producer, commit=True)
    for _ in range(3):
        one.broker.advance(PAUSE_MS)
    assert one.transaction().state is PREPARE_COMMIT
    assert len(one.markers()) == 1


def test_a_turn_has_so_many_markers_and_the_next_one_goes_on() -> None:
    one = TransactionBroker()
    for number in range(MARKERS_A_TURN + 10):
        producer = one.begin(f"id{number}")
        one.add(producer, ("t", 0))
        one.end(producer, commit=True)
    assert len(one.markers()) == MARKERS_A_TURN
    one.broker.turn()
    assert len(one.markers()) == MARKERS_A_TURN + 10
    assert {each.state for each in one.shard.transactions.values()} == {COMPLETE_COMMIT}


def test_a_decision_that_did_not_become_safe_in_time_is_looked_at_until_it_is() -> None:
    one = TransactionBroker(config=LogConfig(flush_messages=1))
    one.start()
    one.broker.run_jobs()
    producer = Producer("id", 1000, 0)
    one.add(producer, ("t", 0))
    one.broker.run_jobs()
    assert one.end(producer, commit=True) is WAITING
    one.broker.advance(5000)
    one.broker.advance(PAUSE_MS)
    assert one.markers() == []
    one.broker.run_jobs()
    for _ in range(3):
        one.broker.advance(PAUSE_MS)
        one.broker.run_jobs()
    assert one.markers() == [(1000, 0, True)]
    assert one.transaction().state is COMPLETE_COMMIT


def test_a_completion_that_is_refused_is_written_later() -> None:
    one = TransactionBroker()
    producer = one.begin()
    one.add(producer, ("t", 0))
    one.broker.partition("t", 0).is_leader = False
    one.end(producer, commit=True)
    one.broker.partition("t", 0).is_leader = True
    state = one.broker.partition(TRANSACTION_STATE_TOPIC)
    isr, state.in_sync = state.in_sync, ()
    one.broker.advance(PAUSE_MS)
    assert one.markers() == [(1000, 0, True)]
    assert one.transaction().state is PREPARE_COMMIT
    state.in_sync = isr
    one.broker.advance(PAUSE_MS)
    assert one.transaction().state is COMPLETE_COMMIT


def test_nothing_is_written_for_a_shard_that_is_led_elsewhere() -> None:
    one = TransactionBroker()
    producer = one.begin()
    one.add(producer, ("t", 0))
    one.broker.partition("t", 0).is_leader = False
    one.end(producer, commit=True)
    one.broker.partition("t", 0).is_leader = True
    one.broker.partition(TRANSACTION_STATE_TOPIC).is_leader = False
    for shard in one.shards:
        shard.unloaded()
    one.broker.advance(PAUSE_MS)
    assert one.markers() == []
    assert one.end(producer, commit=True) is ErrorCode.NOT_COORDINATOR
