"""ListOffsets: places and times, by version."""

import pytest

from broker.handlers.list_offsets import handle_list_offsets
from protocol.errors import ErrorCode
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from protocol.model import TopicPartition
from tests.support.replicas import ReplicaBroker, context_of, records_of

NOW = 1_700_000_000_000


@pytest.fixture
def broker() -> ReplicaBroker:
    made = ReplicaBroker()
    made.create("t")
    for late in (0, 10, 5):
        made.replicas.append(made.partition(), records_of(b"v", now_ms=NOW + late), 1)
    return made


def ask(
    broker: ReplicaBroker,
    timestamp: int,
    version: int = 11,
    *,
    topic: str = "t",
    replica_id: int = -1,
    twice: bool = False,
    epoch: int = -1,
) -> ErrorCode | tuple[int, int, int]:
    partition = ListOffsetsPartition(
        partition_index=0, timestamp=timestamp, current_leader_epoch=epoch
    )
    topics = [ListOffsetsTopic(name=topic, partitions=[partition] * (1 + twice))]
    request = ListOffsetsRequest(replica_id=replica_id, topics=topics)
    response = handle_list_offsets(context_of(version), request, replicas=broker.replicas)
    answer = response.topics[0].partitions[0]
    if answer.error_code:
        assert (answer.offset, answer.timestamp, answer.leader_epoch) == (-1, -1, -1)
        return ErrorCode(answer.error_code)
    return answer.timestamp, answer.offset, answer.leader_epoch


def test_latest_is_the_high_watermark_and_earliest_the_log_start(broker: ReplicaBroker) -> None:
    assert ask(broker, -1) == (-1, 3, 0)
    assert ask(broker, -2) == (-1, 0, 0)
    broker.partition().delete_records(2)
    assert ask(broker, -2) == (-1, 2, 0)
    assert ask(broker, -4) == (-1, 2, 0)


def test_a_time_gives_the_first_record_not_before_it(broker: ReplicaBroker) -> None:
    assert ask(broker, NOW) == (NOW, 0, 0)
    assert ask(broker, NOW + 1) == (NOW + 10, 1, 0)
    assert ask(broker, NOW + 11) == (-1, -1, -1)


def test_the_largest_timestamp_is_that_of_its_first_record(broker: ReplicaBroker) -> None:
    assert ask(broker, -3) == (NOW + 10, 1, 0)
    broker.create("empty")
    assert ask(broker, -3, topic="empty") == (-1, -1, -1)


def test_nothing_is_tiered(broker: ReplicaBroker) -> None:
    assert ask(broker, -5) == (-1, -1, -1)
    assert ask(broker, -6) == (-1, -1, -1)


@pytest.mark.parametrize(("timestamp", "first"), [(-3, 7), (-4, 8), (-5, 9), (-6, 11)])
def test_special_timestamps_need_their_version(
    broker: ReplicaBroker, timestamp: int, first: int
) -> None:
    assert ask(broker, timestamp, first - 1) == ErrorCode.UNSUPPORTED_VERSION
    assert isinstance(ask(broker, timestamp, first), tuple)


def test_other_negative_timestamps_are_unsupported(broker: ReplicaBroker) -> None:
    assert ask(broker, -7) == ErrorCode.UNSUPPORTED_VERSION


def test_a_partition_asked_for_twice_is_invalid(broker: ReplicaBroker) -> None:
    assert ask(broker, -1, twice=True) == ErrorCode.INVALID_REQUEST


def test_unknown_partitions_and_epochs_are_refused(broker: ReplicaBroker) -> None:
    assert ask(broker, -1, topic="no") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ask(broker, -1, epoch=5) == ErrorCode.UNKNOWN_LEADER_EPOCH


def lagging() -> ReplicaBroker:
    """A new leader whose followers have not confirmed what it has."""
    broker = ReplicaBroker()
    broker.create("t", replicas=(1, 2), isr=(1, 2))
    broker.append()
    state = broker.state(TopicPartition("t", 0), leader_epoch=1, replicas=(1, 2), isr=(1, 2))
    broker.replicas.become_leader_or_follower(1, [state])
    return broker


def test_a_high_watermark_behind_the_epoch_is_not_told_to_clients() -> None:
    broker = lagging()
    assert ask(broker, -1) == ErrorCode.OFFSET_NOT_AVAILABLE
    assert ask(broker, -1, version=4) == ErrorCode.LEADER_NOT_AVAILABLE
    assert ask(broker, NOW) == ErrorCode.OFFSET_NOT_AVAILABLE
    assert ask(broker, -2) == (-1, 0, 0)
    assert ask(broker, -1, replica_id=2) == (-1, 1, 1)


def test_only_debuggers_may_ask_a_follower(broker: ReplicaBroker) -> None:
    broker.tell_metadata([], brokers=(1, 2))
    state = broker.state(TopicPartition("t", 0), leader=2, leader_epoch=1, replicas=(1, 2))
    broker.replicas.become_leader_or_follower(1, [state])
    assert ask(broker, -1) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert ask(broker, -1, replica_id=-2) == (-1, 3, 1)
