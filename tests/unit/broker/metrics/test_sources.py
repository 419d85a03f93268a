"""Counts over partitions, from a replica manager over real logs."""

from broker.metrics.sources import count_partitions
from tests.support.replicas import ReplicaBroker


def test_led_partitions_of_a_lone_broker_are_at_their_minimum() -> None:
    broker = ReplicaBroker()
    broker.create("t", partitions=3)
    counts = count_partitions(broker.replicas.partitions.values())
    assert counts.partitions == counts.leaders == counts.at_min_in_sync == 3
    assert counts.under_replicated == counts.under_min_in_sync == counts.offline == 0


def test_partitions_of_a_failed_directory_are_offline_and_led_by_nobody() -> None:
    broker = ReplicaBroker()
    broker.create("t", partitions=2)
    for partition in broker.replicas.partitions.values():
        partition.go_offline()
    counts = count_partitions(broker.replicas.partitions.values())
    assert (counts.partitions, counts.leaders, counts.offline) == (2, 0, 2)


def test_nothing_hosted_counts_nothing() -> None:
    assert set(count_partitions([])) == {0}
