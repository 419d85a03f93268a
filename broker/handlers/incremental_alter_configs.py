"""IncrementalAlterConfigs: single settings of topics, brokers and loggers, set while they run.

Levels of loggers are changed on this broker at once and forgotten when it stops. Source: KIP-339,
KIP-412; `ConfigAdminManager.scala` of Kafka 4.3.
"""

from broker.config_changes import (
    ConfigChanges,
    ConfigWriter,
    ResourceChange,
    answer_each,
    check_node_id,
    check_shape,
)
from broker.context import RequestContext
from broker.loggers import LEVELS, ROOT, LoggerLevels
from cluster.metadata_cache import MetadataCache
from config.broker_config import BrokerConfig
from config.dynamic import Operation
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from protocol.model import AlterOperation, ResourceType


async def handle_incremental_alter_configs(
    _context: RequestContext,
    request: IncrementalAlterConfigsRequest,
    *,
    config: BrokerConfig,
    metadata: MetadataCache,
    controller: ConfigWriter,
    loggers: LoggerLevels,
) -> IncrementalAlterConfigsResponse:
    """Change each resource by itself and answer in the order of the request."""
    changes = ConfigChanges(config, metadata, controller)

    async def carry_out(resource: AlterConfigsResource) -> None:
        _check_shape(resource)
        operations = [
            Operation(entry.name, entry.config_operation, entry.value) for entry in resource.configs
        ]
        if resource.resource_type == ResourceType.BROKER_LOGGER:
            check_node_id(resource.resource_name, config.node_id)
            levels = [_check_level(operation, loggers.levels()) for operation in operations]
            for name, level in [] if request.validate_only else levels:
                loggers.set_level(name, level)
            return
        change = ResourceChange(
            resource.resource_type, resource.resource_name, operations, replaces=False
        )
        await changes.make(change, validate_only=request.validate_only)

    answers = await answer_each(request.resources, _identify, carry_out)
    return IncrementalAlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(
                error_code=code,
                error_message=message,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource, code, message in answers
        ]
    )


def _identify(resource: AlterConfigsResource) -> tuple[int, str]:
    return resource.resource_type, resource.resource_name


def _check_shape(resource: AlterConfigsResource) -> None:
    without_value = [
        entry.name
        for entry in resource.configs
        if entry.value is None and entry.config_operation != AlterOperation.DELETE
    ]
    check_shape([entry.name for entry in resource.configs], without_value)


def _check_level(operation: Operation, levels: dict[str, str]) -> tuple[str, str | None]:
    """The logger and its new level, None to inherit again. Raises KafkaError."""
    name, kind, value = operation
    if kind not in (AlterOperation.SET, AlterOperation.DELETE):
        verb = AlterOperation(kind).name if kind in set(AlterOperation) else str(kind)
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"{verb} operation is not allowed for the BROKER_LOGGER resource",
        )
    if name not in levels:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Logger {name} does not exist!")
    if kind == AlterOperation.DELETE:
        if name == ROOT:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                "Removing the log level of the root logger is not allowed",
            )
        return name, None
    if value not in LEVELS:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Cannot set the log level of {name} to {value} as it is not a supported log level. "
            f"Valid log levels are {', '.join(sorted(LEVELS))}",
        )
    return name, value
