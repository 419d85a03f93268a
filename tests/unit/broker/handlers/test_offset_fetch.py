"""OffsetFetch: one group or many, by name or by id."""

from broker.handlers.offset_commit import handle_offset_commit
from broker.handlers.offset_fetch import handle_offset_fetch
from protocol.errors import ErrorCode
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
)
from tests.support.group_broker import GroupBroker
from tests.support.replicas import topic_id_of


def with_offsets() -> GroupBroker:
    """Group g has 5 in t-0."""
    groups = GroupBroker()
    groups.broker.create("t", 2)
    partition = OffsetCommitRequestPartition(
        partition_index=0, committed_offset=5, committed_leader_epoch=3, committed_metadata="note"
    )
    topic = OffsetCommitRequestTopic(name="t", partitions=[partition])
    request = OffsetCommitRequest(group_id="g", topics=[topic])
    groups.ask(handle_offset_commit, request, 9, metadata=groups.metadata)
    return groups


def test_up_to_v7_one_group_is_asked_for() -> None:
    groups = with_offsets()
    topic = OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1])
    for version in range(1, 8):
        request = OffsetFetchRequest(group_id="g", topics=[topic])
        (told,) = groups.ask(
            handle_offset_fetch, request, version, metadata=groups.metadata
        ).reply.topics
        first, second = told.partitions
        assert (first.committed_offset, first.committed_leader_epoch) == (5, 3)
        assert first.metadata == "note"
        assert (second.committed_offset, second.metadata, second.error_code) == (-1, "", 0)


def test_many_groups_are_answered_in_order_all_topics_where_none_is_named() -> None:
    groups = with_offsets()
    request = OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(group_id="none", topics=None),
            OffsetFetchRequestGroup(group_id="g", topics=None),
        ]
    )
    told = groups.ask(handle_offset_fetch, request, 8, metadata=groups.metadata).reply.groups
    assert [(one.group_id, len(one.topics)) for one in told] == [("none", 0), ("g", 1)]
    empty = groups.ask(handle_offset_fetch, OffsetFetchRequest(), 8, metadata=groups.metadata)
    assert empty.reply.groups == []


def test_from_v10_topics_are_ids_and_unknown_ones_come_last() -> None:
    groups = with_offsets()
    topics = [
        OffsetFetchRequestTopic(topic_id=topic_id_of(name), partition_indexes=[0])
        for name in ("nobody's", "t")
    ]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=topics)])
    (told,) = groups.ask(handle_offset_fetch, request, 10, metadata=groups.metadata).reply.groups
    assert [(one.topic_id, one.partitions[0].error_code) for one in told.topics] == [
        (topic_id_of("t"), 0),
        (topic_id_of("nobody's"), ErrorCode.UNKNOWN_TOPIC_ID),
    ]


def test_a_refusal_stays_with_its_group_and_below_v8_is_at_the_top() -> None:
    groups = GroupBroker(partitions=0)
    many = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None)])
    told = groups.ask(handle_offset_fetch, many, 9, metadata=groups.metadata).reply
    assert told.groups[0].error_code == ErrorCode.NOT_COORDINATOR
    topic = OffsetFetchRequestTopic(name="t", partition_indexes=[0])
    one = OffsetFetchRequest(group_id="g", topics=[topic])
    top = groups.ask(handle_offset_fetch, one, 7, metadata=groups.metadata).reply
    assert top.error_code == ErrorCode.NOT_COORDINATOR
    first = groups.ask(handle_offset_fetch, one, 1, metadata=groups.metadata).reply
    assert first.topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR
