from cluster.controller.messages import Endpoint, LiveBroker, MetadataUpdate, PartitionMetadata
from cluster.metadata_cache import MetadataCache
from protocol.model import ZERO_TOPIC_ID, TopicPartition

ID = b"i" * 16
BROKER = LiveBroker(1, {"L": Endpoint("h", 1)})


def partition(topic: str, index: int, leader: int = 1, topic_id: bytes = ID) -> PartitionMetadata:
    return PartitionMetadata(TopicPartition(topic, index), topic_id, leader, 0, (1,), 0, (1,))


def cache(*partitions: PartitionMetadata) -> MetadataCache:
    made = MetadataCache("c")
    made.apply(MetadataUpdate(1, [BROKER], partitions))
    return made


def test_before_the_first_update_nothing_is_known() -> None:
    empty = MetadataCache("c")
    assert empty.controller_id == -1
    assert not empty.topics()
    assert not empty.brokers
    assert empty.topic("t") is None
    assert empty.topic_by_id(ID) is None
    assert empty.endpoint(1, "L") is None


def test_topics_are_found_by_name_and_id_with_partitions_in_order() -> None:
    made = cache(partition("t", 1), partition("t", 0))
    topic = made.topic("t")
    assert topic is not None
    assert made.topic_by_id(ID) is topic
    assert [one.partition for one in topic.partitions] == [0, 1]
    found = made.partition(TopicPartition("t", 1))
    assert found is not None
    assert found.leader == 1
    assert made.partition(TopicPartition("t", 2)) is None
    assert made.partition(TopicPartition("t", -1)) is None
    assert made.partition(TopicPartition("u", 0)) is None


def test_a_partition_is_found_while_lower_ones_are_not_known() -> None:
    topic = cache(partition("t", 5)).topic("t")
    assert topic is not None
    found = topic.partition(5)
    assert found is not None
    assert found.partition == 5
    assert topic.partition(0) is None


def test_brokers_are_replaced_and_partitions_merged() -> None:
    made = cache(partition("t", 0))
    other = LiveBroker(2, {"L": Endpoint("h", 2)})
    made.apply(MetadataUpdate(2, [other], [partition("t", 1), partition("u", 0, 2, b"u" * 16)]))
    assert list(made.brokers) == [2]
    assert made.endpoint(2, "L") == Endpoint("h", 2)
    assert made.endpoint(2, "other") is None
    assert made.controller_id == 2
    assert set(made.topics()) == {"t", "u"}


def test_an_image_never_changes_and_others_keep_theirs() -> None:
    made = cache(partition("t", 0), partition("u", 0, 1, b"u" * 16))
    t, u = made.topic("t"), made.topic("u")
    made.apply(MetadataUpdate(1, [BROKER], [partition("t", 0, -1)]))
    assert t is not None
    assert t.partitions[0].leader == 1
    assert made.topic("t") is not t
    assert made.topic("u") is u


def test_versions_tell_what_changed() -> None:
    made = cache(partition("t", 0))
    version, brokers_version = made.version, made.brokers_version
    made.apply(MetadataUpdate(1, [BROKER], [partition("t", 0)]))
    assert made.version > version
    assert made.brokers_version == brokers_version
    made.apply(MetadataUpdate(1, [], []))
    assert made.brokers_version > brokers_version


def test_a_deleted_topic_goes_with_its_id_and_configs() -> None:
    made = cache(partition("t", 0), partition("t", 1))
    made.set_topic_overrides("t", {"k": "v"})
    first = made.apply(MetadataUpdate(1, [BROKER], [partition("t", 0, -2), partition("x", 0, -2)]))
    assert first == [("t", 0)]
    topic = made.topic("t")
    assert topic is not None
    assert len(topic.partitions) == 1
    assert made.apply(MetadataUpdate(1, [BROKER], [partition("t", 1, -2)])) == [("t", 1)]
    assert made.topic("t") is None
    assert made.topic_by_id(ID) is None
    assert made.topic_overrides("t") == {}


def test_a_topic_made_anew_is_found_by_its_new_id_alone() -> None:
    made = cache(partition("t", 0))
    made.apply(MetadataUpdate(1, [BROKER], [partition("t", 0, 1, b"n" * 16)]))
    assert made.topic_by_id(ID) is None
    assert made.topic_by_id(b"n" * 16) is made.topic("t")


def test_no_topic_has_the_zero_id() -> None:
    assert cache(partition("t", 0, 1, ZERO_TOPIC_ID)).topic_by_id(ZERO_TOPIC_ID) is None


def test_entities_are_named_while_something_is_set_for_them() -> None:
    groups = cache().group_configs
    groups.set("g", {"k": "v"})
    groups.set("h", {"k": "w"})
    assert (groups.names(), groups.of("h"), groups.version) == (["g", "h"], {"k": "w"}, 2)
    groups.set("g", {})
    assert (groups.names(), groups.of("g"), groups.version) == (["h"], {}, 3)


def test_three_topics_are_internal() -> None:
    made = cache(partition("__consumer_offsets", 0), partition("__other", 0, 1, b"o" * 16))
    offsets, other = made.topic("__consumer_offsets"), made.topic("__other")
    assert offsets is not None
    assert offsets.is_internal
    assert other is not None
    assert not other.is_internal
