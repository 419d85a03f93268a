"""Places and times in one partition, bounded by what the asker may see."""

import pytest

from broker.replication.offset_lookup import NOT_FOUND, bound_offset, look_up_offset
from broker.replication.partition import Partition
from protocol.errors import ErrorCode, KafkaError
from protocol.model import SpecialTimestamp
from storage.log.results import ReadBound
from tests.support.replicas import ReplicaBroker, log_of

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


def test_each_reader_has_its_bound(partition: Partition) -> None:
    log = log_of(partition)
    assert [bound_offset(log, bound) for bound in (HW, LSO, LEO)] == [1, 1, 2]
    latest = SpecialTimestamp.LATEST
    assert look_up_offset(partition, log, latest, HW) == (-1, 1, 0)
    assert look_up_offset(partition, log, latest, LEO) == (-1, 2, 0)


def test_what_lies_beyond_the_bound_is_not_found(partition: Partition) -> None:
    log = log_of(partition)
    unconfirmed = 1_700_000_000_010
    assert look_up_offset(partition, log, unconfirmed, HW) == NOT_FOUND
    assert look_up_offset(partition, log, unconfirmed, LEO) == (unconfirmed, 1, 0)
    largest = SpecialTimestamp.MAX_TIMESTAMP
    assert look_up_offset(partition, log, largest, HW) == NOT_FOUND


def test_the_log_start_has_the_epoch_it_was_written_in(partition: Partition) -> None:
    earliest = SpecialTimestamp.EARLIEST
    assert look_up_offset(partition, log_of(partition), earliest, HW) == (-1, 0, 0)


def test_a_leader_that_knows_too_little_says_so(partition: Partition) -> None:
    partition.leader_epoch_start_offset = 2
    with pytest.raises(KafkaError) as caught:
        look_up_offset(partition, log_of(partition), SpecialTimestamp.LATEST, HW)
    assert caught.value.code == ErrorCode.OFFSET_NOT_AVAILABLE
    assert look_up_offset(partition, log_of(partition), SpecialTimestamp.LATEST, LEO) == (-1, 2, 0)
