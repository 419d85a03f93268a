"""OffsetCommit (8): remember how far a group has read, in the topics that exist.

Topics nobody knows are answered first and refuse nothing else; a request about such topics alone
never reaches its group. Names are UNKNOWN_TOPIC_OR_PARTITION, the ids of v10 UNKNOWN_TOPIC_ID.
"""

from collections.abc import Sequence
from typing import Final

from broker.context import HandlerResult, RequestContext
from broker.coordinator.group.coordinator import GroupCoordinator, caller_of
from broker.coordinator.group.offset_commands import TopicCommits
from broker.coordinator.parked_reply import ParkedReply
from cluster.metadata_cache import MetadataCache
from protocol.errors import ErrorCode
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

FIRST_VERSION_WITH_TOPIC_IDS: Final = 10


def handle_offset_commit(
    context: RequestContext,
    request: OffsetCommitRequest,
    *,
    groups: GroupCoordinator,
    metadata: MetadataCache,
) -> HandlerResult:
    """Commit what can be; every partition has its answer."""
    by_id = context.api_version >= FIRST_VERSION_WITH_TOPIC_IDS
    unknown_code = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    known: list[OffsetCommitRequestTopic] = []
    commits: list[TopicCommits] = []
    response = OffsetCommitResponse()
    for topic in request.topics:
        image = metadata.topic_by_id(topic.topic_id) if by_id else metadata.topic(topic.name)
        if image is None:
            response.topics.append(_refused_topic(topic, unknown_code))
        else:
            known.append(topic)
            commits.append(TopicCommits(image.name, image.topic_id, topic.partitions))

    def answered(answers: Sequence[list[OffsetCommitResponsePartition]]) -> OffsetCommitResponse:
        response.topics += [
            OffsetCommitResponseTopic(
                name=topic.name, topic_id=topic.topic_id, partitions=partitions
            )
            for topic, partitions in zip(known, answers, strict=True)
        ]
        return response

    def refused(code: ErrorCode) -> OffsetCommitResponse:
        response.topics += [_refused_topic(topic, code) for topic in known]
        return response

    if request.topics and not known:
        return response
    reply = ParkedReply(answered, refused)
    groups.offset_commit(request, commits, caller_of(context, reply))
    return reply.parked


def _refused_topic(topic: OffsetCommitRequestTopic, code: ErrorCode) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetCommitResponsePartition(partition_index=one.partition_index, error_code=code)
            for one in topic.partitions
        ],
    )
