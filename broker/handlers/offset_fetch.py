"""OffsetFetch (9): how far groups have read; what nobody committed is -1, without an error.

From v10 on topics are named by id. Ids nobody knows are UNKNOWN_TOPIC_ID, behind the others; where
all topics were asked for, those that have no id now are left out.
"""

from collections.abc import Sequence
from typing import Final

from broker.context import Parked, RequestContext
from broker.coordinator.group.coordinator import GroupCoordinator
from broker.coordinator.group.offset_commands import TopicPartitions, no_offset
from broker.coordinator.parked_reply import Gathering, ParkedReply
from cluster.metadata_cache import MetadataCache
from protocol.errors import ErrorCode
from protocol.messages.offset_fetch import (
    FIRST_VERSION_WITH_GROUPS,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponseTopic,
)
from protocol.schema.message import Response

FIRST_VERSION_WITH_TOPIC_IDS: Final = 10


def handle_offset_fetch(
    context: RequestContext,
    request: OffsetFetchRequest,
    *,
    groups: GroupCoordinator,
    metadata: MetadataCache,
) -> Parked:
    """Ask for each group, and answer all at once."""
    version = context.api_version

    def answered(found: Sequence[OffsetFetchResponseGroup]) -> Response:
        if version < FIRST_VERSION_WITH_GROUPS and found[0].error_code:
            refusal = request.error_response(version, ErrorCode(found[0].error_code), None)
            assert refusal is not None
            return refusal
        return OffsetFetchResponse.telling(version, found)

    reply: ParkedReply[list[OffsetFetchResponseGroup]] = ParkedReply(
        answered, lambda code: OffsetFetchResponse(error_code=code)
    )
    wanted_groups = request.wanted_groups(version)
    gathering: Gathering[OffsetFetchResponseGroup] = Gathering(reply, len(wanted_groups))
    for index, wanted in enumerate(wanted_groups):
        names = _Names(wanted, version, metadata)
        waiter = ParkedGroup(gathering, index, names)
        groups.offset_fetch(wanted, names.topics, request.require_stable, waiter)
    return reply.parked


class _Names:
    """The topics wanted of one group by name, and the answer by what the client calls them."""

    def __init__(
        self, wanted: OffsetFetchRequestGroup, version: int, metadata: MetadataCache
    ) -> None:
        self.group_id = wanted.group_id
        self._by_id = version >= FIRST_VERSION_WITH_TOPIC_IDS
        self._metadata = metadata
        self._unknown: list[OffsetFetchRequestTopic] = []
        self.topics: list[TopicPartitions] | None = None
        if wanted.topics is not None:
            self.topics = []
            for topic in wanted.topics:
                image = metadata.topic_by_id(topic.topic_id) if self._by_id else None
                if self._by_id and image is None:
                    self._unknown.append(topic)
                else:
                    name = topic.name if image is None else image.name
                    self.topics.append((name, topic.partition_indexes))

    def answer(self, topics: Sequence[OffsetFetchResponseTopic]) -> OffsetFetchResponseGroup:
        """The group's offsets, as the request's version tells them."""
        if self._by_id:
            topics = [*self._with_ids(topics), *map(_unknown_topic, self._unknown)]
        return OffsetFetchResponseGroup(group_id=self.group_id, topics=list(topics))

    def _with_ids(
        self, topics: Sequence[OffsetFetchResponseTopic]
    ) -> list[OffsetFetchResponseTopic]:
        named = []
        for topic in topics:
            image = self._metadata.topic(topic.name)
            if image is not None:
                topic.topic_id = image.topic_id
                named.append(topic)
        return named


class ParkedGroup:
    """Waits for one group of a request."""

    __slots__ = ("_gathering", "_index", "_names")

    def __init__(
        self, gathering: Gathering[OffsetFetchResponseGroup], index: int, names: _Names
    ) -> None:
        self._gathering = gathering
        self._index = index
        self._names = names

    def answer(self, reply: object) -> None:
        """The group's topics are there."""
        assert isinstance(reply, list)
        self._gathering.told(self._index, self._names.answer(reply))

    def refuse(self, code: ErrorCode) -> None:
        """The group cannot be asked."""
        refused = OffsetFetchResponseGroup(group_id=self._names.group_id, error_code=code)
        self._gathering.told(self._index, refused)


def _unknown_topic(topic: OffsetFetchRequestTopic) -> OffsetFetchResponseTopic:
    return OffsetFetchResponseTopic(
        topic_id=topic.topic_id,
        partitions=[
            no_offset(partition, ErrorCode.UNKNOWN_TOPIC_ID)
            for partition in topic.partition_indexes
        ],
    )
