"""IncrementalAlterConfigs (44): set, delete, append to or subtract from single settings (KIP-339).

v1 flexible.
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, boolean, int8, int16, int32, string
from protocol.schema.message import Failure, Message, Request, Response


class AlterableConfig(Message):
    """A setting, what to do with it (`AlterOperation`), and the value for that."""

    name: str = string()
    config_operation: int = int8()
    value: str | None = string(nullable="0+")


class AlterConfigsResource(Message):
    """A resource (`ResourceType`), and the changes to its settings."""

    resource_type: int = int8()
    resource_name: str = string()
    configs: list[AlterableConfig] = array(AlterableConfig)


class IncrementalAlterConfigsRequest(
    Request, api_key=ApiKey.INCREMENTAL_ALTER_CONFIGS, versions="0-1", flexible="1+"
):
    """The resources to change, or only to check."""

    resources: list[AlterConfigsResource] = array(AlterConfigsResource)
    validate_only: bool = boolean()

    def refusal(self, failure: Failure) -> "IncrementalAlterConfigsResponse":
        """The code and the message for each resource."""
        return IncrementalAlterConfigsResponse(
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


class IncrementalAlterConfigsResponse(
    Response, api_key=ApiKey.INCREMENTAL_ALTER_CONFIGS, versions="0-1", flexible="1+"
):
    """What became of each resource."""

    throttle_time_ms: int = int32()
    responses: list[AlterConfigsResourceResponse] = array(AlterConfigsResourceResponse)
