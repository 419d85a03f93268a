"""DescribeCluster (60): cluster id, controller and brokers (KIP-700).

v1 tells brokers from controllers (KIP-919), v2 fenced brokers (KIP-1073). Flexible from v0.
"""

from typing import Final

from protocol.api_keys import ApiKey
from protocol.model import AUTHORIZED_OPERATIONS_UNKNOWN
from protocol.schema.fields import array, boolean, int8, int16, int32, string
from protocol.schema.message import Failure, Message, Request, Response

BROKER_ENDPOINTS: Final = 1
CONTROLLER_ENDPOINTS: Final = 2


class DescribeClusterRequest(
    Request, api_key=ApiKey.DESCRIBE_CLUSTER, versions="0-2", flexible="0+"
):
    """Which nodes to describe."""

    include_cluster_authorized_operations: bool = boolean()
    endpoint_type: int = int8("1+", default=BROKER_ENDPOINTS)
    include_fenced_brokers: bool = boolean("2+")

    def refusal(self, failure: Failure) -> "DescribeClusterResponse":
        """The code and the message at the top."""
        return DescribeClusterResponse(error_code=failure.code, error_message=failure.message)


class DescribeClusterBroker(Message):
    """A node, at its address on the listener that was asked."""

    broker_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(nullable="0+", default=None)
    is_fenced: bool = boolean("2+")


class DescribeClusterResponse(
    Response, api_key=ApiKey.DESCRIBE_CLUSTER, versions="0-2", flexible="0+"
):
    """The cluster as this broker knows it."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    endpoint_type: int = int8("1+", default=BROKER_ENDPOINTS)
    cluster_id: str = string()
    controller_id: int = int32(default=-1)
    brokers: list[DescribeClusterBroker] = array(DescribeClusterBroker)
    cluster_authorized_operations: int = int32(default=AUTHORIZED_OPERATIONS_UNKNOWN)
