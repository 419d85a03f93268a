import pytest

from broker.handlers.describe_cluster import handle_describe_cluster
from cluster.controller.messages import Endpoint, LiveBroker, MetadataUpdate
from cluster.metadata_cache import MetadataCache
from protocol.errors import ErrorCode
from protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from protocol.model import AUTHORIZED_OPERATIONS_UNKNOWN
from tests.support.contexts import context


def describe(
    request: DescribeClusterRequest | None = None, listener: str = "IN"
) -> DescribeClusterResponse:
    metadata = MetadataCache("cluster")
    broker = LiveBroker(1, {"IN": Endpoint("h", 9)}, "r")
    metadata.apply(MetadataUpdate(1, [broker]))
    return handle_describe_cluster(
        context(2, listener), request or DescribeClusterRequest(), metadata=metadata
    )


def test_brokers_carry_the_endpoint_of_the_listener_that_was_asked() -> None:
    response = describe()
    (broker,) = response.brokers
    assert (broker.broker_id, broker.host, broker.port, broker.rack) == (1, "h", 9, "r")
    assert not broker.is_fenced
    assert (response.cluster_id, response.controller_id) == ("cluster", 1)


def test_the_controller_is_one_of_the_brokers_told_or_none() -> None:
    response = describe(listener="OUT")
    assert response.brokers == []
    assert response.controller_id == -1


def test_operations_are_told_only_to_those_who_ask() -> None:
    assert describe().cluster_authorized_operations == AUTHORIZED_OPERATIONS_UNKNOWN
    asked = DescribeClusterRequest(include_cluster_authorized_operations=True)
    assert describe(asked).cluster_authorized_operations == 8096


@pytest.mark.parametrize(
    ("endpoint_type", "code", "message"),
    [
        (
            2,
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of"
            " type CONTROLLER",
        ),
        (7, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, "Unsupported endpoint type 7"),
    ],
)
def test_only_brokers_are_described(endpoint_type: int, code: ErrorCode, message: str) -> None:
    response = describe(DescribeClusterRequest(endpoint_type=endpoint_type))
    assert (response.error_code, response.error_message) == (code, message)
    assert response.brokers == []
