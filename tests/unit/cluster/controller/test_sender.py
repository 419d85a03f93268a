from cluster.controller.messages import LeaderAndIsr, PartitionMetadata, StopReplica
from cluster.controller.sender import Sender
from cluster.metadata_cache import MetadataCache
from protocol.errors import ErrorCode
from protocol.model import TopicPartition
from tests.support.fake_cluster import BROKER, FakeDoors

ID = b"i" * 16


def doors() -> FakeDoors:
    return FakeDoors(MetadataCache("c"), {})


def leadership(count: int, *, is_new: bool) -> list[LeaderAndIsr]:
    return [
        LeaderAndIsr(TopicPartition("t", n), ID, 1, 0, (1,), 0, (1,), is_new) for n in range(count)
    ]


def metadata(topic: str, count: int) -> list[PartitionMetadata]:
    return [
        PartitionMetadata(TopicPartition(topic, n), ID, 1, 0, (1,), 0, (1,)) for n in range(count)
    ]


async def test_new_partitions_go_ten_at_a_time_and_known_ones_a_hundred() -> None:
    new, known = doors(), doors()
    assert await Sender(new, 1, 1).leader_and_isr(leadership(25, is_new=True)) == {}
    assert await Sender(known, 1, 1).leader_and_isr(leadership(250, is_new=False)) == {}
    assert (new.calls, known.calls) == (["LeaderAndIsr"] * 3, ["LeaderAndIsr"] * 3)


async def test_an_unchanged_epoch_is_no_error_and_others_are() -> None:
    some = doors()
    sender = Sender(some, 1, 1)
    await sender.leader_and_isr(leadership(2, is_new=False))
    some.offline.add(TopicPartition("t", 1))
    errors = await sender.leader_and_isr(leadership(2, is_new=False))
    assert errors == {TopicPartition("t", 1): ErrorCode.KAFKA_STORAGE_ERROR}


async def test_metadata_never_splits_a_topic() -> None:
    some = doors()
    partitions = metadata("a", 200) + metadata("b", 600) + metadata("c", 1)
    await Sender(some, 1, 1).metadata([BROKER], partitions)
    assert some.calls == ["UpdateMetadata"] * 2
    assert [len(topic.partitions) for topic in some.metadata.topics().values()] == [200, 600, 1]


async def test_brokers_are_told_of_without_partitions_too() -> None:
    some = doors()
    await Sender(some, 1, 1).metadata([BROKER], ())
    assert some.metadata.brokers == {1: BROKER}
    assert some.metadata.controller_id == 1


async def test_stopped_replicas_are_told_with_their_errors() -> None:
    some = doors()
    some.offline.add(TopicPartition("t", 12))
    stops = [StopReplica(TopicPartition("t", n), -2, delete=True) for n in range(15)]
    errors = await Sender(some, 1, 1).stop_replicas(stops)
    assert errors == {TopicPartition("t", 12): ErrorCode.KAFKA_STORAGE_ERROR}
    assert some.calls == ["StopReplica"] * 2
