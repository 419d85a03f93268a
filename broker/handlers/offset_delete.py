"""OffsetDelete (47): forget offsets of a group, where no member subscribes (KIP-496).

What concerns the group is told at the top, without partitions; a topic nobody knows is
UNKNOWN_TOPIC_OR_PARTITION for itself.
"""

from collections.abc import Sequence

from broker.context import Parked, RequestContext
from broker.coordinator.group.coordinator import GroupCoordinator
from broker.coordinator.parked_reply import ParkedReply
from cluster.metadata_cache import MetadataCache
from protocol.errors import ErrorCode
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


def handle_offset_delete(
    _: RequestContext,
    request: OffsetDeleteRequest,
    *,
    groups: GroupCoordinator,
    metadata: MetadataCache,
) -> Parked:
    """Delete what can be."""
    known = [topic for topic in request.topics if metadata.topic(topic.name) is not None]
    unknown = [topic for topic in request.topics if metadata.topic(topic.name) is None]

    def answered(codes: Sequence[ErrorCode]) -> OffsetDeleteResponse:
        missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return OffsetDeleteResponse(
            topics=[
                *(_answer(topic, missing) for topic in unknown),
                *(_answer(topic, code) for topic, code in zip(known, codes, strict=True)),
            ]
        )

    reply = ParkedReply(answered, lambda code: OffsetDeleteResponse(error_code=code))
    topics = [(topic.name, [one.partition_index for one in topic.partitions]) for topic in known]
    groups.offset_delete(request.group_id, topics, reply)
    return reply.parked


def _answer(topic: OffsetDeleteRequestTopic, code: ErrorCode) -> OffsetDeleteResponseTopic:
    return OffsetDeleteResponseTopic(
        name=topic.name,
        partitions=[
            OffsetDeleteResponsePartition(partition_index=one.partition_index, error_code=code)
            for one in topic.partitions
        ],
    )
