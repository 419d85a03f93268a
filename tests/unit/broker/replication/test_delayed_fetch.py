"""A waiting fetch counts bytes by position and looks again only at what changed."""

from broker.replication.delayed_fetch import DelayedFetch, FetchParams
from broker.replication.fetch_session import Reads
from broker.replication.partition_read import failed_read
from broker.replication.wanted_partition import WantedPartition
from protocol.errors import ErrorCode
from protocol.model import ZERO_TOPIC_ID, TopicPartition
from storage.log.results import ReadBound
from tests.support.replicas import ReplicaBroker

READS: Reads = [
    (WantedPartition(None, ZERO_TOPIC_ID, 0, 0, 1), failed_read(ErrorCode.UNKNOWN_TOPIC_ID))
]
Answered = list[Reads | Exception]


def waiting(
    broker: ReplicaBroker, min_bytes: int, count: int = 2, max_bytes: int = 1 << 20
) -> tuple[DelayedFetch, Answered]:
    params = FetchParams(-1, 100, min_bytes, 1 << 20, ReadBound.HIGH_WATERMARK, True)
    sources = [
        (
            WantedPartition(TopicPartition("t", i), ZERO_TOPIC_ID, i, 0, max_bytes),
            broker.partition(index=i),
        )
        for i in range(count)
    ]
    answered: Answered = []
    operation = DelayedFetch(params, sources, lambda: READS, answered.append, answered.append)
    return operation, answered


def made(partitions: int = 2) -> ReplicaBroker:
    broker = ReplicaBroker()
    broker.create("t", partitions=partitions)
    return broker


def test_it_is_due_at_the_minimum_over_all_partitions() -> None:
    broker = made()
    broker.append(index=0)
    size = broker.log().size
    operation, _ = waiting(broker, 2 * size)
    assert not operation.is_due(None)
    broker.append(index=1)
    assert not operation.is_due(TopicPartition("t", 0))
    assert operation.is_due(TopicPartition("t", 1))


def test_a_partition_counts_no_more_than_is_wanted_of_it() -> None:
    broker = made(1)
    broker.append()
    operation, _ = waiting(broker, 11, count=1, max_bytes=10)
    assert not operation.is_due(None)


def test_a_refusal_is_an_answer() -> None:
    broker = made(1)
    operation, _ = waiting(broker, 1, count=1)
    assert not operation.is_due(None)
    broker.partition().stop()
    assert operation.is_due(TopicPartition("t", 0))


def test_it_reads_once_more_and_tells_its_failure() -> None:
    operation, answered = waiting(made(1), 1, count=1)
    assert operation.complete()
    assert not operation.complete()
    error = RuntimeError("bug")
    operation.on_failure(error)
    assert answered == [READS, error]
