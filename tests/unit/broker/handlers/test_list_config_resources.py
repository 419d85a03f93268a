"""ListConfigResources: by type in Kafka's order, groups and subscriptions only with settings."""

import pytest

from broker.handlers.list_config_resources import handle_list_config_resources
from cluster.controller.messages import Endpoint, LiveBroker, MetadataUpdate
from protocol.errors import ErrorCode
from protocol.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from tests.support.config_ports import metadata_of
from tests.support.contexts import context


def ask(version: int, *types: int) -> ListConfigResourcesResponse:
    metadata = metadata_of({"t": {}, "u": {"retention.ms": "5"}})
    brokers = [LiveBroker(1, {"PLAINTEXT": Endpoint("localhost", 9092)})]
    metadata.apply(MetadataUpdate(1, brokers, ()))
    metadata.group_configs.set("g", {"consumer.session.timeout.ms": "50000"})
    metadata.client_metrics.set("s", {"metrics": "*"})
    metadata.client_metrics.set("gone", {"metrics": "*"})
    metadata.client_metrics.set("gone", {})
    response = handle_list_config_resources(
        context(version), ListConfigResourcesRequest(resource_types=list(types)), metadata=metadata
    )
    return ListConfigResourcesResponse.decode(response.encode(version), version)


def listed(version: int, *types: int) -> list[tuple[int, str]]:
    response = ask(version, *types)
    assert response.error_code == 0
    return [(one.resource_type, one.resource_name) for one in response.config_resources]


def test_no_type_is_all_types() -> None:
    assert listed(1) == [(32, "g"), (16, "s"), (8, "1"), (4, "1"), (2, "t"), (2, "u")]


def test_types_asked_for_come_in_the_same_order_each_once() -> None:
    assert listed(1, 2, 32, 2) == [(32, "g"), (2, "t"), (2, "u")]


def test_version_zero_lists_subscriptions() -> None:
    assert listed(0) == [(16, "s")]


@pytest.mark.parametrize("type_", [0, 1, 3, 64, -1])
def test_an_unknown_type_is_a_version_that_is_not_known(type_: int) -> None:
    response = ask(1, 2, type_)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert response.config_resources == []
