from broker.handlers.topic_answers import TopicAnswers, View, find_leader
from cluster.controller.messages import Endpoint, LiveBroker, MetadataUpdate, PartitionMetadata
from cluster.metadata_cache import MetadataCache, TopicImage
from protocol.errors import ErrorCode
from protocol.model import TopicPartition

ID = b"i" * 16
INSIDE, OUTSIDE = View("IN", True, -1), View("OUT", True, -1)
BROKER = LiveBroker(1, {"IN": Endpoint("h", 1)})


def update(brokers: list[LiveBroker], *names: str, leader: int = 1) -> MetadataUpdate:
    partitions = [
        PartitionMetadata(
            TopicPartition(name, 0), ID + name.encode(), leader, 7, (1,), 3, (1, 2), (2,)
        )
        for name in names
    ]
    return MetadataUpdate(1, brokers, partitions)


def image(metadata: MetadataCache, name: str) -> TopicImage:
    topic = metadata.topic(name)
    assert topic is not None
    return topic


def cache(leader: int = 1) -> MetadataCache:
    metadata = MetadataCache("c")
    metadata.apply(update([BROKER], "t", leader=leader))
    return metadata


def test_an_answer_says_what_the_image_does() -> None:
    metadata = cache()
    answer = TopicAnswers(metadata).answer(image(metadata, "t"), View("IN", True, 3576))
    assert (answer.name, answer.topic_id, answer.error_code) == ("t", ID + b"t", 0)
    assert answer.topic_authorized_operations == 3576
    (partition,) = answer.partitions
    assert (partition.leader_id, partition.leader_epoch, partition.error_code) == (1, 7, 0)
    assert partition.replica_nodes == [1, 2]
    assert partition.isr_nodes == [1]
    assert partition.offline_replicas == [2]


def test_an_answer_is_made_once_for_each_image_and_view() -> None:
    metadata = cache()
    answers = TopicAnswers(metadata)
    first = answers.answer(image(metadata, "t"), INSIDE)
    assert answers.answer(image(metadata, "t"), INSIDE) is first
    assert answers.answer(image(metadata, "t"), OUTSIDE) is not first
    metadata.apply(update([BROKER], "u"))
    assert answers.answer(image(metadata, "t"), INSIDE) is first
    metadata.apply(update([BROKER], "t", leader=-1))
    changed = answers.answer(image(metadata, "t"), INSIDE)
    assert changed.partitions[0].error_code == ErrorCode.LEADER_NOT_AVAILABLE


def test_answers_follow_the_brokers() -> None:
    metadata = cache()
    answers = TopicAnswers(metadata)
    assert answers.answer(image(metadata, "t"), OUTSIDE).partitions[0].leader_id == -1
    both = {"IN": Endpoint("h", 1), "OUT": Endpoint("h", 2)}
    metadata.apply(update([LiveBroker(1, both)]))
    assert answers.answer(image(metadata, "t"), OUTSIDE).partitions[0].leader_id == 1


def test_why_a_leader_cannot_be_reached() -> None:
    metadata = cache()
    (partition,) = image(metadata, "t").partitions
    old = View("OUT", False, -1)
    assert find_leader(metadata, partition, INSIDE) == (ErrorCode.NONE, 1)
    assert find_leader(metadata, partition, OUTSIDE) == (ErrorCode.LISTENER_NOT_FOUND, -1)
    assert find_leader(metadata, partition, old) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
    gone = partition._replace(leader=9)
    assert find_leader(metadata, gone, OUTSIDE) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)


def test_what_is_still_to_be_made_is_counted() -> None:
    metadata = cache()
    metadata.apply(update([BROKER], "u", "v"))
    answers = TopicAnswers(metadata)
    answers.answer(image(metadata, "t"), INSIDE)
    assert answers.unmade_partitions(INSIDE) == 2
    assert answers.unmade_partitions(OUTSIDE) == 3


def test_deleted_topics_do_not_gather_for_ever() -> None:
    metadata = cache()
    answers = TopicAnswers(metadata)
    for number in range(200):
        name = f"x{number}"
        metadata.apply(update([BROKER], name))
        answers.answer(image(metadata, name), INSIDE)
        metadata.apply(update([BROKER], name, leader=-2))
    assert len(answers.made(INSIDE)) <= 102
