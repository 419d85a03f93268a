"""Roles, epochs, the high watermark rule and the bounds of what readers see."""

import pytest

from broker.replication import change
from broker.replication.change import PartitionChange
from broker.replication.partition import Partition, reader_bound
from broker.replication.partition_read import PartitionRead
from broker.replication.wanted_partition import WantedPartition
from config.topic_config import LogConfig
from protocol.errors import ErrorCode
from protocol.model import ZERO_TOPIC_ID, TopicPartition
from storage.log.results import AppendResult, ReadBound
from tests.support.replicas import ReplicaBroker, code_of, log_of, records_of

TP = TopicPartition("t", 0)
HW = ReadBound.HIGH_WATERMARK
LSO = ReadBound.LAST_STABLE
LEO = ReadBound.LOG_END


@pytest.fixture
def broker() -> ReplicaBroker:
    made = ReplicaBroker()
    made.create("t")
    return made


def wanted(
    offset: int, epoch: int = -1, max_bytes: int = 1 << 20, last_fetched_epoch: int = -1
) -> WantedPartition:
    one = WantedPartition(TP, ZERO_TOPIC_ID, 0, offset, max_bytes, epoch)
    one.last_fetched_epoch = last_fetched_epoch
    return one


def read(
    partition: Partition,
    offset: int,
    bound: ReadBound = HW,
    *,
    max_bytes: int = 1 << 20,
    min_one: bool = True,
    epoch: int = -1,
    last_fetched_epoch: int = -1,
) -> tuple[PartitionRead, int]:
    one = wanted(offset, epoch, last_fetched_epoch=last_fetched_epoch)
    result = partition.read(one, max_bytes, bound, min_one)
    nbytes = result.nbytes
    result.release()
    return result, nbytes


def append(
    partition: Partition, acks: int = 1, now_ms: int = 1_700_000_000_000
) -> tuple[AppendResult, PartitionChange]:
    return partition.append_as_leader(records_of(b"v"), acks, now_ms)


def three_replicas(
    isr: tuple[int, ...] = (1, 2, 3), min_insync_replicas: int = 1
) -> tuple[ReplicaBroker, Partition]:
    made = ReplicaBroker()
    config = LogConfig(min_insync_replicas=min_insync_replicas)
    made.create("t", replicas=(1, 2, 3), isr=isr, config=config)
    return made, made.partition()


def test_a_sole_leader_confirms_what_it_appends_at_once(broker: ReplicaBroker) -> None:
    partition = broker.partition()
    result, changed = append(partition)
    assert result.base_offset == 0
    assert changed == change.LOG_END | change.HIGH_WATERMARK
    assert log_of(partition).high_watermark == 1
    assert partition.acknowledgement(1, acks=-1) == ErrorCode.NONE


def test_a_leader_of_three_waits_for_those_in_sync() -> None:
    _, partition = three_replicas()
    _, changed = append(partition)
    assert changed == change.LOG_END
    assert log_of(partition).high_watermark == 0
    assert partition.acknowledgement(1, acks=-1) is None
    assert partition.acknowledgement(1, acks=1) == ErrorCode.NONE
    assert partition.record_follower_fetch(2, wanted(1), 1, 0) & change.HIGH_WATERMARK == 0
    assert partition.record_follower_fetch(3, wanted(1), 1, 0) & change.HIGH_WATERMARK
    assert log_of(partition).high_watermark == 1
    assert partition.acknowledgement(1, acks=-1) == ErrorCode.NONE


def test_the_high_watermark_stands_still_below_the_minimum_in_sync() -> None:
    _, partition = three_replicas(isr=(1,), min_insync_replicas=2)
    append(partition)
    assert log_of(partition).high_watermark == 0
    assert code_of(append, partition, acks=-1) == ErrorCode.NOT_ENOUGH_REPLICAS
    assert log_of(partition).log_end_offset == 1


def test_losing_the_minimum_after_the_append_is_told() -> None:
    _, partition = three_replicas(min_insync_replicas=3)
    append(partition, acks=-1)
    for follower in (2, 3):
        partition.record_follower_fetch(follower, wanted(1), 1, 0)
    partition.in_sync = (1, 2)
    answer = partition.acknowledgement(1, acks=-1)
    assert answer == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


def test_a_stranger_may_not_report_progress(broker: ReplicaBroker) -> None:
    record = broker.partition().record_follower_fetch
    assert code_of(record, 9, wanted(0), 0, 0) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert code_of(record, 9, wanted(0, epoch=0), 0, 0) == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_flush_before_ack_holds_back_ack_and_high_watermark_until_the_fsync() -> None:
    broker = ReplicaBroker()
    broker.create("t", config=LogConfig(flush_messages=1))
    partition = broker.partition()
    result = broker.append()
    assert log_of(partition).high_watermark == 0
    assert partition.acknowledgement(result.last_offset + 1, acks=1) is None
    broker.run_jobs()
    assert log_of(partition).high_watermark == 1
    assert partition.acknowledgement(result.last_offset + 1, acks=1) == ErrorCode.NONE


def test_a_new_leader_epoch_begins_at_the_log_end(broker: ReplicaBroker) -> None:
    partition = broker.partition()
    append(partition)
    broker.replicas.become_leader_or_follower(1, [broker.state(TP, leader_epoch=7)])
    assert partition.leader_epoch == 7
    assert partition.leader_epoch_start_offset == 1
    assert log_of(partition).latest_epoch == 7


def test_a_follower_appends_for_nobody(broker: ReplicaBroker) -> None:
    partition = broker.partition()
    broker.tell_metadata([], brokers=(1, 2))
    state = broker.state(TP, leader=2, leader_epoch=1, replicas=(1, 2))
    broker.replicas.become_leader_or_follower(1, [state])
    assert not partition.is_leader
    assert code_of(append, partition) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.acknowledgement(0, acks=1) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert code_of(read, partition, 0) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    result = partition.read(wanted(0), 1 << 20, HW, True, leader_only=False)
    assert result.error == ErrorCode.NONE


def test_requests_are_fenced_by_the_epoch_they_name(broker: ReplicaBroker) -> None:
    broker.replicas.become_leader_or_follower(1, [broker.state(TP, leader_epoch=5)])
    partition = broker.partition()
    assert code_of(read, partition, 0, epoch=4) == ErrorCode.FENCED_LEADER_EPOCH
    assert code_of(read, partition, 0, epoch=6) == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert read(partition, 0, epoch=5)[0].error == ErrorCode.NONE


def test_an_offline_partition_answers_storage_errors(broker: ReplicaBroker) -> None:
    partition = broker.partition()
    partition.go_offline()
    assert code_of(append, partition) == ErrorCode.KAFKA_STORAGE_ERROR
    assert code_of(read, partition, 0, epoch=9) == ErrorCode.KAFKA_STORAGE_ERROR
    assert partition.acknowledgement(0, acks=1) == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_read_gives_records_up_to_its_bound(broker: ReplicaBroker) -> None:
    partition = broker.partition()
    append(partition)
    size = log_of(partition).size
    result, nbytes = read(partition, 0)
    assert nbytes == size
    assert (result.high_watermark, result.last_stable_offset, result.log_start_offset) == (1, 1, 0)
    assert result.aborted_transactions is None


def test_a_read_at_its_bound_is_empty_and_beyond_the_log_end_refused(broker: ReplicaBroker) -> None:
    partition = broker.partition()
    append(partition)
    for bound in (HW, LSO, LEO):
        assert read(partition, 1, bound)[1] == 0
    assert read(partition, 1, LSO)[0].aborted_transactions == []
    assert code_of(read, partition, 2) == ErrorCode.OFFSET_OUT_OF_RANGE
    assert code_of(read, partition, -1) == ErrorCode.OFFSET_OUT_OF_RANGE


def test_between_high_watermark_and_log_end_clients_see_nothing_and_followers_all() -> None:
    _, partition = three_replicas()
    append(partition)
    assert read(partition, 0)[1] == 0
    assert read(partition, 1)[1] == 0
    assert read(partition, 0, LEO)[1] > 0


def test_a_batch_larger_than_the_limit_comes_whole_or_not_at_all(broker: ReplicaBroker) -> None:
    partition = broker.partition()
    append(partition)
    size = log_of(partition).size
    assert read(partition, 0, max_bytes=10, min_one=True)[1] == size
    assert read(partition, 0, max_bytes=10, min_one=False)[1] == 0


def test_a_reader_whose_log_parted_is_told_where(broker: ReplicaBroker) -> None:
    partition = broker.partition()
    append(partition)
    broker.replicas.become_leader_or_follower(1, [broker.state(TP, leader_epoch=5)])
    append(partition)
    result, nbytes = read(partition, 2, last_fetched_epoch=0)
    assert result.diverging_epoch == (0, 1)
    assert nbytes == 0
    assert read(partition, 1, last_fetched_epoch=0)[0].diverging_epoch is None
    result, _ = read(partition, 2, last_fetched_epoch=4)
    assert result.diverging_epoch == (0, 1)
    assert code_of(read, partition, 2, last_fetched_epoch=9) == ErrorCode.OFFSET_OUT_OF_RANGE


def test_bytes_available_are_counted_by_position_up_to_what_is_wanted(
    broker: ReplicaBroker,
) -> None:
    partition = broker.partition()
    append(partition)
    size = log_of(partition).size
    assert partition.available_bytes(wanted(0), HW, True) == size
    assert partition.available_bytes(wanted(0, max_bytes=7), HW, True) == 7
    assert partition.available_bytes(wanted(1), HW, True) == 0
    refused = code_of(partition.available_bytes, wanted(2), HW, True)
    assert refused == ErrorCode.OFFSET_OUT_OF_RANGE


def test_records_are_deleted_up_to_the_high_watermark(broker: ReplicaBroker) -> None:
    partition = broker.partition()
    for _ in range(3):
        append(partition)
    assert partition.delete_records(2) == (2, change.LOG_START)
    assert log_of(partition).log_start_offset == 2
    assert partition.delete_records(1) == (1, change.NOTHING)
    assert code_of(partition.delete_records, 4) == ErrorCode.OFFSET_OUT_OF_RANGE
    assert code_of(partition.delete_records, -2) == ErrorCode.OFFSET_OUT_OF_RANGE
    assert partition.delete_records(-1) == (3, change.LOG_START)
    assert code_of(read, partition, 1) == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_topic_that_is_only_compacted_gives_no_records_up() -> None:
    broker = ReplicaBroker()
    broker.create("t", config=LogConfig(compact=True, delete=False))
    assert code_of(broker.partition().delete_records, 0) == ErrorCode.POLICY_VIOLATION


def test_a_topic_without_any_cleanup_may_have_records_deleted() -> None:
    broker = ReplicaBroker()
    broker.create("t", config=LogConfig(delete=False))
    append(broker.partition())
    assert broker.partition().delete_records(1) == (1, change.LOG_START)


def test_the_low_watermark_is_that_of_the_slowest_live_replica() -> None:
    _, partition = three_replicas()
    append(partition)
    for follower in (2, 3):
        partition.record_follower_fetch(follower, wanted(1), 1, 0)
    partition.delete_records(1)
    assert partition.low_watermark({1}) == 1
    assert partition.low_watermark({1, 2}) == -1


def test_readers_are_bounded_by_who_they_are() -> None:
    assert reader_bound(-1, read_committed=False) is HW
    assert reader_bound(-1, read_committed=True) is LSO
    assert reader_bound(2, read_committed=True) is LEO
    assert reader_bound(-2, read_committed=False) is LEO


def test_a_log_in_another_place_wakes_whoever_waits(broker: ReplicaBroker) -> None:
    partition = broker.partition()
    log = log_of(partition)
    found = partition.take_log(log)
    for bit in (change.LOG_END, change.HIGH_WATERMARK, change.FLUSHED, change.LOG_START):
        assert found & bit
    assert partition.log is log
