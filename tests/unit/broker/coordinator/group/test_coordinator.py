"""The way from a question to its shard; what is asked is in the tests of the handlers."""

from broker.coordinator.group.coordinator import caller_of
from broker.coordinator.partition_of import partition_of
from tests.support.group_broker import GroupBroker
from tests.support.group_shard import Answer
from tests.support.replicas import context_of


def test_a_group_lives_in_the_partition_of_its_id() -> None:
    groups = GroupBroker(partitions=3)
    names = [f"group-{number}" for number in range(6)]
    for name in names:
        groups.member(name)
    for shard in groups.runtime.shards():
        assert set(shard.classic.groups) == {
            name for name in names if partition_of(name, 3) == shard.index
        }
    assert sorted(one.group_id for one in groups.groups.listed()) == names


def test_a_caller_is_known_by_client_address_and_version() -> None:
    answer = Answer("A", [])
    assert caller_of(context_of(5), answer) == (answer, "test", "/127.0.0.1", 5)
    assert caller_of(context_of(5, client_id=None), answer).client_id == ""


def test_offsets_of_deleted_topics_are_forgotten_in_every_shard() -> None:
    groups = GroupBroker(partitions=3)
    groups.groups.topic_deleted("t")
    assert len(list(groups.runtime.shards())) == 3
