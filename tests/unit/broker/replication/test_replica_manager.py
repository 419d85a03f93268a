"""Leadership, deletion and metadata come through three doors; what waits is woken by the drain."""

import errno
from collections.abc import Sequence

import pytest

from broker.replication.delayed_fetch import FetchParams
from broker.replication.delayed_produce import DelayedProduce, PendingAppend
from broker.replication.fetch_session import Reads
from broker.replication.wanted_partition import WantedPartition
from cluster.controller.messages import MetadataUpdate, StopReplica
from protocol.errors import ErrorCode
from protocol.model import ZERO_TOPIC_ID, TopicPartition
from storage.log.results import ReadBound
from storage.partition_metadata import write_topic_id
from tests.support.replicas import ReplicaBroker, code_of, records_of, topic_id_of

TP = TopicPartition("t", 0)


@pytest.fixture
def broker() -> ReplicaBroker:
    made = ReplicaBroker()
    made.create("t")
    return made


def consumer(min_bytes: int = 1, max_wait_ms: int = 500, max_bytes: int = 1 << 20) -> FetchParams:
    return FetchParams(-1, max_wait_ms, min_bytes, max_bytes, ReadBound.HIGH_WATERMARK, True)


def wanted(offset: int = 0, topic: str = "t", index: int = 0) -> WantedPartition:
    return WantedPartition(TopicPartition(topic, index), ZERO_TOPIC_ID, index, offset, 1 << 20)


class Waiter:
    """A parked fetch."""

    def __init__(
        self, broker: ReplicaBroker, params: FetchParams, *partitions: WantedPartition
    ) -> None:
        self.answers: list[list[tuple[TopicPartition | None, ErrorCode, int]]] = []
        self.failure: Exception | None = None
        self.operation = broker.replicas.wait_for_fetch(
            params, list(partitions), self.done, self.failed
        )

    def done(self, reads: Reads) -> None:
        assert self.answers == []
        self.answers.append([(one.topic_partition, read.error, read.nbytes) for one, read in reads])
        for _, read in reads:
            read.release()

    def nbytes(self) -> list[int]:
        """How much was read of each partition."""
        (reads,) = self.answers
        return [nbytes for _, _, nbytes in reads]

    def failed(self, error: Exception) -> None:
        self.failure = error


def test_becoming_leader_creates_the_log_and_is_answered_once(broker: ReplicaBroker) -> None:
    assert broker.partition().is_leader
    assert broker.replicas.initialized
    stale = broker.replicas.become_leader_or_follower(1, [broker.state(TP)])
    assert stale == {TP: ErrorCode.STALE_CONTROLLER_EPOCH}


def test_an_old_controller_gets_nothing_done(broker: ReplicaBroker) -> None:
    replicas = broker.replicas
    replicas.become_leader_or_follower(5, [])
    stale = ErrorCode.STALE_CONTROLLER_EPOCH
    assert code_of(replicas.become_leader_or_follower, 4, []) == stale
    assert code_of(replicas.stop_replicas, 4, []) == stale
    assert code_of(replicas.maybe_update_metadata_cache, 4, MetadataUpdate(1, [])) == stale


def test_a_leader_nobody_knows_is_not_followed(broker: ReplicaBroker) -> None:
    state = broker.state(TP, leader=2, leader_epoch=3, replicas=(1, 2))
    assert broker.replicas.become_leader_or_follower(1, [state]) == {TP: ErrorCode.NONE}
    assert broker.partition().leader_epoch == 0
    broker.tell_metadata([], brokers=(1, 2))
    assert broker.replicas.become_leader_or_follower(1, [state]) == {TP: ErrorCode.NONE}
    assert broker.partition().leader_epoch == 3


def test_a_deleted_partition_is_gone_its_directory_renamed_and_its_meters_retired(
    broker: ReplicaBroker,
) -> None:
    broker.append()
    assert broker.delete("t") == {TP: ErrorCode.NONE}
    assert broker.replicas.partition(TP) is None
    assert [name for name in broker.disk.listdir("/d1") if name.startswith("t-0.")]
    assert "t" not in broker.replicas.meters.topics
    assert broker.replicas.meters.totals()["messages_in"] == 1
    unknown = code_of(broker.replicas.hosted, TP)
    assert unknown == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_stopping_without_deletion_keeps_partition_and_epoch(broker: ReplicaBroker) -> None:
    answer = broker.replicas.stop_replicas(1, [StopReplica(TP, 0, False)])
    assert answer == {TP: ErrorCode.NONE}
    assert broker.partition().leader_epoch == 0


def test_a_topic_of_the_same_name_starts_afresh(broker: ReplicaBroker) -> None:
    broker.append()
    broker.delete("t")
    state = broker.state(TP, topic_id=topic_id_of("other"))
    assert broker.replicas.become_leader_or_follower(1, [state]) == {TP: ErrorCode.NONE}
    assert broker.log().log_end_offset == 0


def test_hosting_is_told_apart_from_knowing(broker: ReplicaBroker) -> None:
    elsewhere = TopicPartition("far", 0)
    broker.tell_metadata([broker.state(elsewhere, leader=2, replicas=(2,))])
    hosted = broker.replicas.hosted
    assert code_of(hosted, elsewhere) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    nowhere = TopicPartition("nowhere", 0)
    assert code_of(hosted, nowhere) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert code_of(hosted, TP, b"x" * 16) == ErrorCode.INCONSISTENT_TOPIC_ID
    assert hosted(TP, topic_id_of("t")) is broker.partition()


def test_appends_are_metered_by_topic(broker: ReplicaBroker) -> None:
    broker.append(values=(b"a", b"b"))
    assert code_of(broker.append, producer_id=5, base_sequence=-1) == ErrorCode.INVALID_RECORD
    broker.log().update_config(broker.config("t")._replace(max_message_bytes=70))
    assert code_of(broker.append, values=(b"x" * 100,)) == ErrorCode.MESSAGE_TOO_LARGE
    meters = broker.replicas.meters.topics["t"]
    assert meters.messages_in == 2
    assert meters.bytes_in == broker.log().size
    assert meters.total_produce_requests == 3
    assert meters.failed_produce_requests == 1
    assert meters.bytes_rejected > 100


def test_a_fetch_that_waits_is_woken_by_an_append_but_not_inside_it(broker: ReplicaBroker) -> None:
    waiter = Waiter(broker, consumer(), wanted(0))
    broker.append()
    assert waiter.answers == []
    broker.turn()
    assert waiter.answers == [[(TP, ErrorCode.NONE, broker.log().size)]]
    assert broker.replicas.purgatories.sizes()["Fetch"] == 0
    assert not [timer for timer in broker.timers if not timer.cancelled]


def test_a_fetch_waits_for_its_minimum_over_all_partitions(broker: ReplicaBroker) -> None:
    broker.create("u")
    size = len(records_of(b"v"))
    waiter = Waiter(broker, consumer(min_bytes=2 * size), wanted(0), wanted(0, topic="u"))
    broker.append()
    broker.turn()
    assert waiter.answers == []
    broker.append("u")
    broker.turn()
    assert waiter.nbytes() == [size, size]


def test_a_fetch_is_answered_when_its_time_is_up(broker: ReplicaBroker) -> None:
    waiter = Waiter(broker, consumer(max_wait_ms=500), wanted(0))
    broker.advance(499)
    assert waiter.answers == []
    broker.advance(1)
    assert waiter.answers == [[(TP, ErrorCode.NONE, 0)]]


def test_losing_leadership_or_the_partition_ends_the_wait(broker: ReplicaBroker) -> None:
    broker.tell_metadata([], brokers=(1, 2))
    waiter = Waiter(broker, consumer(), wanted(0))
    state = broker.state(TP, leader=2, leader_epoch=1, replicas=(1, 2))
    broker.replicas.become_leader_or_follower(1, [state])
    broker.turn()
    assert waiter.answers == [[(TP, ErrorCode.NOT_LEADER_OR_FOLLOWER, 0)]]
    broker.replicas.become_leader_or_follower(1, [broker.state(TP, leader_epoch=2)])
    deleted = Waiter(broker, consumer(), wanted(0))
    broker.delete("t")
    broker.turn()
    assert deleted.answers == [[(TP, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)]]


def test_a_cancelled_fetch_is_forgotten(broker: ReplicaBroker) -> None:
    waiter = Waiter(broker, consumer(), wanted(0))
    waiter.operation.cancel()
    broker.append()
    broker.turn()
    broker.advance(1000)
    assert waiter.answers == []


def test_a_follower_waits_for_the_log_end_and_its_fetch_moves_the_high_watermark() -> None:
    broker = ReplicaBroker()
    broker.create("t", replicas=(1, 2), isr=(1, 2))
    reader = Waiter(broker, consumer(), wanted(0))
    params = FetchParams(2, 500, 1, 1 << 20, ReadBound.LOG_END, True)
    follower = Waiter(broker, params, wanted(0))
    broker.append()
    broker.turn()
    assert follower.nbytes()[0] > 0
    assert reader.answers == []
    broker.replicas.fetch(params, [wanted(1)])
    broker.turn()
    assert reader.nbytes()[0] > 0


def test_an_append_that_waits_completes_with_the_high_watermark_or_times_out() -> None:
    broker = ReplicaBroker()
    broker.create("t", replicas=(1, 2), isr=(1, 2))
    outcomes: list[ErrorCode | Exception | None] = []

    def done(appends: Sequence[PendingAppend]) -> None:
        outcomes.append(appends[0].error)

    for _ in range(2):
        result = broker.append(acks=-1)
        append = PendingAppend(broker.partition(), result.last_offset + 1)
        operation = DelayedProduce(-1, [append], done, outcomes.append)
        broker.replicas.wait_for_appends(operation, 100)
    params = FetchParams(2, 0, 1, 1 << 20, ReadBound.LOG_END, True)
    for _, read in broker.replicas.fetch(params, [wanted(1)]):
        read.release()
    broker.turn()
    assert outcomes == [ErrorCode.NONE]
    broker.advance(100)
    assert outcomes == [ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT]


def test_a_failed_disk_takes_the_directory_and_all_its_partitions_offline() -> None:
    broker = ReplicaBroker(("/d1", "/d2"))
    broker.create("t", partitions=2)
    waiter = Waiter(broker, consumer(), wanted(0), wanted(0, index=1))
    directory = broker.log().log_dir
    broker.disk.fail("pwrite", errno.EIO, path_ends=".log")
    assert code_of(broker.append) == ErrorCode.KAFKA_STORAGE_ERROR
    assert broker.failed_directories == [directory]
    assert broker.partition().offline
    assert not broker.partition(index=1).offline
    broker.turn()
    assert waiter.answers[0][0][1] == ErrorCode.KAFKA_STORAGE_ERROR
    assert code_of(broker.append) == ErrorCode.KAFKA_STORAGE_ERROR
    broker.append(index=1)
    answer = broker.replicas.become_leader_or_follower(1, [broker.state(TP, leader_epoch=9)])
    assert answer == {TP: ErrorCode.KAFKA_STORAGE_ERROR}


def test_a_log_that_cannot_be_created_leaves_the_partition_offline() -> None:
    broker = ReplicaBroker()
    broker.disk.fail("mkdir", errno.ENOSPC)
    assert broker.create("t") == {TP: ErrorCode.KAFKA_STORAGE_ERROR}
    assert broker.partition().offline


def test_unserved_directories_are_answered_not_overwritten(broker: ReplicaBroker) -> None:
    broker.disk.mkdir("/d1/old-0")
    write_topic_id(broker.disk, "/d1/old-0", topic_id_of("old"))
    state = broker.state(TopicPartition("old", 0))
    answers = broker.replicas.become_leader_or_follower(1, [state])
    assert answers == {state.tp: ErrorCode.KAFKA_STORAGE_ERROR}
    hosted = broker.replicas.partition(state.tp)
    assert hosted is not None
    assert hosted.offline
    assert code_of(hosted.leader_log) == ErrorCode.KAFKA_STORAGE_ERROR


def test_deleting_records_beyond_reach_is_refused_by_partition(broker: ReplicaBroker) -> None:
    deletion = broker.replicas.delete_records(TopicPartition("nowhere", 0), 0)
    assert deletion.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    deletion = broker.replicas.delete_records(TP, 5)
    assert (deletion.error, deletion.low_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    broker.append()
    deletion = broker.replicas.delete_records(TP, -1)
    assert (deletion.error, deletion.low_watermark) == (ErrorCode.NONE, 1)


def test_epoch_ends_are_told_by_the_leader(broker: ReplicaBroker) -> None:
    broker.append()
    end = broker.replicas.end_offset_for_epoch
    assert end(TP, 0, -1) == (0, 1)
    assert end(TP, 5, 0) == (-1, -1)
    assert code_of(end, TP, 0, 1) == ErrorCode.UNKNOWN_LEADER_EPOCH
