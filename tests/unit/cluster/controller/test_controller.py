import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from cluster import znodes
from cluster.controller.deletions import TopicReference
from cluster.controller.topics import Growth, NewTopic
from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicPartition, topic_id_from_text
from tests.support.fake_cluster import Machine


@pytest.fixture
async def machine() -> AsyncIterator[Machine]:
    machine = Machine()
    await machine.prepare()
    yield machine
    await machine.stop()


def data(value: bytes | None) -> dict[str, object]:
    assert value is not None
    decoded = json.loads(value)
    assert isinstance(decoded, dict)
    return decoded


async def test_a_created_topic_is_stored_as_kafka_stores_it(machine: Machine) -> None:
    process = await machine.start()
    (result,) = await process.controller.create_topics(
        [NewTopic("t", 2, 1, configs=[("retention.ms", "1"), ("retention.ms", "60000")])]
    )
    assert (result.error, result.num_partitions, result.replication_factor) == (0, 2, 1)
    nodes = await machine.nodes()
    assert data(nodes["/config/topics/t"]) == {"version": 1, "config": {"retention.ms": "60000"}}
    topic = data(nodes["/brokers/topics/t"])
    assert topic_id_from_text(str(topic.pop("topic_id"))) == result.topic_id
    assert topic == {
        "partitions": {"0": [1], "1": [1]},
        "adding_replicas": {},
        "removing_replicas": {},
        "version": 3,
    }
    assert nodes["/brokers/topics/t/partitions"] is None
    assert nodes["/brokers/topics/t/partitions/1"] is None
    assert data(nodes["/brokers/topics/t/partitions/1/state"]) == {
        "controller_epoch": 1,
        "leader": 1,
        "version": 1,
        "leader_epoch": 0,
        "isr": [1],
    }


async def test_a_created_topic_is_served_and_known_when_it_is_answered(machine: Machine) -> None:
    process = await machine.start()
    (result,) = await process.controller.create_topics(
        [NewTopic("t", 2, configs=[("retention.ms", "60000")])]
    )
    topic = process.metadata.topic("t")
    assert topic is not None
    assert topic.topic_id == result.topic_id
    assert [(one.leader, one.leader_epoch, one.isr) for one in topic.partitions] == [
        (1, 0, (1,)),
        (1, 0, (1,)),
    ]
    assert all(process.doors.leaders[TopicPartition("t", n)].is_new for n in range(2))
    assert process.metadata.topic_overrides("t") == {"retention.ms": "60000"}


async def test_topics_are_known_by_name_and_partition_once_the_store_is_read(
    machine: Machine,
) -> None:
    process = await machine.start()
    (result,) = await process.controller.create_topics([NewTopic("t", 2)])
    await process.stop()
    again = machine.boot()
    assert again.controller.topic_id_of(TopicPartition("t", 1)) is None
    await again.controller.load()
    assert again.controller.topic_id_of(TopicPartition("t", 1)) == result.topic_id
    assert again.controller.topic_id_of(TopicPartition("t", 2)) is None
    assert again.controller.topic_id_of(TopicPartition("u", 0)) is None


async def test_one_request_is_one_commit(machine: Machine) -> None:
    process = await machine.start()
    before = machine.store.changes
    await process.controller.create_topics([NewTopic(f"t{n}", 3) for n in range(5)])
    assert machine.store.changes == before + 1


async def test_each_topic_succeeds_or_fails_alone_and_duplicates_come_last(
    machine: Machine,
) -> None:
    process = await machine.start()
    results = await process.controller.create_topics(
        [NewTopic("twice"), NewTopic("a b"), NewTopic("good"), NewTopic("twice")]
    )
    assert [(one.name, one.error) for one in results] == [
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("good", ErrorCode.NONE),
        ("twice", ErrorCode.INVALID_REQUEST),
    ]
    assert set(process.metadata.topics()) == {"good"}


async def test_validation_alone_answers_as_if_and_creates_nothing(machine: Machine) -> None:
    process = await machine.start(num_partitions=4)
    before = await machine.nodes()
    (result,) = await process.controller.create_topics([NewTopic("t")], validate_only=True)
    assert (result.error, result.num_partitions) == (ErrorCode.NONE, 4)
    await process.controller.create_topics([NewTopic("u")])
    (grown,) = await process.controller.create_partitions([Growth("u", 9)], validate_only=True)
    assert grown.error is ErrorCode.NONE
    assert process.metadata.topic("t") is None
    topic = process.metadata.topic("u")
    assert topic is not None
    assert len(topic.partitions) == 4
    assert "/brokers/topics/t" not in await machine.nodes()
    assert set(before) <= set(await machine.nodes())


async def test_a_restart_hands_out_the_stored_leader_epochs_under_a_greater_controller_epoch(
    machine: Machine,
) -> None:
    process = await machine.start()
    await process.controller.create_topics([NewTopic("t")])
    await process.stop()
    again = await machine.start()
    state = again.doors.leaders[TopicPartition("t", 0)]
    assert (state.leader, state.leader_epoch, state.is_new) == (1, 0, False)
    assert again.controller.epoch == process.controller.epoch + 1 == 2
    assert again.controller.broker_epoch > process.controller.broker_epoch
    topic = again.metadata.topic("t")
    assert topic is not None
    assert topic.partitions[0].leader == 1


async def test_a_start_tells_of_live_brokers_before_leadership(machine: Machine) -> None:
    process = await machine.start()
    await process.controller.create_topics([NewTopic("t")])
    again = await machine.start()
    assert again.doors.calls == ["UpdateMetadata", "LeaderAndIsr", "UpdateMetadata"]


async def test_a_start_registers_the_broker_and_the_controller(machine: Machine) -> None:
    await machine.start()
    broker = await machine.store.get("/brokers/ids/1")
    controller = await machine.store.get("/controller")
    assert broker is not None
    assert broker.version == 1
    assert data(broker.data)["endpoints"] == ["PLAINTEXT://localhost:9092"]
    assert controller is not None
    assert data(controller.data)["brokerid"] == 1
    epoch = await machine.store.get("/controller_epoch")
    assert epoch is not None
    assert (epoch.data, epoch.version) == (b"1", 1)


async def test_configs_are_loaded_before_anything_is_served(machine: Machine) -> None:
    process = await machine.start()
    await process.controller.create_topics([NewTopic("t", configs=[("retention.ms", "60000")])])
    await process.controller.set_configs("brokers", "<default>", {"log.retention.ms": "5"})
    await process.stop()
    again = machine.boot()
    await again.controller.load()
    assert again.metadata.topic_overrides("t") == {"retention.ms": "60000"}
    assert again.configs == [("brokers", "<default>", {"log.retention.ms": "5"})]
    assert not again.controller.is_active


async def test_grown_topics_keep_what_they_had(machine: Machine) -> None:
    process = await machine.start()
    await process.controller.create_topics([NewTopic("t", 2)])
    results = await process.controller.create_partitions(
        [Growth("t", 4), Growth("none", 4), Growth("x", 1), Growth("x", 2)]
    )
    assert [(one.name, one.error, one.message) for one in results] == [
        ("t", ErrorCode.NONE, None),
        ("none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None),
        ("x", ErrorCode.INVALID_REQUEST, "Duplicate topic name."),
    ]
    topic = process.metadata.topic("t")
    assert topic is not None
    assert [one.partition for one in topic.partitions] == [0, 1, 2, 3]
    again = await machine.start()
    assert set(again.doors.leaders) == {TopicPartition("t", n) for n in range(4)}


async def test_a_deleted_topic_leaves_nothing_and_its_name_is_free(machine: Machine) -> None:
    process = await machine.start()
    before = await machine.nodes()
    (created,) = await process.controller.create_topics(
        [NewTopic("t", 2, configs=[("retention.ms", "60000")])]
    )
    process.doors.calls.clear()
    (deleted,) = await process.controller.delete_topics([TopicReference("t")])
    assert (deleted.name, deleted.topic_id, deleted.error) == ("t", created.topic_id, 0)
    assert process.doors.calls == ["UpdateMetadata", "StopReplica"]
    assert await machine.nodes() == before
    assert machine.directories == {}
    assert process.metadata.topic("t") is None
    assert process.metadata.topic_overrides("t") == {}
    (again,) = await process.controller.create_topics([NewTopic("t")])
    assert again.error is ErrorCode.NONE
    assert again.topic_id != created.topic_id


async def test_a_topic_with_an_offline_replica_stays_marked_until_a_start_can_delete_it(
    machine: Machine,
) -> None:
    process = await machine.start()
    await process.controller.create_topics([NewTopic("t", 2)])
    process.doors.offline.add(TopicPartition("t", 1))
    (deleted,) = await process.controller.delete_topics([TopicReference("t")])
    assert deleted.error is ErrorCode.NONE
    assert process.metadata.topic("t") is None
    assert "/admin/delete_topics/t" in await machine.nodes()
    (created,) = await process.controller.create_topics([NewTopic("t")])
    assert created.error is ErrorCode.TOPIC_ALREADY_EXISTS
    (grown,) = await process.controller.create_partitions([Growth("t", 9)])
    assert grown.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    (twice,) = await process.controller.delete_topics([TopicReference("t")])
    assert twice.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    with pytest.raises(KafkaError):
        await process.controller.set_configs("topics", "t", {})
    await process.stop()
    again = await machine.start()
    assert "/brokers/topics/t" not in await machine.nodes()
    assert machine.directories == {}
    assert again.doors.leaders == {}


async def test_a_mark_without_a_topic_is_removed_by_a_start(machine: Machine) -> None:
    await machine.store.create("/admin/delete_topics/gone")
    await machine.start()
    assert await machine.store.children("/admin/delete_topics") == []


async def test_configs_of_topics_are_stored_cached_and_told(machine: Machine) -> None:
    process = await machine.start()
    await process.controller.create_topics([NewTopic("t")])
    await process.controller.set_configs("topics", "t", {"retention.ms": "60000"})
    assert process.metadata.topic_overrides("t") == {"retention.ms": "60000"}
    assert process.configs == [("topics", "t", {"retention.ms": "60000"})]
    stored = (await machine.nodes())["/config/topics/t"]
    assert znodes.decode_config(stored) == {"retention.ms": "60000"}
    with pytest.raises(KafkaError) as unknown:
        await process.controller.set_configs("topics", "nope", {})
    assert unknown.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_configs_of_brokers_are_stored_under_their_id_or_the_default(
    machine: Machine,
) -> None:
    process = await machine.start()
    await process.controller.set_configs("brokers", "1", {"a": "1"})
    await process.controller.set_configs("brokers", "1", {"a": "2"})
    await process.controller.set_configs("brokers", "<default>", {"b": "1"})
    nodes = await machine.nodes()
    assert znodes.decode_config(nodes["/config/brokers/1"]) == {"a": "2"}
    assert znodes.decode_config(nodes["/config/brokers/<default>"]) == {"b": "1"}
    assert process.configs[-1] == ("brokers", "<default>", {"b": "1"})


async def test_concurrent_config_changes_each_see_the_one_before(machine: Machine) -> None:
    process = await machine.start()
    await process.controller.create_topics([NewTopic("t")])
    await asyncio.gather(
        *(
            process.controller.change_configs(
                "topics",
                "t",
                lambda old, n=n: {**old, f"k{n}": "v"},  # type: ignore[misc]
            )
            for n in range(5)
        )
    )
    assert set(process.metadata.topic_overrides("t")) == {f"k{n}" for n in range(5)}


async def test_a_change_that_refuses_changes_nothing(machine: Machine) -> None:
    process = await machine.start()
    await process.controller.create_topics([NewTopic("t")])

    def refuse(old: object) -> dict[str, str]:
        raise KafkaError(ErrorCode.INVALID_CONFIG, "no")

    with pytest.raises(KafkaError, match="no"):
        await process.controller.change_configs("topics", "t", refuse)
    assert process.configs == []


async def test_a_failed_directory_takes_leadership_and_a_start_gives_it_back_in_a_new_epoch(
    machine: Machine,
) -> None:
    process = await machine.start()
    await process.controller.create_topics([NewTopic("t", 2)])
    lost = TopicPartition("t", 1)
    await process.controller.replicas_went_offline([lost, TopicPartition("unknown", 0)])
    topic = process.metadata.topic("t")
    assert topic is not None
    assert [(one.leader, one.leader_epoch, one.isr, one.offline) for one in topic.partitions] == [
        (1, 0, (1,), ()),
        (-1, 1, (1,), (1,)),
    ]
    await process.controller.replicas_went_offline([lost])
    assert (await machine.nodes())["/brokers/topics/t/partitions/1/state"] is not None
    await process.stop()
    again = await machine.start()
    state = again.doors.leaders[lost]
    assert (state.leader, state.leader_epoch, state.partition_epoch) == (1, 2, 2)


async def test_a_replica_whose_directory_is_offline_at_the_start_does_not_lead(
    machine: Machine,
) -> None:
    process = await machine.start()
    await process.controller.create_topics([NewTopic("t", 2)])
    await process.stop()
    again = machine.boot()
    again.doors.offline.add(TopicPartition("t", 0))
    await again.start()
    topic = again.metadata.topic("t")
    assert topic is not None
    assert [one.leader for one in topic.partitions] == [-1, 1]


async def test_a_partition_without_state_gets_leadership_at_a_start(machine: Machine) -> None:
    process = await machine.start()
    await process.controller.create_topics([NewTopic("t")])
    await machine.store.delete("/brokers/topics/t/partitions/0/state")
    again = await machine.start()
    assert again.doors.leaders[TopicPartition("t", 0)].leader_epoch == 0
    assert "/brokers/topics/t/partitions/0/state" in await machine.nodes()


async def test_replicas_of_another_broker_are_known_but_not_served(machine: Machine) -> None:
    process = await machine.start()
    await process.controller.create_topics([NewTopic("t")])
    await machine.store.set("/brokers/topics/t", znodes.encode_topic(b"x" * 16, {0: (2,)}))
    state = znodes.PartitionState(2, 3, (2,), 1)
    await machine.store.set(
        "/brokers/topics/t/partitions/0/state", znodes.encode_partition_state(state)
    )
    again = await machine.start()
    assert again.doors.leaders == {}
    topic = again.metadata.topic("t")
    assert topic is not None
    assert (topic.partitions[0].leader, topic.partitions[0].offline) == (2, (2,))
    (deleted,) = await again.controller.delete_topics([TopicReference("t")])
    assert deleted.error is ErrorCode.NONE


async def test_before_the_start_and_after_the_end_requests_are_refused(machine: Machine) -> None:
    process = machine.boot()
    with pytest.raises(KafkaError) as early:
        await process.controller.create_topics([NewTopic("t")])
    assert early.value.code is ErrorCode.NOT_CONTROLLER
    assert (process.controller.epoch, process.controller.broker_epoch) == (-1, -1)
    await process.start()
    assert process.controller.is_active
    await process.stop()
    with pytest.raises(KafkaError) as late:
        await process.controller.delete_topics([TopicReference("t")])
    assert late.value.code is ErrorCode.NOT_CONTROLLER


async def test_a_directory_that_fails_before_the_start_is_left_to_it(machine: Machine) -> None:
    process = machine.boot()
    task = asyncio.ensure_future(process.controller.run())
    await process.controller.replicas_went_offline([TopicPartition("t", 0)])
    task.cancel()


async def test_a_controller_that_was_replaced_learns_it_from_its_next_write(
    machine: Machine,
) -> None:
    process = await machine.start()
    await machine.store.set("/controller_epoch", b"9")
    with pytest.raises(KafkaError) as moved:
        await process.controller.create_topics([NewTopic("t")])
    assert moved.value.code is ErrorCode.NOT_CONTROLLER
    assert not process.controller.is_active
    assert process.doors.leaders == {}


async def test_a_store_that_fails_is_a_storage_error_and_changes_nothing(
    machine: Machine,
) -> None:
    process = await machine.start()
    await machine.store.create("/brokers/topics/t")
    with pytest.raises(KafkaError) as failed:
        await process.controller.create_topics([NewTopic("t")])
    assert failed.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert process.metadata.topics() == {}
    assert process.doors.leaders == {}


async def test_many_partitions_are_created_with_turns_of_the_loop_between(
    machine: Machine,
) -> None:
    process = await machine.start()
    turns = 0

    def count() -> None:
        nonlocal turns
        turns += 1
        loop.call_soon(count)

    loop = asyncio.get_running_loop()
    loop.call_soon(count)
    await process.controller.create_topics([NewTopic("t", 300), NewTopic("u", 200)])
    assert turns >= 50
    assert len(process.doors.leaders) == 500
    topic = process.metadata.topic("t")
    assert topic is not None
    assert len(topic.partitions) == 300
