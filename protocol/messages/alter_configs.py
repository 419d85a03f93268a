"""AlterConfigs (33): replace all dynamic settings of a resource; superseded by KIP-339's
IncrementalAlterConfigs and kept for old clients.

v1 the answer comes before the client is throttled, v2 flexible.
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, boolean, int8, int16, int32, string
from protocol.schema.message import Failure, Message, Request, Response


class AlterableConfig(Message):
    """A setting and its new value."""

    name: str = string()
    value: str | None = string(nullable="0+")


class AlterConfigsResource(Message):
    """A resource (`ResourceType`), and the settings that take the place of all it has."""

    resource_type: int = int8()
    resource_name: str = string()
    configs: list[AlterableConfig] = array(AlterableConfig)


class AlterConfigsRequest(Request, api_key=ApiKey.ALTER_CONFIGS, versions="0-2", flexible="2+"):
    """The resources to change, or only to check."""

    resources: list[AlterConfigsResource] = array(AlterConfigsResource)
    validate_only: bool = boolean()

    def refusal(self, failure: Failure) -> "AlterConfigsResponse":
        """The code and the message for each resource."""
        return AlterConfigsResponse(
            responses=[
                AlterConfigsResourceResponse(
                    error_code=failure.code,
                    error_message=failure.message,
                    resource_type=resource.resource_type,
                    resource_name=resource.resource_name,
                )
                for resource in self.resources
            ]
        )


class AlterConfigsResourceResponse(Message):
    """What became of one resource."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    resource_type: int = int8()
    resource_name: str = string()


class AlterConfigsResponse(Response, api_key=ApiKey.ALTER_CONFIGS, versions="0-2", flexible="2+"):
    """What became of each resource."""

    throttle_time_ms: int = int32()
    responses: list[AlterConfigsResourceResponse] = array(AlterConfigsResourceResponse)
