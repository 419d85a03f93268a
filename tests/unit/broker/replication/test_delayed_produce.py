"""Appends complete together; only the partition that changed is asked again."""

from broker.replication.delayed_produce import DelayedProduce, PendingAppend
from protocol.errors import ErrorCode
from protocol.model import TopicPartition
from tests.support.replicas import ReplicaBroker


def waiting(count=2):
    """A broker of topics whose follower has confirmed nothing, and a request to all of them."""
    broker = ReplicaBroker()
    broker.create("t", partitions=count, state={"replicas": (1, 2), "isr": (1, 2)})
    appends = []
    for index in range(count):
        broker.append(index=index, acks=-1)
        appends.append(PendingAppend(broker.partition(index=index), 1))
    outcomes = []
    operation = DelayedProduce(-1, appends, outcomes.extend, outcomes.append)
    return broker, operation, appends, outcomes


def test_it_is_due_when_the_last_outcome_is_known():
    broker, operation, appends, _ = waiting()
    assert not operation.is_due(None)
    broker.partition(index=0).log.update_high_watermark(1)
    assert not operation.is_due(TopicPartition("t", 0))
    assert appends[0].error == ErrorCode.NONE
    broker.partition(index=1).log.update_high_watermark(1)
    assert not operation.is_due(TopicPartition("t", 0))
    assert operation.is_due(TopicPartition("t", 1))


def test_lost_leadership_is_an_outcome():
    broker, operation, appends, _ = waiting(1)
    broker.partition().stop()
    assert operation.is_due(None)
    assert appends[0].error == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_at_the_timeout_what_happened_counts_and_the_rest_is_timed_out():
    broker, operation, _, outcomes = waiting()
    broker.partition(index=1).log.update_high_watermark(1)
    operation.expire()
    assert [one.error for one in outcomes] == [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NONE]


def test_it_waits_on_every_partition_and_tells_its_failure():
    _, operation, _, outcomes = waiting()
    assert operation.topic_partitions() == [TopicPartition("t", 0), TopicPartition("t", 1)]
    error = RuntimeError("bug")
    operation.on_failure(error)
    assert outcomes == [error]
