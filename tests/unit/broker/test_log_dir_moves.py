"""The manager of moves is made when there is something to move."""

from broker.log_dir_moves import LogDirMoves
from broker.replication.alter_log_dirs import ReplicaAlterLogDirsManager
from protocol.errors import ErrorCode
from protocol.model import TopicPartition
from tests.support.replicas import ReplicaBroker

TP = TopicPartition("t", 0)


def test_nothing_is_made_before_it_is_asked_for() -> None:
    broker = ReplicaBroker(("/d1", "/d2"))
    broker.create("t")
    made = 0

    def make() -> ReplicaAlterLogDirsManager:
        nonlocal made
        made += 1
        return broker.moves

    moves = LogDirMoves(broker.logs, make)
    moves.resume()
    moves.stop()
    assert made == 0
    assert moves.alter(TP, "/d2") == ErrorCode.NONE
    assert moves.alter(TP, "/d2") == ErrorCode.NONE
    assert made == 1
    moves.resume()
    moves.stop()
    assert moves.manager is broker.moves
    broker.run_jobs()
    broker.advance(1000)
    assert broker.log().log_dir == "/d1", "stopped, so nothing more begins"


def test_moves_found_at_start_are_gone_on_with() -> None:
    broker = ReplicaBroker(("/d1", "/d2"))
    broker.create("t")
    broker.logs.create_future(TP, "/d2", broker.clock.now_ms())
    LogDirMoves(broker.logs, lambda: broker.moves).resume()
    assert TP in broker.moves.moves
