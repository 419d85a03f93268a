"""Hashes of topics and groups; the numbers are those of Kafka 4.3.1's own classes."""

from broker.coordinator.group.metadata_hash import group_hash, topic_hash

RACKS = ("rack-b", "rack-a", None, "r\u00e9", "rack-a")
"""Of brokers 0 to 4; one has none, two share one."""


def racks(partitions: int) -> list[list[str]]:
    """Of partitions on three brokers each, one further with every partition."""
    brokers = [(number, number + 1, number + 4) for number in range(partitions)]
    return [[rack for one in three if (rack := RACKS[one % 5])] for three in brokers]


TOPICS = {
    "orders": topic_hash(bytes.fromhex("112233445566778899aabbccddeeff00"), "orders", racks(3)),
    "a": topic_hash((1 << 64 | 2).to_bytes(16, "big"), "a", racks(1)),
    "t\u00e9st": topic_hash(bytes.fromhex("ff" * 15 + "fe"), "t\u00e9st", racks(40)),
    "norack": topic_hash((7 << 64 | 8).to_bytes(16, "big"), "norack", [[], []]),
}


def test_topics_have_the_hashes_they_have_in_kafka() -> None:
    assert list(TOPICS.values()) == [
        16315357107195087446,
        908387871576276792,
        16226655526175388728,
        10093839383758164353,
    ]


def test_groups_have_the_hashes_they_have_in_kafka() -> None:
    assert group_hash(TOPICS) == -3469569193818761494
    assert group_hash({"a": TOPICS["a"]}) == -2839227834558780970
    assert group_hash({}) == 0


def test_the_order_of_topics_and_racks_does_not_count() -> None:
    assert group_hash(dict(reversed(TOPICS.items()))) == group_hash(TOPICS)
    one, other = (topic_hash(bytes(16), "t", [order]) for order in (["x", "y"], ["y", "x"]))
    assert one == other


def test_what_a_rebalance_is_for_changes_the_hash() -> None:
    before = topic_hash(bytes(16), "t", [["x"], ["y"]])
    changed = [
        topic_hash(bytes(15) + b"\1", "t", [["x"], ["y"]]),
        topic_hash(bytes(16), "u", [["x"], ["y"]]),
        topic_hash(bytes(16), "t", [["x"], ["y"], []]),
        topic_hash(bytes(16), "t", [["x", "x"], ["y"]]),
    ]
    assert len({before, *changed}) == 5
    signed = [group_hash({"t": one}) for one in changed]
    assert all(-(2**63) <= one < 2**63 for one in signed)
