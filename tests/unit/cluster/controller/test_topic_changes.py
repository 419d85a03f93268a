"""What tests of the whole controller and of kills at each step do not show."""

import logging

import pytest

from cluster.controller.deletions import TopicReference
from cluster.controller.topics import Growth, NewTopic
from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicPartition
from tests.support.fake_cluster import Machine


async def test_a_request_too_large_creates_nothing() -> None:
    machine = Machine()
    await machine.prepare()
    process = await machine.start()
    with pytest.raises(KafkaError) as refused:
        await process.controller.create_topics([NewTopic("a", 1), NewTopic("b", 10_000)])
    assert refused.value.code is ErrorCode.POLICY_VIOLATION
    assert process.metadata.topics() == {}
    await machine.stop()


async def test_configs_that_outlived_their_topic_are_replaced_by_a_new_one() -> None:
    machine = Machine()
    await machine.prepare()
    await machine.store.create("/config/topics/t", b'{"version":1,"config":{"k":"v"}}')
    process = await machine.start()
    (result,) = await process.controller.create_topics([NewTopic("t")])
    assert result.error is ErrorCode.NONE
    assert process.metadata.topic_overrides("t") == {}
    await machine.stop()


async def test_one_topic_that_cannot_be_deleted_does_not_hold_up_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    machine = Machine()
    await machine.prepare()
    process = await machine.start()
    await process.controller.create_topics([NewTopic("a"), NewTopic("b")])
    process.doors.offline.add(TopicPartition("a", 0))
    with caplog.at_level(logging.WARNING):
        await process.controller.delete_topics([TopicReference("a"), TopicReference("b")])
    assert await machine.store.children("/brokers/topics") == ["a"]
    assert await machine.store.children("/admin/delete_topics") == ["a"]
    assert "Topic a stays marked" in caplog.text
    await machine.stop()


async def test_growth_takes_manual_assignments() -> None:
    machine = Machine()
    await machine.prepare()
    process = await machine.start()
    await process.controller.create_topics([NewTopic("a")])
    (result,) = await process.controller.create_partitions([Growth("a", 3, [[1], [1]])])
    assert result.error is ErrorCode.NONE
    assert len(machine.directories) == 3
    await machine.stop()


async def test_hundreds_of_topics_come_and_go_in_one_request_each() -> None:
    machine = Machine()
    await machine.prepare()
    process = await machine.start()
    before = machine.store.changes
    names = [f"t{n}" for n in range(250)]
    created = await process.controller.create_topics([NewTopic(name) for name in names])
    assert [one.name for one in created] == names
    assert machine.store.changes == before + 1
    deleted = await process.controller.delete_topics([TopicReference(name) for name in names])
    assert {one.name for one in deleted} == set(names)
    assert machine.store.changes == before + 3
    assert process.metadata.topics() == {}
    await machine.stop()
