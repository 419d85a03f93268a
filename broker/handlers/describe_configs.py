"""DescribeConfigs: settings of topics, brokers, groups and subscriptions, and levels of loggers.

A success carries the message "" - clients of old print a null one - and so does an unknown topic. A
resource type that is not served refuses the whole request. What is asked for twice is described
once and then refused, in the words of AlterConfigs; Kafka repeats itself. Source: KIP-133, KIP-226,
KIP-412, KIP-569; `ConfigHelper.scala` of Kafka 4.3.
"""

from collections.abc import Collection, Iterable

from broker.context import RequestContext
from broker.loggers import LoggerLevels
from cluster.controller.topics import name_error
from cluster.metadata_cache import MetadataCache
from config.broker_config import BrokerConfig
from config.definition import ConfigError
from config.describe import (
    Entry,
    describe_broker,
    describe_client_metrics,
    describe_cluster_default,
    describe_group,
    describe_topic,
)
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from protocol.model import ConfigSource, ResourceType

Described = tuple[int, str, frozenset[str]]
"""Type, name and wanted keys of a resource."""

SERVED_TYPES = (
    ResourceType.TOPIC,
    ResourceType.BROKER,
    ResourceType.BROKER_LOGGER,
    ResourceType.CLIENT_METRICS,
    ResourceType.GROUP,
)


def handle_describe_configs(
    _context: RequestContext,
    request: DescribeConfigsRequest,
    *,
    config: BrokerConfig,
    metadata: MetadataCache,
    loggers: LoggerLevels,
) -> DescribeConfigsResponse:
    """Describe each resource by itself, in the order of the request."""
    if any(resource.resource_type not in SERVED_TYPES for resource in request.resources):
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    results = []
    described: set[Described] = set()
    for resource in request.resources:
        result = DescribeConfigsResult(
            error_message="",
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
        try:
            _check_new(resource, described)
            result.configs = _describe(resource, request, config, metadata, loggers)
        except KafkaError as error:
            result.error_code = error.code
            result.error_message = error.message or ""
        except ConfigError as error:
            result.error_code = ErrorCode.INVALID_CONFIG
            result.error_message = error.message
        results.append(result)
    return DescribeConfigsResponse(results=results)


def _describe(
    resource: DescribeConfigsResource,
    request: DescribeConfigsRequest,
    config: BrokerConfig,
    metadata: MetadataCache,
    loggers: LoggerLevels,
) -> list[DescribeConfigsResourceResult]:
    name = resource.resource_name
    keys = frozenset(resource.configuration_keys or ())
    if resource.resource_type == ResourceType.BROKER_LOGGER:
        _check_id(name, config.node_id, "")
        return _levels(loggers, keys)
    return _results(_entries(resource.resource_type, name, keys, config, metadata), request)


def _entries(
    type_: int, name: str, keys: frozenset[str], config: BrokerConfig, metadata: MetadataCache
) -> list[Entry]:
    if type_ == ResourceType.TOPIC:
        _check_topic(name, metadata)
        return describe_topic(config, metadata.topic_overrides(name), keys)
    if type_ == ResourceType.GROUP:
        _check_named(name, "Group name")
        return describe_group(config, metadata.group_configs.of(name), keys)
    if type_ == ResourceType.CLIENT_METRICS:
        _check_named(name, "Client metrics subscription name")
        return describe_client_metrics(metadata.client_metrics.of(name), keys)
    if name:
        _check_id(name, config.node_id, " or empty string,")
        return describe_broker(config, keys)
    return describe_cluster_default(config, keys)


def _check_new(resource: DescribeConfigsResource, described: set[Described]) -> None:
    """Refuse a question that was asked before: ten bytes asked are ten thousand answered."""
    keys = frozenset(resource.configuration_keys or ())
    question = (resource.resource_type, resource.resource_name, keys)
    if question in described:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
    described.add(question)


def _check_topic(name: str, metadata: MetadataCache) -> None:
    reason = name_error(name)
    if reason is not None:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)
    if metadata.topic(name) is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _check_named(name: str, what: str) -> None:
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{what} must not be empty")


def _check_id(name: str, node_id: int | None, alternative: str) -> None:
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
    try:
        number = int(name)
    except ValueError:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}"
        ) from None
    if number != node_id:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {node_id}{alternative} but received {name}",
        )


def _levels(loggers: LoggerLevels, keys: Collection[str]) -> list[DescribeConfigsResourceResult]:
    return [
        DescribeConfigsResourceResult(
            name=name,
            value=level,
            config_source=ConfigSource.DYNAMIC_BROKER_LOGGER,
            documentation="",
        )
        for name, level in sorted(loggers.levels().items())
        if not keys or name in keys
    ]


def _results(
    entries: Iterable[Entry], request: DescribeConfigsRequest
) -> list[DescribeConfigsResourceResult]:
    return [
        DescribeConfigsResourceResult(
            name=entry.name,
            value=entry.value,
            read_only=entry.read_only,
            config_source=entry.source,
            is_sensitive=entry.sensitive,
            synonyms=[
                DescribeConfigsSynonym(name=name, value=value, source=source)
                for name, value, source in (entry.synonyms if request.include_synonyms else ())
            ],
            config_type=entry.type,
            documentation=entry.documentation if request.include_documentation else None,
        )
        for entry in entries
    ]
