import pytest

from broker.coordinator.shard import Waiter, Writer
from broker.coordinator.transaction.marker_writing import Marker, MarkerWriter
from config.topic_config import LogConfig
from protocol.errors import ErrorCode
from protocol.model import TopicPartition
from protocol.records.control import EndTransactionMarker
from tests.support.replicas import ReplicaBroker
from tests.support.tally_shard import Asker
from tests.support.transactions import batches_of

COMMIT = Marker(Writer(7, 3), EndTransactionMarker(True, 5))


class Coordinator:
    """Says of every marker what it was told to say."""

    def __init__(self, code: ErrorCode) -> None:
        self.code = code
        self.written: list[tuple[int, Writer, int]] = []

    def write_marker(
        self,
        index: int,
        writer: Writer,
        _marker: EndTransactionMarker,
        waiter: Waiter,
        transaction_version: int = 0,
    ) -> None:
        self.written.append((index, writer, transaction_version))
        if self.code:
            waiter.refuse(self.code)
        else:
            waiter.answer(None)


def write(
    broker: ReplicaBroker,
    marker: Marker = COMMIT,
    topic: str = "t",
    coordinator: Coordinator | None = None,
) -> Asker:
    runtimes = {} if coordinator is None else {"__consumer_offsets": coordinator}
    asker = Asker()
    writer = MarkerWriter(broker.replicas, runtimes, broker.clock.now_ms, lambda: 1000)
    writer.write(TopicPartition(topic, 0), marker, asker)
    return asker


def test_a_marker_is_a_control_batch_of_the_producer() -> None:
    broker = ReplicaBroker()
    broker.create("t")
    assert write(broker).told == [None]
    (batch,) = batches_of(broker, "t", 0)
    assert batch.is_control
    assert batch.is_transactional
    assert (batch.producer_id, batch.producer_epoch) == (7, 3)


def test_it_is_written_once_the_high_watermark_has_passed_it() -> None:
    broker = ReplicaBroker()
    broker.create("t", config=LogConfig(flush_messages=1))
    asker = write(broker)
    assert asker.told == []
    broker.run_jobs()
    assert asker.told == [None]
    late = write(broker)
    broker.advance(1000)
    assert late.told == [ErrorCode.REQUEST_TIMED_OUT]


def test_a_partition_that_is_nowhere_and_one_that_is_elsewhere_are_told_apart() -> None:
    broker = ReplicaBroker()
    assert write(broker).told == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    broker.create("t")
    broker.partition("t").is_leader = False
    assert write(broker).told == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


def test_the_second_protocol_wants_a_later_epoch() -> None:
    broker = ReplicaBroker()
    broker.create("t")
    batch = {"producer_id": 7, "producer_epoch": 3, "base_sequence": 0}
    broker.append(is_transactional=True, **batch)  # type: ignore[arg-type]
    assert write(broker, COMMIT._replace(transaction_version=2)).told == [
        ErrorCode.INVALID_PRODUCER_EPOCH
    ]
    assert write(broker).told == [None]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (ErrorCode.NONE, None),
        (ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
def test_markers_of_offsets_go_through_the_coordinator_of_groups(
    code: ErrorCode, told: ErrorCode | None
) -> None:
    broker = ReplicaBroker()
    broker.create("__consumer_offsets")
    coordinator = Coordinator(code)
    marker = COMMIT._replace(transaction_version=2)
    assert write(broker, marker, "__consumer_offsets", coordinator).told == [told]
    assert coordinator.written == [(0, Writer(7, 3), 2)]
