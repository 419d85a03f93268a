"""ListConfigResources (74): names of the resources that have, or may have, settings.

Groups and subscriptions to client metrics are those for which something is set; brokers and topics
are all. v0 knows subscriptions alone. Source: KIP-1000, KIP-1142; `KafkaApis.scala` of Kafka 4.3.
"""

from collections.abc import Iterator

from broker.context import RequestContext
from cluster.metadata_cache import MetadataCache
from protocol.errors import ErrorCode
from protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from protocol.model import ResourceType

LISTED = (
    ResourceType.GROUP,
    ResourceType.CLIENT_METRICS,
    ResourceType.BROKER_LOGGER,
    ResourceType.BROKER,
    ResourceType.TOPIC,
)
"""In the order of the answer."""


def handle_list_config_resources(
    context: RequestContext, request: ListConfigResourcesRequest, *, metadata: MetadataCache
) -> ListConfigResourcesResponse:
    """List what is of the types asked for, of all types where none is named."""
    wanted = set(request.resource_types)
    if context.api_version == 0:
        wanted = {ResourceType.CLIENT_METRICS}
    elif not wanted:
        wanted = set(LISTED)
    if not wanted.issubset(LISTED):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=type_)
            for type_ in LISTED
            if type_ in wanted
            for name in _names(type_, metadata)
        ]
    )


def _names(type_: ResourceType, metadata: MetadataCache) -> Iterator[str]:
    if type_ == ResourceType.GROUP:
        yield from metadata.group_configs.names()
    elif type_ == ResourceType.CLIENT_METRICS:
        yield from metadata.client_metrics.names()
    elif type_ == ResourceType.TOPIC:
        yield from metadata.topics()
    else:
        yield from map(str, metadata.brokers)
