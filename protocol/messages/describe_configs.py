"""DescribeConfigs (32): effective settings of topics, brokers and other resources.

v1 sources and synonyms (KIP-226), v2 the answer comes before the client is throttled, v3 types and
documentation (KIP-569), v4 flexible.
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, boolean, int8, int16, int32, string
from protocol.schema.message import Failure, Message, Request, Response


class DescribeConfigsResource(Message):
    """A resource (`ResourceType`), and which keys of it: null for all."""

    resource_type: int = int8()
    resource_name: str = string()
    configuration_keys: list[str] | None = array(string, nullable="0+")


class DescribeConfigsRequest(
    Request, api_key=ApiKey.DESCRIBE_CONFIGS, versions="1-4", flexible="4+"
):
    """The resources asked for, and in what detail."""

    resources: list[DescribeConfigsResource] = array(DescribeConfigsResource)
    include_synonyms: bool = boolean("1+", ignorable=False)
    include_documentation: bool = boolean("3+", ignorable=False)

    def refusal(self, failure: Failure) -> "DescribeConfigsResponse":
        """The code, and a message in any case, for each resource."""
        return DescribeConfigsResponse(
            results=[
                DescribeConfigsResult(
                    error_code=failure.code,
                    error_message=failure.text,
                    resource_type=resource.resource_type,
                    resource_name=resource.resource_name,
                )
                for resource in self.resources
            ]
        )


class DescribeConfigsSynonym(Message):
    """A setting that the described one would fall back to, in order of precedence."""

    name: str = string("1+")
    value: str | None = string("1+", nullable="0+")
    source: int = int8("1+")


class DescribeConfigsResourceResult(Message):
    """One setting; a sensitive one has a null value."""

    name: str = string()
    value: str | None = string(nullable="0+")
    read_only: bool = boolean()
    config_source: int = int8("1+", default=-1)
    is_sensitive: bool = boolean()
    synonyms: list[DescribeConfigsSynonym] = array(DescribeConfigsSynonym, "1+")
    config_type: int = int8("3+")
    documentation: str | None = string("3+", nullable="0+", default=None)


class DescribeConfigsResult(Message):
    """The settings of one resource."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    resource_type: int = int8()
    resource_name: str = string()
    configs: list[DescribeConfigsResourceResult] = array(DescribeConfigsResourceResult)


class DescribeConfigsResponse(
    Response, api_key=ApiKey.DESCRIBE_CONFIGS, versions="1-4", flexible="4+"
):
    """The settings of each resource."""

    throttle_time_ms: int = int32()
    results: list[DescribeConfigsResult] = array(DescribeConfigsResult)
