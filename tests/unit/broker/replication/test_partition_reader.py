"""A fetch is answered at once for anything that waiting would not better."""

from broker.replication.delayed_fetch import FetchParams
from broker.replication.partition_read import PartitionRead, failed_read
from broker.replication.partition_reader import is_satisfied
from broker.replication.wanted_partition import WantedPartition
from protocol.errors import ErrorCode
from protocol.model import ZERO_TOPIC_ID, TopicPartition
from storage.log.results import ReadBound
from tests.support.replicas import ReplicaBroker
from tests.support.slices import slice_of

TP = TopicPartition("t", 0)


def params(min_bytes: int = 10, max_wait_ms: int = 100, replica_id: int = -1) -> FetchParams:
    bound = ReadBound.HIGH_WATERMARK if replica_id < 0 else ReadBound.LOG_END
    return FetchParams(replica_id, max_wait_ms, min_bytes, 1 << 20, bound, True)


def wanted(index: int = 0, offset: int = 0) -> WantedPartition:
    return WantedPartition(TopicPartition("t", index), ZERO_TOPIC_ID, index, offset, 1 << 20)


def found(nbytes: int) -> tuple[WantedPartition, PartitionRead]:
    read = PartitionRead(ErrorCode.NONE, 0, 0, 0)
    if nbytes:
        read.records = slice_of(nbytes)
    return wanted(), read


def failed(code: ErrorCode) -> tuple[WantedPartition, PartitionRead]:
    return wanted(), failed_read(code)


def test_enough_bytes_over_all_partitions_satisfy() -> None:
    assert is_satisfied(params(), [found(4), found(6)])
    assert not is_satisfied(params(), [found(4), found(5)])


def test_no_wait_or_nothing_to_wait_for_satisfies() -> None:
    assert is_satisfied(params(max_wait_ms=0), [found(0)])
    assert is_satisfied(params(), [])
    assert is_satisfied(params(), [failed(ErrorCode.UNKNOWN_TOPIC_ID)])


def test_an_error_satisfies_unless_the_partition_is_not_there_at_all() -> None:
    assert is_satisfied(params(), [found(0), failed(ErrorCode.NOT_LEADER_OR_FOLLOWER)])
    assert not is_satisfied(params(), [found(0), failed(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)])


def test_a_divergence_satisfies() -> None:
    one, read = found(0)
    read.diverging_epoch = (1, 2)
    assert is_satisfied(params(), [(one, read)])


def test_each_partition_is_counted_and_bugs_apart_from_refusals() -> None:
    broker = ReplicaBroker()
    broker.create("t", partitions=2)
    reads = broker.replicas.fetch(params(), [wanted(0), wanted(1, offset=7), wanted(9)])
    assert [read.error for _, read in reads] == [0, 1, 3]
    meters = broker.replicas.meters.topics["t"]
    assert (meters.total_fetch_requests, meters.failed_fetch_requests) == (2, 0)


def test_a_strangers_fetch_gives_no_records() -> None:
    broker = ReplicaBroker()
    broker.create("t")
    broker.append()
    ((_, read),) = broker.replicas.fetch(params(replica_id=7), [wanted()])
    assert read.error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert read.records is None
    assert read.current_leader == (1, 0)
