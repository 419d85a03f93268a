"""AlterReplicaLogDirs: each partition gets its own answer, under its topic."""

from broker.handlers.alter_replica_log_dirs import handle_alter_replica_log_dirs
from broker.handlers.describe_log_dirs import handle_describe_log_dirs
from broker.log_dir_moves import LogDirMoves
from protocol.errors import ErrorCode
from protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from tests.support.replicas import ReplicaBroker, context_of


def alter(
    broker: ReplicaBroker, wanted: dict[str, list[tuple[str, list[int]]]]
) -> dict[tuple[str, int], int]:
    """Codes by topic and partition, of {path: [(topic, partitions)]}."""
    request = AlterReplicaLogDirsRequest(
        dirs=[
            AlterReplicaLogDir(
                path=path,
                topics=[
                    AlterReplicaLogDirTopic(name=name, partitions=partitions)
                    for name, partitions in topics
                ],
            )
            for path, topics in wanted.items()
        ]
    )
    response = handle_alter_replica_log_dirs(
        context_of(2), request, moves=LogDirMoves(broker.logs, lambda: broker.moves)
    )
    names = [topic.topic_name for topic in response.results]
    assert len(names) == len(set(names))
    return {
        (topic.topic_name, one.partition_index): one.error_code
        for topic in response.results
        for one in topic.partitions
    }


def test_every_partition_is_answered_and_the_last_wish_counts() -> None:
    broker = ReplicaBroker(("/d1", "/d2"))
    broker.create("t", partitions=2)
    answers = alter(
        broker,
        {"/d2": [("t", [0]), ("u", [3])], "/nowhere": [("t", [1])], "/d1": [("t", [1])]},
    )
    assert answers == {
        ("t", 0): ErrorCode.NONE,
        ("t", 1): ErrorCode.NONE,
        ("u", 3): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_a_move_is_described_until_it_is_done() -> None:
    broker = ReplicaBroker(("/d1", "/d2"))
    broker.create("t")
    for _ in range(3):
        broker.append()
    size = broker.log().size
    assert alter(broker, {"/d2": [("t", [0])]}) == {("t", 0): ErrorCode.NONE}

    def described() -> dict[str, list[tuple[int, int, bool]]]:
        response = handle_describe_log_dirs(
            context_of(5),
            DescribeLogDirsRequest(topics=None),
            replicas=broker.replicas,
            logs=broker.logs,
        )
        return {
            result.log_dir: [
                (one.partition_size, one.offset_lag, one.is_future_key)
                for topic in result.topics
                for one in topic.partitions
            ]
            for result in response.results
        }

    assert described() == {"/d1": [(size, 0, False)], "/d2": [(0, 3, True)]}
    while broker.moves.moves:
        broker.run_jobs()
        broker.advance(20)
    assert described() == {"/d1": [], "/d2": [(size, 0, False)]}
