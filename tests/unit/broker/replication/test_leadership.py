"""The leader epoch alone says what is newer."""

from broker.replication.leadership import leadership_outcome, stop_outcome
from broker.replication.meters import TopicMeters
from broker.replication.partition import Partition
from cluster.controller.messages import LeaderAndIsr, StopReplica
from protocol.errors import ErrorCode
from protocol.model import ZERO_TOPIC_ID, TopicPartition

TP = TopicPartition("t", 0)
ID = b"\x01" * 16
OTHER_ID = b"\x02" * 16


def state(
    leader_epoch: int = 5, replicas: tuple[int, ...] = (1,), topic_id: bytes = ID
) -> LeaderAndIsr:
    return LeaderAndIsr(TP, topic_id, 1, leader_epoch, (1,), 0, replicas)


def hosted(leader_epoch: int = 5, offline: bool = False) -> Partition:
    partition = Partition(TP, 1, TopicMeters())
    partition.leader_epoch = leader_epoch
    partition.offline = offline
    return partition


def test_a_partition_not_known_yet_is_adopted() -> None:
    assert leadership_outcome(state(), None, None, 1) is None


def test_a_newer_epoch_is_adopted_and_an_equal_or_older_one_is_stale() -> None:
    assert leadership_outcome(state(6), hosted(5), ID, 1) is None
    stale = ErrorCode.STALE_CONTROLLER_EPOCH
    assert leadership_outcome(state(5), hosted(5), ID, 1) == stale
    assert leadership_outcome(state(4), hosted(5), ID, 1) == stale


def test_another_incarnations_log_is_left_alone() -> None:
    wrong = ErrorCode.INCONSISTENT_TOPIC_ID
    assert leadership_outcome(state(), None, OTHER_ID, 1) == wrong
    assert leadership_outcome(state(topic_id=ZERO_TOPIC_ID), None, OTHER_ID, 1) is None
    assert leadership_outcome(state(), None, ZERO_TOPIC_ID, 1) is None


def test_a_broker_that_is_no_replica_does_not_know_the_partition() -> None:
    outcome = leadership_outcome(state(replicas=(2, 3)), None, None, 1)
    assert outcome == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_an_offline_partition_answers_storage_error_before_anything_else() -> None:
    outcome = leadership_outcome(state(1), hosted(offline=True), OTHER_ID, 1)
    assert outcome == ErrorCode.KAFKA_STORAGE_ERROR


def test_stopping_is_fenced_by_the_leader_epoch_but_for_deletions() -> None:
    assert stop_outcome(StopReplica(TP, 4, True), hosted(5)) == ErrorCode.FENCED_LEADER_EPOCH
    for epoch in (5, 6, -1, -2):
        assert stop_outcome(StopReplica(TP, epoch, True), hosted(5)) == ErrorCode.NONE


def test_stopping_what_is_not_hosted_succeeds_and_what_is_offline_does_not() -> None:
    assert stop_outcome(StopReplica(TP, 1, True), None) == ErrorCode.NONE
    offline = stop_outcome(StopReplica(TP, -2, True), hosted(offline=True))
    assert offline == ErrorCode.KAFKA_STORAGE_ERROR
