"""One resource's change: checked before anything is looked up, then written inside the queue."""

from collections.abc import Callable, Mapping

import pytest

from broker.config_changes import (
    ConfigChanges,
    ResourceChange,
    answer_each,
    check_node_id,
    check_shape,
)
from config.broker_config import BrokerConfig
from config.dynamic import DELETE, SET, Operation
from protocol.errors import ErrorCode, KafkaError
from protocol.model import ResourceType
from tests.support.config_ports import StoredConfigs, metadata_of


def change(
    name: str,
    *operations: Operation,
    type_: int = ResourceType.TOPIC,
    replaces: bool = False,
) -> ResourceChange:
    return ResourceChange(type_, name, operations, replaces)


class House:
    """A topic `t` and broker 1."""

    def __init__(self) -> None:
        topics = {"t": {"segment.ms": "7"}}
        self.config = BrokerConfig({"node.id": "1"})
        self.store = StoredConfigs(topics)
        self.changes = ConfigChanges(self.config, metadata_of(topics), self.store)


async def failure(
    house: House, wanted: ResourceChange, *, validate_only: bool = False
) -> tuple[ErrorCode, str | None]:
    with pytest.raises(KafkaError) as caught:
        await house.changes.make(wanted, validate_only=validate_only)
    assert house.store.writes == 0
    return caught.value.code, caught.value.message


async def test_a_topics_change_is_merged_or_replaces() -> None:
    house = House()
    await house.changes.make(change("t", Operation("retention.ms", SET, "5")), validate_only=False)
    assert house.store.stored["topics", "t"] == {"segment.ms": "7", "retention.ms": "5"}
    await house.changes.make(
        change("t", Operation("retention.ms", SET, "6"), replaces=True), validate_only=False
    )
    assert house.store.stored["topics", "t"] == {"retention.ms": "6"}


async def test_the_change_is_made_to_what_is_stored_at_that_moment() -> None:
    house = House()
    house.store.stored["topics", "t"] = {"segment.ms": "8", "flush.ms": "1"}
    await house.changes.make(
        change("t", Operation("segment.ms", DELETE, None)), validate_only=False
    )
    assert house.store.stored["topics", "t"] == {"flush.ms": "1"}


async def test_validation_alone_writes_nothing() -> None:
    house = House()
    await house.changes.make(change("t", Operation("retention.ms", SET, "5")), validate_only=True)
    await house.changes.make(
        change("1", Operation("num.io.threads", SET, "9"), type_=ResourceType.BROKER),
        validate_only=True,
    )
    assert house.store.writes == 0


async def test_a_bad_value_is_told_before_an_unknown_topic() -> None:
    house = House()
    assert await failure(house, change("nope", Operation("retention.ms", SET, "x"))) == (
        ErrorCode.INVALID_CONFIG,
        "Invalid value x for configuration retention.ms: Not a number of type LONG",
    )
    assert await failure(house, change("nope"), validate_only=True) == (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "The topic 'nope' does not exist.",
    )
    assert await failure(house, change("")) == (
        ErrorCode.INVALID_REQUEST,
        "Default topic resources are not allowed.",
    )


async def test_a_topic_deleted_meanwhile_is_unknown() -> None:
    house = House()
    house.store.stored.clear()
    assert await failure(house, change("t")) == (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "The topic 't' does not exist.",
    )


async def test_other_failures_of_the_controller_pass_through() -> None:
    class NotActive:
        async def change_configs(
            self,
            entity_type: str,
            name: str,
            change: Callable[[Mapping[str, str]], Mapping[str, str]],
        ) -> None:
            raise KafkaError(ErrorCode.NOT_CONTROLLER)

    changes = ConfigChanges(BrokerConfig(), metadata_of({"t": {}}), NotActive())
    with pytest.raises(KafkaError) as caught:
        await changes.make(change("t"), validate_only=False)
    assert caught.value.code == ErrorCode.NOT_CONTROLLER


async def test_this_broker_and_the_default_of_all_are_stored_apart() -> None:
    house = House()
    for name in ("1", ""):
        await house.changes.make(
            change(name, Operation("num.io.threads", SET, "9"), type_=ResourceType.BROKER),
            validate_only=False,
        )
    assert house.store.stored["brokers", "1"] == {"num.io.threads": "9"}
    assert house.store.stored["brokers", "<default>"] == {"num.io.threads": "9"}


async def test_a_bad_broker_value_and_an_unknown_type_are_invalid_requests() -> None:
    house = House()
    bad = change("", Operation("num.io.threads", SET, "0"), type_=ResourceType.BROKER)
    assert (await failure(house, bad))[0] == ErrorCode.INVALID_REQUEST
    assert await failure(house, change("g", type_=64)) == (
        ErrorCode.INVALID_REQUEST,
        "Unknown resource type 64",
    )


@pytest.mark.parametrize(
    ("type_", "entity_type", "key", "value"),
    [
        (ResourceType.GROUP, "groups", "consumer.session.timeout.ms", "50000"),
        (ResourceType.CLIENT_METRICS, "client-metrics", "metrics", "a.,b."),
    ],
)
async def test_groups_and_subscriptions_are_stored_whether_they_exist_or_not(
    type_: int, entity_type: str, key: str, value: str
) -> None:
    house = House()
    wanted = change("x", Operation(key, SET, value), type_=type_)
    await house.changes.make(wanted, validate_only=True)
    assert house.store.writes == 0
    await house.changes.make(wanted, validate_only=False)
    assert house.store.stored[entity_type, "x"] == {key: value}
    await house.changes.make(change("x", type_=type_), validate_only=False)
    assert house.store.stored[entity_type, "x"] == {key: value}
    await house.changes.make(change("x", type_=type_, replaces=True), validate_only=False)
    assert house.store.stored[entity_type, "x"] == {}


def test_a_broker_answers_for_itself_only() -> None:
    check_node_id("1", 1)
    for name, message in (
        ("x", "Node id must be an integer, but it is: x"),
        ("9", "Unexpected broker id, expected 1, but received 9"),
    ):
        with pytest.raises(KafkaError) as caught:
            check_node_id(name, 1)
        assert (caught.value.code, caught.value.message) == (ErrorCode.INVALID_REQUEST, message)


def test_the_shape_of_a_resource_is_checked_first() -> None:
    check_shape(["a"], [])
    with pytest.raises(KafkaError, match="duplicate config keys"):
        check_shape(["a", "a"], [])


async def test_each_resource_is_answered_in_order_and_twins_are_all_refused() -> None:
    done: list[str] = []

    async def carry_out(name: str) -> None:
        if name == "bad":
            raise KafkaError(ErrorCode.INVALID_CONFIG, "no")
        done.append(name)

    answers = await answer_each(["a", "b", "bad", "a"], lambda name: (2, name), carry_out)
    twin = (ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
    assert answers == [
        ("a", *twin),
        ("b", ErrorCode.NONE, None),
        ("bad", ErrorCode.INVALID_CONFIG, "no"),
        ("a", *twin),
    ]
    assert done == ["b"]


async def test_a_name_no_topic_can_have_is_told_apart_from_a_missing_topic() -> None:
    code, _ = await failure(House(), change("a b", Operation("retention.ms", SET, "5")))
    assert code == ErrorCode.INVALID_TOPIC_EXCEPTION
