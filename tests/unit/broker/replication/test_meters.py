"""Counts belong to topics; totals outlive them."""

from broker.replication.meters import BrokerTopicMeters


def test_a_topic_has_one_set_of_counters() -> None:
    meters = BrokerTopicMeters()
    meters.topic("a").messages_in += 3
    meters.topic("a").messages_in += 4
    assert meters.topics["a"].messages_in == 7


def test_totals_are_the_sums_and_never_fall_when_a_topic_goes() -> None:
    meters = BrokerTopicMeters()
    meters.topic("a").bytes_in += 10
    meters.topic("b").bytes_in += 5
    assert meters.totals()["bytes_in"] == 15
    meters.retire("a")
    meters.retire("never there")
    assert meters.totals()["bytes_in"] == 15
    assert list(meters.topics) == ["b"]
    meters.topic("a").bytes_in += 1
    assert meters.totals()["bytes_in"] == 16
