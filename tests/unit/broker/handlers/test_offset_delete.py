"""OffsetDelete: what concerns the group is told at the top."""

from broker.handlers.offset_delete import handle_offset_delete
from protocol.errors import ErrorCode
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tests.support.group_broker import GroupBroker
from tests.unit.broker.handlers.test_offset_fetch import with_offsets


def delete(groups: GroupBroker, *topics: str, group: str = "g") -> tuple[int, list[int]]:
    request = OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(
                name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=0)]
            )
            for topic in topics
        ],
    )
    told = groups.ask(handle_offset_delete, request, 0, metadata=groups.metadata).reply
    return told.error_code, [topic.partitions[0].error_code for topic in told.topics]


def test_offsets_are_forgotten_topics_nobody_knows_come_first() -> None:
    groups = with_offsets()
    assert delete(groups, "t", "nobody's") == (0, [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0])
    assert delete(groups, "t") == (ErrorCode.GROUP_ID_NOT_FOUND, [])


def test_a_group_nobody_knows_is_told_at_the_top() -> None:
    assert delete(with_offsets(), "t", group="none") == (ErrorCode.GROUP_ID_NOT_FOUND, [])
