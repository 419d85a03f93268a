from collections.abc import AsyncIterator, Mapping

import pytest

from broker.handlers.create_topics import handle_create_topics
from config.describe import Entry
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from protocol.model import ZERO_TOPIC_ID
from tests.support.contexts import context
from tests.support.fake_cluster import Machine, Process


@pytest.fixture
async def process() -> AsyncIterator[Process]:
    machine = Machine()
    await machine.prepare()
    yield await machine.start()
    await machine.stop()


class Describer:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, overrides: Mapping[str, str]) -> list[Entry]:
        self.calls += 1
        own = [Entry(key, value, False, 1, False, (), 5, None) for key, value in overrides.items()]
        return [*own, Entry("secret", "x", False, 5, True, (), 9, None)]


async def create(
    process: Process,
    *topics: CreatableTopic,
    version: int = 7,
    timeout_ms: int = 1000,
    validate_only: bool = False,
    describe: Describer | None = None,
) -> CreateTopicsResponse:
    request = CreateTopicsRequest(
        topics=list(topics), timeout_ms=timeout_ms, validate_only=validate_only
    )
    response = await handle_create_topics(
        context(version),
        request,
        controller=process.controller,
        describe_topic=describe or Describer(),
    )
    assert CreateTopicsResponse.decode(response.encode(version), version)
    return response


def topic(name: str, partitions: int = 1, replication_factor: int = 1) -> CreatableTopic:
    return CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=replication_factor
    )


async def test_a_success_tells_the_topics_shape_id_and_configs(process: Process) -> None:
    wanted = topic("t", 3)
    wanted.configs = [CreatableTopicConfig(name="retention.ms", value="60000")]
    (answer,) = (await create(process, wanted)).topics
    image = process.metadata.topic("t")
    assert image is not None
    assert (answer.name, answer.error_code, answer.error_message) == ("t", 0, None)
    assert answer.topic_id == image.topic_id
    assert (answer.num_partitions, answer.replication_factor) == (3, 1)
    assert [
        (one.name, one.value, one.config_source, one.is_sensitive, one.read_only)
        for one in answer.configs or ()
    ] == [("retention.ms", "60000", 1, False, False), ("secret", None, 5, True, False)]


async def test_a_failure_has_counts_of_minus_one_no_id_and_no_configs(process: Process) -> None:
    (answer,) = (await create(process, topic("t", 0))).topics
    assert answer.error_code == ErrorCode.INVALID_PARTITIONS
    assert answer.error_message == "Number of partitions was set to an invalid non-positive value."
    assert (answer.num_partitions, answer.replication_factor) == (-1, -1)
    assert (answer.topic_id, answer.configs) == (ZERO_TOPIC_ID, [])


async def test_manual_assignments_are_passed_on(process: Process) -> None:
    wanted = topic("t", -1, -1)
    wanted.assignments = [
        CreatableReplicaAssignment(partition_index=n, broker_ids=[1]) for n in range(2)
    ]
    (answer,) = (await create(process, wanted)).topics
    assert (answer.error_code, answer.num_partitions) == (0, 2)


async def test_configs_are_described_from_version_five_on_and_once_for_equal_topics(
    process: Process,
) -> None:
    describe = Describer()
    await create(process, topic("a"), version=4, describe=describe)
    assert describe.calls == 0
    await create(process, topic("b"), topic("c"), version=5, describe=describe)
    assert describe.calls == 1


@pytest.mark.parametrize("timeout_ms", [0, -1])
async def test_a_timeout_of_nothing_is_over_before_anything_is_created(
    process: Process, timeout_ms: int
) -> None:
    with pytest.raises(KafkaError) as late:
        await create(process, topic("t"), timeout_ms=timeout_ms)
    assert (late.value.code, late.value.message) == (ErrorCode.REQUEST_TIMED_OUT, None)
    assert process.metadata.topics() == {}


async def test_validation_alone_answers_with_an_id_and_creates_nothing(process: Process) -> None:
    (answer,) = (await create(process, topic("t"), validate_only=True)).topics
    assert answer.error_code == 0
    assert answer.topic_id != ZERO_TOPIC_ID
    assert process.metadata.topics() == {}
