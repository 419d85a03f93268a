"""DescribeCluster (60): the cluster's id, its controller and its brokers.

Brokers carry the endpoint of the listener that was asked. Only brokers are described here: a
client that wants controllers asked the wrong listener (KIP-919). No broker of ours is fenced.
"""

from typing import Final

from broker.context import RequestContext
from broker.handlers.topic_answers import CLUSTER_OPERATIONS
from cluster.metadata_cache import MetadataCache
from protocol.errors import ErrorCode
from protocol.messages.describe_cluster import (
    BROKER_ENDPOINTS,
    CONTROLLER_ENDPOINTS,
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

_WRONG_TYPE: Final = (
    "The request was sent to an endpoint of type BROKER,"
    " but we wanted an endpoint of type CONTROLLER"
)


def handle_describe_cluster(
    context: RequestContext, request: DescribeClusterRequest, *, metadata: MetadataCache
) -> DescribeClusterResponse:
    """Describe the brokers that serve the listener asked."""
    if request.endpoint_type == CONTROLLER_ENDPOINTS:
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE, error_message=_WRONG_TYPE
        )
    if request.endpoint_type != BROKER_ENDPOINTS:
        return DescribeClusterResponse(
            error_code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message=f"Unsupported endpoint type {request.endpoint_type}",
        )
    brokers = []
    for broker in metadata.brokers.values():
        endpoint = broker.endpoints.get(context.listener_name)
        if endpoint is not None:
            brokers.append(
                DescribeClusterBroker(
                    broker_id=broker.id, host=endpoint.host, port=endpoint.port, rack=broker.rack
                )
            )
    is_listed = any(broker.broker_id == metadata.controller_id for broker in brokers)
    response = DescribeClusterResponse(
        cluster_id=metadata.cluster_id,
        controller_id=metadata.controller_id if is_listed else -1,
        brokers=brokers,
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response
