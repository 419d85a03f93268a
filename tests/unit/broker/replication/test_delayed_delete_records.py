"""A deletion is done when every live replica's log start has risen."""

from broker.replication.delayed_delete_records import DelayedDeleteRecords, PendingDeletion
from protocol.errors import ErrorCode
from protocol.model import TopicPartition
from tests.support.replicas import ReplicaBroker

TP = TopicPartition("t", 0)
Outcomes = list[ErrorCode | Exception | None]


def pending(
    live: tuple[int, ...] = (1, 2),
) -> tuple[ReplicaBroker, PendingDeletion, DelayedDeleteRecords, Outcomes]:
    broker = ReplicaBroker()
    broker.create("t", replicas=(1, 2), isr=(1,))
    broker.append()
    broker.log().update_high_watermark(1)
    broker.partition().delete_records(1)
    deletion = PendingDeletion(TP, broker.partition(), 1)
    outcomes: Outcomes = []
    operation = DelayedDeleteRecords(
        [deletion], lambda: live, lambda: outcomes.append(deletion.error), outcomes.append
    )
    return broker, deletion, operation, outcomes


def test_only_live_replicas_are_waited_for() -> None:
    _, deletion, operation, _ = pending(live=(1,))
    assert operation.is_due(None)
    assert (deletion.error, deletion.low_watermark) == (ErrorCode.NONE, 1)


def test_a_live_replica_that_has_not_deleted_holds_the_answer_back() -> None:
    broker, deletion, operation, _ = pending()
    assert not operation.is_due(None)
    broker.partition().remotes[2].log_start_offset = 1
    assert not operation.is_due(TopicPartition("other", 0))
    assert operation.is_due(TP)
    assert deletion.low_watermark == 1


def test_lost_leadership_is_an_outcome() -> None:
    broker, deletion, operation, _ = pending()
    broker.partition().stop()
    assert operation.is_due(TP)
    assert (deletion.error, deletion.low_watermark) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)


def test_the_timeout_is_an_outcome_and_a_bug_is_told() -> None:
    _, _, operation, outcomes = pending()
    operation.expire()
    error = RuntimeError("bug")
    operation.on_failure(error)
    assert outcomes == [ErrorCode.REQUEST_TIMED_OUT, error]
    assert operation.topic_partitions() == [TP]
