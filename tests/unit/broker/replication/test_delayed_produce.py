"""Appends complete together; only the partition that changed is asked again."""

from broker.replication.delayed_produce import DelayedProduce, PendingAppend
from protocol.errors import ErrorCode
from protocol.model import TopicPartition
from tests.support.replicas import ReplicaBroker

Outcomes = list[PendingAppend | Exception]


def waiting(count: int = 2) -> tuple[ReplicaBroker, DelayedProduce, list[PendingAppend], Outcomes]:
    """A broker of topics whose follower has confirmed nothing, and a request to all of them."""
    broker = ReplicaBroker()
    broker.create("t", partitions=count, replicas=(1, 2), isr=(1, 2))
    appends = []
    for index in range(count):
        broker.append(index=index, acks=-1)
        appends.append(PendingAppend(broker.partition(index=index), 1))
    outcomes: Outcomes = []
    operation = DelayedProduce(-1, appends, outcomes.extend, outcomes.append)
    return broker, operation, appends, outcomes


def test_it_is_due_when_the_last_outcome_is_known() -> None:
    broker, operation, appends, _ = waiting()
    assert not operation.is_due(None)
    broker.log(index=0).update_high_watermark(1)
    assert not operation.is_due(TopicPartition("t", 0))
    assert appends[0].error == ErrorCode.NONE
    broker.log(index=1).update_high_watermark(1)
    assert not operation.is_due(TopicPartition("t", 0))
    assert operation.is_due(TopicPartition("t", 1))


def test_lost_leadership_is_an_outcome() -> None:
    broker, operation, appends, _ = waiting(1)
    broker.partition().stop()
    assert operation.is_due(None)
    assert appends[0].error == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_at_the_timeout_what_happened_counts_and_the_rest_is_timed_out() -> None:
    broker, operation, appends, outcomes = waiting()
    broker.log(index=1).update_high_watermark(1)
    operation.expire()
    assert outcomes == appends
    assert [one.error for one in appends] == [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NONE]


def test_it_waits_on_every_partition_and_tells_its_failure() -> None:
    _, operation, _, outcomes = waiting()
    assert operation.topic_partitions() == [TopicPartition("t", 0), TopicPartition("t", 1)]
    error = RuntimeError("bug")
    operation.on_failure(error)
    assert outcomes == [error]
