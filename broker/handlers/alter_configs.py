"""AlterConfigs: the older way, which replaces all settings of a resource by those sent.

What a resource held and the request does not name is reset. Levels of loggers cannot be changed
this way. Source: KIP-133; `ConfigAdminManager.scala` of Kafka 4.3.
"""

from broker.config_changes import (
    ConfigChanges,
    ConfigWriter,
    ResourceChange,
    answer_each,
    check_shape,
)
from broker.context import RequestContext
from cluster.metadata_cache import MetadataCache
from config.broker_config import BrokerConfig
from config.dynamic import SET, Operation
from protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


async def handle_alter_configs(
    _context: RequestContext,
    request: AlterConfigsRequest,
    *,
    config: BrokerConfig,
    metadata: MetadataCache,
    controller: ConfigWriter,
) -> AlterConfigsResponse:
    """Replace each resource's settings by itself and answer in the order of the request."""
    changes = ConfigChanges(config, metadata, controller)

    async def carry_out(resource: AlterConfigsResource) -> None:
        entries = resource.configs
        check_shape(
            [entry.name for entry in entries],
            [entry.name for entry in entries if entry.value is None],
        )
        change = ResourceChange(
            resource.resource_type,
            resource.resource_name,
            [Operation(entry.name, SET, entry.value) for entry in entries],
            replaces=True,
        )
        await changes.make(change, validate_only=request.validate_only)

    answers = await answer_each(request.resources, _identify, carry_out)
    return AlterConfigsResponse(
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
