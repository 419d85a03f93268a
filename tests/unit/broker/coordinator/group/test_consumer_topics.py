"""The topics of the cluster as groups look at them."""

from broker.coordinator.group.consumer_topics import GroupTopics
from broker.coordinator.group.metadata_hash import group_hash, topic_hash
from cluster.controller.messages import LiveBroker, MetadataUpdate
from tests.support.consumer_groups import ConsumerTable


def test_the_hash_is_of_ids_names_partitions_and_racks() -> None:
    table = ConsumerTable(t=2, u=1)
    topics = GroupTopics(table.metadata)
    t = table.metadata.topics()["t"]
    expected = topic_hash(t.topic_id, "t", [["rack-1"], ["rack-1"]])
    assert topics.hash_of(["t", "absent"]) == group_hash({"t": expected})
    assert topics.hash_of([]) == 0


def test_a_hash_follows_topics_and_brokers() -> None:
    table = ConsumerTable(t=1)
    topics = GroupTopics(table.metadata)
    seen = {topics.hash_of(["t"])}
    table.create_topic("t", 2)
    seen.add(topics.hash_of(["t"]))
    table.metadata.apply(MetadataUpdate(1, (LiveBroker(1, {}, "rack-2"),), ()))
    seen.add(topics.hash_of(["t"]))
    assert len(seen) == 3


def test_only_topics_that_exist_have_ids() -> None:
    table = ConsumerTable(t=2)
    topics = GroupTopics(table.metadata)
    t = table.metadata.topics()["t"].topic_id
    assert topics.ids(["t", "absent"]) == [t]
    assert topics.partition_counts(["absent", "t"]) == {t: 2}
    assert topics.name(t) == "t"
    assert topics.name(b"x" * 16) is None
    assert list(topics.names()) == ["t"]


def test_creations_are_noticed_and_nothing_else() -> None:
    table = ConsumerTable(t=1)
    topics = GroupTopics(table.metadata)
    first = topics.last_creation
    assert first == topics.version
    table.create_topic("t", 2)
    assert topics.last_creation == first
    table.delete_topic("t")
    assert topics.last_creation == first
    table.create_topic("t", 1)
    assert topics.last_creation == topics.version
