"""ListOffsets: places and times, by version."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from broker.handlers.list_offsets import SEARCHES_AT_ONCE, handle_list_offsets
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from protocol.model import TopicPartition
from runtime.blocking import Workers
from storage.errors import StorageError
from tests.support.loops import closed_loop
from tests.support.replicas import ReplicaBroker, context_of, records_of

NOW = 1_700_000_000_000
T = TypeVar("T")
NO_WORKERS = Workers(closed_loop(), 1)


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
    response = handle_list_offsets(
        context_of(version), request, replicas=broker.replicas, workers=NO_WORKERS
    )
    assert isinstance(response, ListOffsetsResponse), "answered at once"
    return told(response)


def told(response: ListOffsetsResponse) -> ErrorCode | tuple[int, int, int]:
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


class Interrupting(Workers):
    """Lets something happen after the work, before the asker goes on."""

    def __init__(self, happens: Callable[[], object]) -> None:
        super().__init__(closed_loop(), 1)
        self._happens = happens
        self.ran = 0

    async def run(self, function: Callable[..., T], *args: Any) -> T:
        self.ran += 1
        result = function(*args)
        self._happens()
        return result


async def ask_packed(
    broker: ReplicaBroker, happens: Callable[[], object], timestamp: int = NOW
) -> ErrorCode | tuple[int, int, int]:
    partition = ListOffsetsPartition(
        partition_index=0, timestamp=timestamp, current_leader_epoch=-1
    )
    topics = [ListOffsetsTopic(name="packed", partitions=[partition])]
    workers = Interrupting(happens)
    result = handle_list_offsets(
        context_of(11),
        ListOffsetsRequest(replica_id=-1, topics=topics),
        replicas=broker.replicas,
        workers=workers,
    )
    assert inspect.isawaitable(result)
    response = await result
    assert workers.ran
    assert isinstance(response, ListOffsetsResponse)
    return told(response)


@pytest.fixture
def packed(broker: ReplicaBroker) -> ReplicaBroker:
    broker.create("packed")
    for late in (0, 10):
        records = records_of(b"v", now_ms=NOW + late, codec=1)
        broker.replicas.append(broker.partition("packed"), records, 1)
    return broker


@pytest.mark.parametrize(("timestamp", "found"), [(NOW, (NOW, 0, 0)), (-3, (NOW + 10, 1, 0))])
async def test_packed_records_are_searched_by_workers(
    packed: ReplicaBroker, timestamp: int, found: tuple[int, int, int]
) -> None:
    assert await ask_packed(packed, lambda: None, timestamp) == found


async def test_leadership_is_checked_again_after_a_search(packed: ReplicaBroker) -> None:
    def lose() -> None:
        state = packed.state(TopicPartition("packed", 0), leader=2, leader_epoch=1, replicas=(1, 2))
        packed.replicas.become_leader_or_follower(1, [state])

    packed.tell_metadata([], brokers=(1, 2))
    assert await ask_packed(packed, lose) == ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_a_partition_deleted_during_a_search_is_unknown(packed: ReplicaBroker) -> None:
    outcome = await ask_packed(packed, lambda: packed.delete("packed"))
    assert outcome == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_records_deleted_during_a_search_are_not_told(packed: ReplicaBroker) -> None:
    def delete() -> None:
        packed.partition("packed").delete_records(1)

    outcome = await ask_packed(packed, delete)
    assert outcome == (NOW + 10, 1, 0)


async def test_damage_met_in_a_log_that_was_cut_meanwhile_is_no_answer(
    packed: ReplicaBroker,
) -> None:
    def cut() -> None:
        if packed.log("packed").log_end_offset > 1:
            packed.log("packed").truncate_to(1, NOW)
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE)

    assert await ask_packed(packed, cut) == (NOW, 0, 0)


async def test_damage_is_told(packed: ReplicaBroker) -> None:
    def fail() -> None:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE)

    assert await ask_packed(packed, fail) == ErrorCode.CORRUPT_MESSAGE


async def test_a_disk_that_fails_takes_its_directory_offline(packed: ReplicaBroker) -> None:
    def fail() -> None:
        raise StorageError("/d1", "broken")

    assert await ask_packed(packed, fail) == ErrorCode.KAFKA_STORAGE_ERROR
    assert packed.failed_directories == ["/d1"]


def test_of_many_times_only_the_first_are_searched_for_at_once(broker: ReplicaBroker) -> None:
    broker.create("many", SEARCHES_AT_ONCE + 1)
    for index in range(SEARCHES_AT_ONCE + 1):
        records = records_of(b"v", now_ms=NOW)
        broker.replicas.append(broker.partition("many", index), records, 1)
    for count, at_once in ((SEARCHES_AT_ONCE, True), (SEARCHES_AT_ONCE + 1, False)):
        partitions = [
            ListOffsetsPartition(partition_index=index, timestamp=NOW) for index in range(count)
        ]
        request = ListOffsetsRequest(
            replica_id=-1, topics=[ListOffsetsTopic(name="many", partitions=partitions)]
        )
        result = handle_list_offsets(
            context_of(11), request, replicas=broker.replicas, workers=NO_WORKERS
        )
        assert isinstance(result, ListOffsetsResponse) is at_once
        if inspect.iscoroutine(result):
            result.close()
