from broker.coordinator.transaction.producer import Producer, ProducerIdAndEpoch


def test_what_a_producer_is_told_is_what_it_asks_with_next() -> None:
    told = ProducerIdAndEpoch(7, 1)
    assert Producer("id", *told) == ("id", 7, 1)
