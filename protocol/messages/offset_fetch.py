"""OffsetFetch (9): how far groups have read.

v2 a code at the top, and null topics for all there are, v3 throttle time, v4 the answer comes
before the client is throttled, v5 leader epochs (KIP-320), v6 flexible, v7 offsets of open
transactions may be waited for (KIP-447), v8 many groups at once (KIP-709), v9 members of consumer
groups (KIP-848), v10 topic ids in place of names. v0, offsets in ZooKeeper, ended with Kafka 4.0.

One group and many are the same thing said twice: `wanted_groups` and `OffsetFetchResponse.telling`
turn v1-7 into lists of one.
"""

from collections.abc import Sequence
from typing import Final

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.model import NO_LEADER_EPOCH, NO_OFFSET
from protocol.schema.fields import array, boolean, int16, int32, int64, string, uuid
from protocol.schema.message import Failure, Message, Request, Response

FIRST_VERSION_WITH_GROUP_ERROR: Final = 2
FIRST_VERSION_WITH_GROUPS: Final = 8


class OffsetFetchRequestTopic(Message):
    """The partitions wanted of one topic: named up to v9, by id from v10."""

    name: str = string("0-9")
    topic_id: bytes = uuid("10+")
    partition_indexes: list[int] = array(int32)


class OffsetFetchRequestGroup(Message):
    """What is wanted of one group, null topics for everything, and the member that asks."""

    group_id: str = string("8+")
    member_id: str | None = string("9+", nullable="9+", default=None)
    member_epoch: int = int32("9+", default=-1)
    topics: list[OffsetFetchRequestTopic] | None = array(
        OffsetFetchRequestTopic, "8+", nullable="8+"
    )


class OffsetFetchRequest(Request, api_key=ApiKey.OFFSET_FETCH, versions="1-10", flexible="6+"):
    """The offsets wanted, and whether open transactions must have ended first."""

    group_id: str = string("0-7", ignorable=False)
    topics: list[OffsetFetchRequestTopic] | None = array(
        OffsetFetchRequestTopic, "0-7", nullable="2-7", ignorable=False
    )
    groups: list[OffsetFetchRequestGroup] = array(OffsetFetchRequestGroup, "8+", ignorable=False)
    require_stable: bool = boolean("7+", ignorable=False)

    def wanted_groups(self, version: int) -> list[OffsetFetchRequestGroup]:
        """The groups, whichever way `version` names them."""
        if version >= FIRST_VERSION_WITH_GROUPS:
            return self.groups
        return [OffsetFetchRequestGroup(group_id=self.group_id, topics=self.topics)]

    def refusal(self, failure: Failure) -> "OffsetFetchResponse":
        """The code for each group; in v1, which has no such place, for each partition."""
        has_group_error = failure.version >= FIRST_VERSION_WITH_GROUP_ERROR
        groups = [
            OffsetFetchResponseGroup(
                group_id=group.group_id,
                error_code=failure.code,
                topics=[] if has_group_error else _refused(group, failure.code),
            )
            for group in self.wanted_groups(failure.version)
        ]
        return OffsetFetchResponse.telling(failure.version, groups)


class OffsetFetchResponsePartition(Message):
    """The next offset to read; -1 where nothing is committed."""

    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32("5+", default=-1)
    metadata: str | None = string(nullable="0+")
    error_code: int = int16()


class OffsetFetchResponseTopic(Message):
    """The partitions of one topic."""

    name: str = string("0-9")
    topic_id: bytes = uuid("10+")
    partitions: list[OffsetFetchResponsePartition] = array(OffsetFetchResponsePartition)


class OffsetFetchResponseGroup(Message):
    """The offsets of one group."""

    group_id: str = string("8+")
    topics: list[OffsetFetchResponseTopic] = array(OffsetFetchResponseTopic, "8+")
    error_code: int = int16("8+")


class OffsetFetchResponse(Response, api_key=ApiKey.OFFSET_FETCH, versions="1-10", flexible="6+"):
    """The offsets of each group."""

    throttle_time_ms: int = int32("3+")
    topics: list[OffsetFetchResponseTopic] = array(OffsetFetchResponseTopic, "0-7", ignorable=False)
    error_code: int = int16("2-7")
    groups: list[OffsetFetchResponseGroup] = array(OffsetFetchResponseGroup, "8+", ignorable=False)

    @classmethod
    def telling(
        cls, version: int, groups: Sequence[OffsetFetchResponseGroup]
    ) -> "OffsetFetchResponse":
        """The answer for these groups; exactly one of them below v8."""
        if version >= FIRST_VERSION_WITH_GROUPS:
            return cls(groups=list(groups))
        (group,) = groups
        return cls(topics=group.topics, error_code=group.error_code)


def _refused(group: OffsetFetchRequestGroup, code: ErrorCode) -> list[OffsetFetchResponseTopic]:
    """The code for each partition of a group."""
    return [
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                OffsetFetchResponsePartition(
                    partition_index=index,
                    committed_offset=NO_OFFSET,
                    committed_leader_epoch=NO_LEADER_EPOCH,
                    error_code=code,
                )
                for index in topic.partition_indexes
            ],
        )
        for topic in group.topics or ()
    ]
