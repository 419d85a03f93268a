"""DeleteRecords: the log start rises here at once, the answer waits for the other replicas."""

from broker.handlers.delete_records import handle_delete_records
from protocol.errors import ErrorCode
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from tests.support.replicas import Delivery, ReplicaBroker, context_of


def delete(broker: ReplicaBroker, *offsets: int) -> Delivery[DeleteRecordsResponse]:
    partitions = [
        DeleteRecordsPartition(partition_index=index, offset=offset)
        for index, offset in enumerate(offsets)
    ]
    request = DeleteRecordsRequest(
        timeout_ms=100, topics=[DeleteRecordsTopic(name="t", partitions=partitions)]
    )
    result = handle_delete_records(context_of(2), request, replicas=broker.replicas)
    return Delivery(result, DeleteRecordsResponse)


def told(delivery: Delivery[DeleteRecordsResponse]) -> list[tuple[int, int, int]]:
    (topic,) = delivery.reply.topics
    return [(one.partition_index, one.error_code, one.low_watermark) for one in topic.partitions]


def test_each_partition_tells_its_low_watermark_or_its_error() -> None:
    broker = ReplicaBroker()
    broker.create("t", partitions=2)
    for _ in range(3):
        broker.append()
    assert told(delete(broker, 2, 9, -1)) == [
        (0, 0, 2),
        (1, ErrorCode.OFFSET_OUT_OF_RANGE, -1),
        (2, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
    ]
    assert told(delete(broker, -1)) == [(0, 0, 3)]
    assert told(delete(broker, 1)) == [(0, 0, 3)]


def test_a_live_replica_that_lags_is_waited_for_until_the_timeout() -> None:
    broker = ReplicaBroker()
    broker.create("t", replicas=(1, 2), isr=(1,))
    broker.append()
    broker.log().update_high_watermark(1)
    broker.tell_metadata([], brokers=(1, 2))
    delivery = delete(broker, 1)
    assert delivery.waiting
    broker.turn()
    assert delivery.waiting
    broker.advance(100)
    assert told(delivery) == [(0, ErrorCode.REQUEST_TIMED_OUT, -1)]


def test_the_answer_comes_when_the_last_replica_has_deleted() -> None:
    broker = ReplicaBroker()
    broker.create("t", replicas=(1, 2), isr=(1,))
    broker.append()
    broker.log().update_high_watermark(1)
    broker.tell_metadata([], brokers=(1, 2))
    delivery = delete(broker, 1)
    broker.partition().remotes[2].log_start_offset = 1
    broker.replicas.logs_changed([broker.log()])
    broker.turn()
    assert told(delivery) == [(0, 0, 1)]


def test_an_abandoned_deletion_is_forgotten() -> None:
    broker = ReplicaBroker()
    broker.create("t", replicas=(1, 2), isr=(1,))
    broker.append()
    broker.log().update_high_watermark(1)
    broker.tell_metadata([], brokers=(1, 2))
    delete(broker, 1).abandon()
    assert broker.replicas.purgatories.deletions.size == 0
