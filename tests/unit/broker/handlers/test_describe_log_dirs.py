"""DescribeLogDirs: every directory is listed, with the replicas that were asked for."""

import errno

import pytest

from broker.handlers.describe_log_dirs import handle_describe_log_dirs
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResult,
)
from tests.support.replicas import ReplicaBroker, context_of


@pytest.fixture
def broker() -> ReplicaBroker:
    made = ReplicaBroker(("/d1", "/d2"))
    made.create("t", partitions=2)
    made.append()
    return made


def describe(
    broker: ReplicaBroker, topics: list[DescribableLogDirTopic] | None = None
) -> dict[str, DescribeLogDirsResult]:
    request = DescribeLogDirsRequest(topics=topics)
    response = handle_describe_log_dirs(
        context_of(5), request, replicas=broker.replicas, logs=broker.logs
    )
    return {result.log_dir: result for result in response.results}


def replicas_of(result: DescribeLogDirsResult) -> list[tuple[str, int, int, int, bool]]:
    return [
        (topic.name, one.partition_index, one.partition_size, one.offset_lag, one.is_future_key)
        for topic in result.topics
        for one in topic.partitions
    ]


def test_all_replicas_are_listed_with_their_sizes(broker: ReplicaBroker) -> None:
    size = broker.log().size
    directories = describe(broker)
    assert replicas_of(directories["/d1"]) == [("t", 0, size, 0, False)]
    assert replicas_of(directories["/d2"]) == [("t", 1, 0, 0, False)]
    assert directories["/d1"].total_bytes > 0
    assert directories["/d1"].usable_bytes > 0
    assert not directories["/d1"].is_cordoned


def test_asking_for_some_or_none_still_lists_the_directories(broker: ReplicaBroker) -> None:
    none = describe(broker, [])
    assert [replicas_of(result) for result in none.values()] == [[], []]
    some = describe(broker, [DescribableLogDirTopic(topic="t", partitions=[1, 9])])
    assert [replicas_of(result) for result in some.values()] == [[], [("t", 1, 0, 0, False)]]


def test_an_offline_directory_answers_its_path_and_an_error(broker: ReplicaBroker) -> None:
    broker.disk.fail("pwrite", errno.EIO, path_ends=".log")
    with pytest.raises(KafkaError):
        broker.append()
    offline = describe(broker)["/d1"]
    assert offline.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert (offline.topics, offline.total_bytes) == ([], -1)
