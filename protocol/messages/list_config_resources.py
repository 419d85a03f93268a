"""ListConfigResources (74): names of the resources that have, or may have, settings.

v0 client metrics subscriptions only (KIP-1000), v1 every type of resource (KIP-1142). Flexible from
v0.
"""

from protocol.api_keys import ApiKey
from protocol.model import ResourceType
from protocol.schema.fields import array, int8, int16, int32, string
from protocol.schema.message import Failure, Message, Request, Response


class ListConfigResourcesRequest(
    Request, api_key=ApiKey.LIST_CONFIG_RESOURCES, versions="0-1", flexible="0+"
):
    """Types of interest (`ResourceType`); none for all."""

    resource_types: list[int] = array(int8, "1+", ignorable=False)

    def refusal(self, failure: Failure) -> "ListConfigResourcesResponse":
        """The code at the top; no resources."""
        return ListConfigResourcesResponse(error_code=failure.code)


class ConfigResource(Message):
    """One resource."""

    resource_name: str = string()
    resource_type: int = int8("1+", default=ResourceType.CLIENT_METRICS.value)


class ListConfigResourcesResponse(
    Response, api_key=ApiKey.LIST_CONFIG_RESOURCES, versions="0-1", flexible="0+"
):
    """The resources."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    config_resources: list[ConfigResource] = array(ConfigResource)
