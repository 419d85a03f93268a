"""FindCoordinator (10): the leader of the partition that a group or transactional id falls into.

The internal topic is made when it is first asked for; until its partition has a leader the answer
is COORDINATOR_NOT_AVAILABLE, and clients ask again. v1-3 say a message in any case, "NONE" where
all is well; v4 and later an empty one. Share groups are not served: INVALID_REQUEST.
"""

from typing import Final

from broker.context import RequestContext
from broker.coordinator.partition_of import partition_of
from cluster.controller.auto_creation import AutoCreation
from cluster.metadata_cache import MetadataCache
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.find_coordinator import (
    FIRST_VERSION_WITH_MANY_KEYS,
    Coordinator,
    CoordinatorType,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    no_coordinator,
)
from protocol.model import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, TopicPartition

_TOPICS: Final[dict[int, str]] = {
    CoordinatorType.GROUP: CONSUMER_OFFSETS_TOPIC,
    CoordinatorType.TRANSACTION: TRANSACTION_STATE_TOPIC,
}
_NONE_TEXT: Final = "NONE"


def handle_find_coordinator(
    context: RequestContext,
    request: FindCoordinatorRequest,
    *,
    metadata: MetadataCache,
    auto_creation: AutoCreation,
) -> FindCoordinatorResponse:
    """Answer each key, having the topic made where it is missing."""
    version = context.api_version
    topic = _TOPICS.get(request.key_type)
    if topic is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if metadata.topic(topic) is None:
        auto_creation.begin([topic])
    keys = request.keys(version)
    found = [_find(key, topic, context.listener_name, metadata) for key in keys]
    if version < FIRST_VERSION_WITH_MANY_KEYS:
        for one in found:
            code = ErrorCode(one.error_code)
            one.error_message = code.text if code else _NONE_TEXT
    return FindCoordinatorResponse.telling(version, found)


def _find(key: str, topic: str, listener: str, metadata: MetadataCache) -> Coordinator:
    image = metadata.topic(topic)
    if image is not None and image.partitions:
        index = partition_of(key, len(image.partitions))
        partition = metadata.partition(TopicPartition(topic, index))
        leader = -1 if partition is None else partition.leader
        endpoint = metadata.endpoint(leader, listener)
        if endpoint is not None:
            return Coordinator(
                key=key, node_id=leader, host=endpoint.host, port=endpoint.port, error_message=""
            )
    return no_coordinator(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, "")
