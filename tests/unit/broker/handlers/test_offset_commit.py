"""OffsetCommit: each partition for itself, topics nobody knows first."""

import pytest

from broker.handlers.offset_commit import handle_offset_commit
from protocol.errors import ErrorCode
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.support.group_broker import GroupBroker
from tests.support.replicas import topic_id_of

Told = list[tuple[str, bytes, list[int]]]


def commit(groups: GroupBroker, version: int, *topics: str, **fields: object) -> Told:
    wanted = OffsetCommitRequestPartition(
        partition_index=0, committed_offset=5, committed_metadata=None
    )
    request = OffsetCommitRequest(
        group_id="g",
        topics=[
            OffsetCommitRequestTopic(
                name=topic if version < 10 else "", topic_id=topic_id_of(topic), partitions=[wanted]
            )
            for topic in topics
        ],
        **fields,  # type: ignore[arg-type]
    )
    told = groups.ask(handle_offset_commit, request, version, metadata=groups.metadata).reply
    return [
        (topic.name, topic.topic_id, [one.error_code for one in topic.partitions])
        for topic in told.topics
    ]


def with_topic() -> GroupBroker:
    groups = GroupBroker()
    groups.broker.create("t")
    return groups


@pytest.mark.parametrize("version", range(2, 11))
def test_offsets_are_committed_where_topics_exist(version: int) -> None:
    groups = with_topic()
    told = commit(groups, version, "t", "nobody's")
    code = ErrorCode.UNKNOWN_TOPIC_ID if version == 10 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [codes for _, _, codes in told] == [[code], [0]]
    (shard,) = [one for one in groups.runtime.shards() if one.offsets.has_offsets("g")]
    found = shard.offsets.committed("g", "t", 0)
    assert found is not None
    assert (found.offset, found.metadata, found.topic_id) == (5, "", topic_id_of("t"))


def test_topics_nobody_knows_never_reach_the_group() -> None:
    groups = with_topic()
    told = commit(groups, 9, "nobody's", generation_id_or_member_epoch=4)
    assert told[0][2] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


@pytest.mark.parametrize(
    ("version", "code"), [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)]
)
def test_a_member_of_no_group_is_refused_as_its_version_knows(
    version: int, code: ErrorCode
) -> None:
    told = commit(with_topic(), version, "t", generation_id_or_member_epoch=1, member_id="m")
    assert told[0][2] == [code]


def test_the_offsets_of_a_deleted_topic_are_forgotten() -> None:
    groups = with_topic()
    commit(groups, 9, "t")
    groups.broker.delete("t")
    assert not any(shard.offsets.has_offsets("g") for shard in groups.runtime.shards())
