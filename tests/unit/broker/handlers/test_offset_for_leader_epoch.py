"""OffsetForLeaderEpoch: the end of an epoch, fenced by the current one."""

from broker.handlers.offset_for_leader_epoch import handle_offset_for_leader_epoch
from protocol.errors import ErrorCode
from protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from protocol.model import TopicPartition
from tests.support.replicas import ReplicaBroker, context_of


def ask(
    broker: ReplicaBroker, *wanted: tuple[int, int], topic: str = "t"
) -> list[tuple[int, int, int]]:
    partitions = [
        OffsetForLeaderPartition(partition=0, leader_epoch=epoch, current_leader_epoch=current)
        for epoch, current in wanted
    ]
    request = OffsetForLeaderEpochRequest(
        topics=[OffsetForLeaderTopic(topic=topic, partitions=partitions)]
    )
    response = handle_offset_for_leader_epoch(context_of(4), request, replicas=broker.replicas)
    (answered,) = response.topics
    assert answered.topic == topic
    return [(one.error_code, one.leader_epoch, one.end_offset) for one in answered.partitions]


def test_each_epoch_ends_where_the_next_begins() -> None:
    broker = ReplicaBroker()
    broker.create("t")
    broker.append()
    state = broker.state(TopicPartition("t", 0), leader_epoch=4)
    broker.replicas.become_leader_or_follower(1, [state])
    broker.append()
    assert ask(broker, (0, -1), (3, 4), (4, 4), (5, -1)) == [
        (0, 0, 1),
        (0, 0, 1),
        (0, 4, 2),
        (0, -1, -1),
    ]


def test_errors_stay_with_their_partition() -> None:
    broker = ReplicaBroker()
    broker.create("t")
    assert ask(broker, (0, 7)) == [(ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ask(broker, (0, -1), topic="no") == [(unknown, -1, -1)]
