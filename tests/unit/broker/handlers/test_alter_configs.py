"""AlterConfigs: replaces everything a resource held."""

import pytest

from broker.handlers.alter_configs import handle_alter_configs
from config.broker_config import BrokerConfig
from protocol.errors import ErrorCode
from protocol.messages.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResponse,
)
from tests.support.config_ports import StoredConfigs, context_of, metadata_of

TOPIC, BROKER, LOGGER = 2, 4, 8


async def alter(
    store: StoredConfigs,
    type_: int,
    name: str,
    entries: dict[str, str | None],
    *,
    validate_only: bool = False,
) -> tuple[int, str | None]:
    request = AlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=type_,
                resource_name=name,
                configs=[AlterableConfig(name=key, value=text) for key, text in entries.items()],
            )
        ],
        validate_only=validate_only,
    )
    response = await handle_alter_configs(
        context_of(request, 2),
        request,
        config=BrokerConfig({"node.id": "1"}),
        metadata=metadata_of({"t": {"segment.ms": "7"}}),
        controller=store,
    )
    assert AlterConfigsResponse.decode(response.encode(2), 2) == response
    (answer,) = response.responses
    assert (answer.resource_type, answer.resource_name) == (type_, name)
    return answer.error_code, answer.error_message


@pytest.fixture
def store() -> StoredConfigs:
    return StoredConfigs({"t": {"segment.ms": "7"}})


async def test_what_the_request_does_not_name_is_reset(store: StoredConfigs) -> None:
    assert await alter(store, TOPIC, "t", {"retention.ms": "5"}) == (0, None)
    assert store.stored["topics", "t"] == {"retention.ms": "5"}
    assert await alter(store, TOPIC, "t", {}) == (0, None)
    assert store.stored["topics", "t"] == {}


async def test_a_broker_is_replaced_too(store: StoredConfigs) -> None:
    store.stored["brokers", "1"] = {"max.connections": "5"}
    assert await alter(store, BROKER, "1", {"num.io.threads": "9"}) == (0, None)
    assert store.stored["brokers", "1"] == {"num.io.threads": "9"}


async def test_validation_alone_writes_nothing(store: StoredConfigs) -> None:
    assert await alter(store, TOPIC, "t", {"flush.ms": "1"}, validate_only=True) == (0, None)
    assert store.writes == 0


@pytest.mark.parametrize(
    ("type_", "name", "entries", "code", "message"),
    [
        (
            TOPIC,
            "t",
            {"retention.ms": None},
            ErrorCode.INVALID_REQUEST,
            "Null value not supported for : retention.ms",
        ),
        (
            TOPIC,
            "t",
            {"foo": "1"},
            ErrorCode.INVALID_CONFIG,
            "Unknown topic config name: foo",
        ),
        (LOGGER, "1", {"root": "INFO"}, ErrorCode.INVALID_REQUEST, "Unknown resource type 8"),
    ],
)
async def test_a_bad_resource_keeps_what_it_held(
    store: StoredConfigs,
    type_: int,
    name: str,
    entries: dict[str, str | None],
    code: ErrorCode,
    message: str,
) -> None:
    assert await alter(store, type_, name, entries) == (code, message)
    assert store.writes == 0
