"""Settings of topics, brokers, groups and subscriptions to client metrics: change, write, remember.

Groups and subscriptions are there as long as something is set for them: the last setting takes the
node away. Their parents came later than the store of a broker may be, and are made with the first.
"""

from collections.abc import Callable, Mapping

from cluster import znodes
from cluster.controller.context import ControllerContext
from cluster.controller.term import Term
from cluster.store.port import Create, Delete, Operation, Set
from protocol.errors import ErrorCode, KafkaError

Configs = Mapping[str, str]


async def change_configs(
    term: Term, entity_type: str, name: str, change: Callable[[Configs], Configs]
) -> Configs:
    """What `change` made of the configs set on (entity type, name), stored; it may raise.

    UNKNOWN_TOPIC_OR_PARTITION for a topic that does not exist.
    """
    context = term.context
    if entity_type == "topics" and (name not in context.topics or name in context.deleting):
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    entities = context.configs[entity_type]
    config = dict(change(entities.get(name, {})))
    operations = _operations(context, entity_type, name, config)
    if operations:
        await term.write(operations)
    if config:
        context.config_parents.add(znodes.config_parent(entity_type))
    if config or entity_type not in znodes.FREE_NAMES:
        entities[name] = config
    else:
        entities.pop(name, None)
    return config


def _operations(
    context: ControllerContext, entity_type: str, name: str, config: Configs
) -> list[Operation]:
    path, parent = znodes.config(entity_type, name), znodes.config_parent(entity_type)
    is_there = name in context.configs[entity_type]
    if not config and entity_type in znodes.FREE_NAMES:
        return [Delete(path)] if is_there else []
    data = znodes.encode_config(config)
    if is_there:
        return [Set(path, data)]
    made: list[Operation] = [] if parent in context.config_parents else [Create(parent)]
    return [*made, Create(path, data)]
