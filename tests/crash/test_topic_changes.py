"""A broker killed at any step of creating, growing and deleting topics.

The steps are the commits of the metadata store (killed before and after each) and every partition
handed through a door. A start after the kill must find all that was acknowledged, must leave no
topic half there, and directories and metadata must agree.
"""

from collections.abc import Callable

import pytest

from cluster import znodes
from cluster.controller.deletions import TopicReference
from cluster.controller.topics import Growth, NewTopic
from protocol.model import TopicPartition
from tests.support.fake_cluster import Machine, Process
from tests.support.fake_store import StoreDied

Acknowledged = dict[str, int]
MOST_STEPS = 200


async def live(process: Process, acknowledged: Acknowledged) -> None:
    """Create two topics, grow one, delete the other and create it again with another size."""
    controller = process.controller

    async def create(name: str, partitions: int) -> None:
        await process.or_death(lambda: controller.create_topics([NewTopic(name, partitions)]))
        acknowledged[name] = partitions

    await create("a", 2)
    await create("b", 3)
    acknowledged.pop("a")
    await process.or_death(lambda: controller.create_partitions([Growth("a", 4)]))
    acknowledged["a"] = 4
    acknowledged.pop("b")
    await process.or_death(lambda: controller.delete_topics([TopicReference("b")]))
    acknowledged["-b"] = 0
    await create("b", 1)


async def partition_counts(process: Process) -> dict[str, int]:
    return {name: len(topic.partitions) for name, topic in process.metadata.topics().items()}


async def check_after_restart(machine: Machine, acknowledged: Acknowledged) -> None:
    process = await machine.start()
    counts = await partition_counts(process)
    for name, partitions in acknowledged.items():
        if name == "-b":
            assert counts.get("b", 1) == 1, "what was told deleted must not come back"
        else:
            assert counts[name] == partitions
    stored: dict[TopicPartition, bytes] = {}
    for name in await machine.store.children(znodes.TOPICS):
        node = await machine.store.get(znodes.topic(name))
        assert node is not None
        topic = znodes.decode_topic(node.data)
        assert counts[name] == len(topic.partitions)
        for index in topic.partitions:
            stored[TopicPartition(name, index)] = topic.topic_id
    assert machine.directories == stored
    assert set(process.doors.leaders) == set(stored)
    assert await machine.store.children(znodes.DELETE_TOPICS) == []
    configs = await machine.store.children("/config/topics")
    assert configs == sorted(counts)
    await live_on(process)


async def live_on(process: Process) -> None:
    """The broker is whole again: whatever is there can be deleted and made anew."""
    names = list(process.metadata.topics())
    deleted = await process.controller.delete_topics([TopicReference(name) for name in names])
    assert all(not one.error for one in deleted)
    created = await process.controller.create_topics([NewTopic("a"), NewTopic("b")])
    assert all(not one.error for one in created)


async def killed_at(arm: Callable[[Process], None]) -> tuple[bool, Machine, Acknowledged]:
    """Run the life until the kill; whether it came at all."""
    machine = Machine()
    await machine.prepare()
    process = await machine.start()
    arm(process)
    acknowledged: Acknowledged = {}
    try:
        await live(process, acknowledged)
    except StoreDied:
        return True, machine, acknowledged
    finally:
        await process.stop()
    return False, machine, acknowledged


@pytest.mark.parametrize("after_commit", [False, True])
async def test_killed_at_each_commit(after_commit: bool) -> None:
    for step in range(MOST_STEPS):

        def arm(process: Process, step: int = step) -> None:
            store = process.store
            store.dies_at = store.changes + step
            store.dies_after_commit = after_commit

        died, machine, acknowledged = await killed_at(arm)
        await check_after_restart(machine, acknowledged)
        await machine.stop()
        if not died:
            assert step >= 5
            return
    pytest.fail("the life has more steps than expected")


async def test_killed_at_each_partition_that_goes_through_a_door() -> None:
    for step in range(MOST_STEPS):

        def arm(process: Process, step: int = step) -> None:
            process.doors.dies_at = process.doors.steps + step

        died, machine, acknowledged = await killed_at(arm)
        await check_after_restart(machine, acknowledged)
        await machine.stop()
        if not died:
            assert step >= 13
            return
    pytest.fail("the life has more steps than expected")


async def test_killed_again_while_a_start_finishes_a_deletion() -> None:
    machine = Machine()
    await machine.prepare()
    process = await machine.start()
    await process.controller.create_topics([NewTopic("a", 3)])
    await process.stop()
    await machine.store.create(znodes.delete_topic("a"))
    for step in range(MOST_STEPS):
        again = machine.boot()
        again.doors.dies_at = step
        try:
            await again.start()
        except StoreDied:
            continue
        finally:
            await again.stop()
        break
    await check_after_restart(machine, {})
    assert machine.directories.keys() == {("a", 0), ("b", 0)}
    await machine.stop()
