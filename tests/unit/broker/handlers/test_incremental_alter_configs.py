"""IncrementalAlterConfigs: order of checks and answers, and the levels of loggers."""

import pytest

from broker.handlers.incremental_alter_configs import handle_incremental_alter_configs
from config.broker_config import BrokerConfig
from protocol.errors import ErrorCode
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from tests.support.config_ports import HeldLevels, StoredConfigs, context_of, metadata_of

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND = 0, 1, 2

Change = tuple[str, int, str | None]
Answer = tuple[int, str | None, int, str]


class House:
    """A topic `t`, broker 1 and two loggers."""

    def __init__(self) -> None:
        topics = {"t": {"segment.ms": "7"}}
        self.store = StoredConfigs(topics)
        self.metadata = metadata_of(topics)
        self.loggers = HeldLevels()

    async def alter(
        self, *resources: tuple[int, str, list[Change]], validate_only: bool = False
    ) -> list[Answer]:
        request = IncrementalAlterConfigsRequest(
            resources=[
                AlterConfigsResource(
                    resource_type=type_,
                    resource_name=name,
                    configs=[
                        AlterableConfig(name=key, config_operation=kind, value=value)
                        for key, kind, value in changes
                    ],
                )
                for type_, name, changes in resources
            ],
            validate_only=validate_only,
        )
        response = await handle_incremental_alter_configs(
            context_of(request, 1),
            request,
            config=BrokerConfig({"node.id": "1"}),
            metadata=self.metadata,
            controller=self.store,
            loggers=self.loggers,
        )
        assert IncrementalAlterConfigsResponse.decode(response.encode(1), 1) == response
        return [
            (one.error_code, one.error_message, one.resource_type, one.resource_name)
            for one in response.responses
        ]


async def test_each_resource_is_changed_by_itself_and_answered_in_order() -> None:
    house = House()
    assert await house.alter(
        (TOPIC, "nope", [("retention.ms", SET, "5")]),
        (TOPIC, "t", [("retention.ms", SET, "5"), ("cleanup.policy", APPEND, "compact")]),
        (BROKER, "1", [("num.io.threads", SET, "9")]),
        (TOPIC, "t2", []),
    ) == [
        (3, "The topic 'nope' does not exist.", TOPIC, "nope"),
        (0, None, TOPIC, "t"),
        (0, None, BROKER, "1"),
        (3, "The topic 't2' does not exist.", TOPIC, "t2"),
    ]
    assert house.store.stored["topics", "t"] == {
        "segment.ms": "7",
        "retention.ms": "5",
        "cleanup.policy": "delete,compact",
    }


async def test_an_empty_change_of_a_topic_succeeds() -> None:
    assert await House().alter((TOPIC, "t", [])) == [(0, None, TOPIC, "t")]


@pytest.mark.parametrize(
    ("resource", "code", "message"),
    [
        (
            (TOPIC, "t", [("retention.ms", SET, "1"), ("retention.ms", DELETE, None)]),
            ErrorCode.INVALID_REQUEST,
            "Error due to duplicate config keys",
        ),
        (
            (TOPIC, "t", [("retention.ms", SET, None)]),
            ErrorCode.INVALID_REQUEST,
            "Null value not supported for : retention.ms",
        ),
        (
            (TOPIC, "t", [("segment.ms", SET, "1"), ("retention.ms", SET, "soon")]),
            ErrorCode.INVALID_CONFIG,
            "Invalid value soon for configuration retention.ms: Not a number of type LONG",
        ),
        ((99, "t", []), ErrorCode.INVALID_REQUEST, "Unknown resource type 99"),
        ((1, "t", []), ErrorCode.INVALID_REQUEST, "Unknown resource type 1"),
        ((GROUP, "", []), ErrorCode.INVALID_REQUEST, "Default group resources are not allowed."),
        (
            (GROUP, "g", [("foo", SET, "1")]),
            ErrorCode.INVALID_CONFIG,
            "Unknown group config name: foo",
        ),
        (
            (CLIENT_METRICS, "", []),
            ErrorCode.INVALID_REQUEST,
            "Subscription name can't be empty",
        ),
        (
            (CLIENT_METRICS, "s", [("foo", SET, "1")]),
            ErrorCode.INVALID_REQUEST,
            "Unknown client metrics configuration: foo",
        ),
        (
            (CLIENT_METRICS, "s", [("match", SET, "client_id=(")]),
            ErrorCode.INVALID_CONFIG,
            "Illegal client matching pattern: client_id=(",
        ),
        (
            (CLIENT_METRICS, "s", [("metrics", APPEND, "a.")]),
            ErrorCode.INVALID_CONFIG,
            "Can't APPEND to key metrics because its type is not LIST.",
        ),
        (
            (LOGGER, "9", [("root", SET, "INFO")]),
            ErrorCode.INVALID_REQUEST,
            "Unexpected broker id, expected 1, but received 9",
        ),
        (
            (LOGGER, "1", [("root", SET, "FOO")]),
            ErrorCode.INVALID_CONFIG,
            "Cannot set the log level of root to FOO as it is not a supported log level. "
            "Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN",
        ),
        (
            (LOGGER, "1", [("root", DELETE, None)]),
            ErrorCode.INVALID_REQUEST,
            "Removing the log level of the root logger is not allowed",
        ),
        (
            (LOGGER, "1", [("broker.dispatch", SET, "DEBUG"), ("no.such", SET, "INFO")]),
            ErrorCode.INVALID_CONFIG,
            "Logger no.such does not exist!",
        ),
        (
            (LOGGER, "1", [("root", APPEND, "INFO")]),
            ErrorCode.INVALID_REQUEST,
            "APPEND operation is not allowed for the BROKER_LOGGER resource",
        ),
        (
            (LOGGER, "1", [("root", 9, "INFO")]),
            ErrorCode.INVALID_REQUEST,
            "9 operation is not allowed for the BROKER_LOGGER resource",
        ),
    ],
)
async def test_one_bad_key_changes_nothing_of_its_resource(
    resource: tuple[int, str, list[Change]], code: ErrorCode, message: str
) -> None:
    house = House()
    before = house.loggers.levels()
    assert await house.alter(resource) == [(code, message, resource[0], resource[1])]
    assert house.store.writes == 0
    assert house.loggers.levels() == before


async def test_a_level_is_set_at_once_and_deleting_it_inherits_again() -> None:
    house = House()
    answer = [(0, None, LOGGER, "1")]
    assert await house.alter((LOGGER, "1", [("broker.dispatch", SET, "DEBUG")])) == answer
    assert house.loggers.held["broker.dispatch"] == "DEBUG"
    assert await house.alter((LOGGER, "1", [("broker.dispatch", DELETE, None)])) == answer
    assert house.loggers.held["broker.dispatch"] == "INFO"


async def test_validation_alone_changes_nothing() -> None:
    house = House()
    answers = await house.alter(
        (LOGGER, "1", [("broker.dispatch", SET, "DEBUG")]),
        (TOPIC, "t", [("retention.ms", SET, "1")]),
        validate_only=True,
    )
    assert [code for code, *_ in answers] == [0, 0]
    assert house.loggers.held["broker.dispatch"] == "INFO"
    assert house.store.writes == 0


async def test_a_resource_that_comes_twice_is_refused_twice() -> None:
    twin: tuple[int, str, list[Change]] = (TOPIC, "t", [("retention.ms", SET, "1")])
    answer = (ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.", TOPIC, "t")
    assert await House().alter(twin, twin) == [answer, answer]
