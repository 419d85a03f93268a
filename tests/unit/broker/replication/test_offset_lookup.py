"""Places and times in one partition, bounded by what the asker may see."""

import pytest

from broker.replication.offset_lookup import (
    NOT_FOUND,
    OffsetQuestion,
    TimestampOffsetEpoch,
    bound_offset,
    look_up_offset,
)
from broker.replication.partition import Partition
from config.topic_config import LogConfig
from protocol.errors import ErrorCode, KafkaError
from protocol.model import SpecialTimestamp
from storage.log.offsets import LogTimeSearch
from storage.log.results import ReadBound
from tests.support.replicas import ReplicaBroker, log_of, records_of

START = 1_700_000_000_000
HW, LSO, LEO = ReadBound.HIGH_WATERMARK, ReadBound.LAST_STABLE, ReadBound.LOG_END


@pytest.fixture
def partition() -> Partition:
    """One record confirmed, a second one not."""
    broker = ReplicaBroker()
    broker.create("t", replicas=(1, 2), isr=(1, 2))
    for _ in range(2):
        broker.append()
        broker.clock.advance(10)
    broker.log().update_high_watermark(1)
    return broker.partition()


def look_up(
    partition: Partition, timestamp: int, bound: ReadBound
) -> TimestampOffsetEpoch | LogTimeSearch:
    question = OffsetQuestion(partition.topic_partition, timestamp, bound, -1, leader_only=True)
    return look_up_offset(partition, log_of(partition), question)


def test_each_reader_has_its_bound(partition: Partition) -> None:
    log = log_of(partition)
    assert [bound_offset(log, bound) for bound in (HW, LSO, LEO)] == [1, 1, 2]
    latest = SpecialTimestamp.LATEST
    assert look_up(partition, latest, HW) == (-1, 1, 0)
    assert look_up(partition, latest, LEO) == (-1, 2, 0)


def test_what_lies_beyond_the_bound_is_not_found(partition: Partition) -> None:
    unconfirmed = 1_700_000_000_010
    assert look_up(partition, unconfirmed, HW) == NOT_FOUND
    assert look_up(partition, unconfirmed, LEO) == (unconfirmed, 1, 0)
    largest = SpecialTimestamp.MAX_TIMESTAMP
    assert look_up(partition, largest, HW) == NOT_FOUND


def test_the_log_start_has_the_epoch_it_was_written_in(partition: Partition) -> None:
    earliest = SpecialTimestamp.EARLIEST
    assert look_up(partition, earliest, HW) == (-1, 0, 0)


def test_a_leader_that_knows_too_little_says_so(partition: Partition) -> None:
    partition.leader_epoch_start_offset = 2
    with pytest.raises(KafkaError) as caught:
        look_up(partition, SpecialTimestamp.LATEST, HW)
    assert caught.value.code == ErrorCode.OFFSET_NOT_AVAILABLE
    assert look_up(partition, SpecialTimestamp.LATEST, LEO) == (-1, 2, 0)


@pytest.fixture
def packed() -> Partition:
    """Three segments of one compressed record each, ten milliseconds apart."""
    broker = ReplicaBroker()
    broker.create("t", config=LogConfig(segment_bytes=100))
    for _ in range(3):
        records = records_of(b"v", now_ms=broker.clock.now_ms(), codec=1)
        broker.replicas.append(broker.partition(), records, 1)
        broker.clock.advance(10)
    return broker.partition()


def ask(
    partition: Partition, timestamp: int, searched: LogTimeSearch | None = None
) -> TimestampOffsetEpoch | LogTimeSearch:
    question = OffsetQuestion(partition.topic_partition, timestamp, HW, -1, leader_only=True)
    return look_up_offset(partition, log_of(partition), question, searched)


def planned(outcome: TimestampOffsetEpoch | LogTimeSearch) -> LogTimeSearch:
    assert isinstance(outcome, LogTimeSearch)
    return outcome


def run(search: LogTimeSearch) -> LogTimeSearch:
    search.take_along()
    search.run()
    return search


@pytest.mark.parametrize("timestamp", [START, START + 11, SpecialTimestamp.MAX_TIMESTAMP])
def test_what_is_packed_or_not_surely_in_memory_is_searched_for_elsewhere(
    packed: Partition, timestamp: int
) -> None:
    search = run(planned(ask(packed, timestamp)))
    offset = 0 if timestamp == START else 2
    assert ask(packed, timestamp, search) == (START + 10 * offset, offset, 0)


def test_a_time_beyond_all_needs_no_file(packed: Partition) -> None:
    assert ask(packed, START + 21) == NOT_FOUND


def test_what_was_found_is_judged_by_the_log_as_it_is_then(packed: Partition) -> None:
    search = run(planned(ask(packed, START)))
    packed.delete_records(1)
    again = run(planned(ask(packed, START, search)))
    assert (again.base_offset, again.found) == (0, None)
    again = run(planned(ask(packed, START, again)))
    assert ask(packed, START, again) == (START + 10, 1, 0)
    log_of(packed).truncate_to(1, START)
    assert again.disturbed
    assert ask(packed, START + 10, again) == NOT_FOUND


def test_a_search_goes_on_behind_a_segment_that_had_nothing(packed: Partition) -> None:
    search = run(planned(ask(packed, START)))
    search.found = None
    following = planned(ask(packed, START, search))
    assert following.base_offset > search.base_offset
    following.release()
