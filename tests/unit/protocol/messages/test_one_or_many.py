"""APIs that began with one item and later took many: handlers see many, whatever the version."""

import pytest

from protocol.errors import ErrorCode
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    no_coordinator,
)
from protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)

CODE = ErrorCode.NOT_COORDINATOR


def test_keys_of_coordinators() -> None:
    one = FindCoordinatorRequest.decode(FindCoordinatorRequest(key="g").encode(3), 3)
    assert one.keys(3) == ["g"]
    many = FindCoordinatorRequest(coordinator_keys=["g", "h"])
    assert FindCoordinatorRequest.decode(many.encode(4), 4).keys(4) == ["g", "h"]
    assert FindCoordinatorRequest.decode(FindCoordinatorRequest().encode(4), 4).keys(4) == []


def test_coordinators() -> None:
    found = Coordinator(key="g", node_id=3, host="h", port=9092, error_message="NONE")
    old = FindCoordinatorResponse.telling(1, [found])
    assert (old.node_id, old.host, old.port, old.error_message) == (3, "h", 9092, "NONE")
    assert FindCoordinatorResponse.decode(old.encode(1), 1) == old
    lost = no_coordinator("i", CODE, None)
    new = FindCoordinatorResponse.telling(4, [found, lost])
    assert FindCoordinatorResponse.decode(new.encode(4), 4).coordinators == [found, lost]
    assert (lost.node_id, lost.host, lost.port) == (-1, "", -1)


def test_groups_whose_offsets_are_wanted() -> None:
    topic = OffsetFetchRequestTopic(name="t", partition_indexes=[1, 4])
    group = OffsetFetchRequestGroup(group_id="g", topics=[topic])
    old = OffsetFetchRequest(group_id="g", topics=[topic])
    assert OffsetFetchRequest.decode(old.encode(5), 5).wanted_groups(5) == [group]
    everything = OffsetFetchRequest.decode(
        OffsetFetchRequest(group_id="g", topics=None).encode(2), 2
    )
    assert everything.wanted_groups(2) == [OffsetFetchRequestGroup(group_id="g", topics=None)]
    new = OffsetFetchRequest(groups=[group, group])
    assert OffsetFetchRequest.decode(new.encode(8), 8).wanted_groups(8) == [group, group]


def test_offsets_of_groups() -> None:
    partition = OffsetFetchResponsePartition(partition_index=1, committed_offset=70, metadata="m")
    topic = OffsetFetchResponseTopic(name="t", partitions=[partition])
    group = OffsetFetchResponseGroup(group_id="g", topics=[topic], error_code=CODE)
    for version in range(2, 8):
        old = OffsetFetchResponse.telling(version, [group])
        read = OffsetFetchResponse.decode(old.encode(version), version)
        assert (read.error_code, read.topics[0].partitions[0].committed_offset) == (CODE, 70)
    for version in (8, 9):
        new = OffsetFetchResponse.telling(version, [group, group])
        assert OffsetFetchResponse.decode(new.encode(version), version).groups[1].topics
    with pytest.raises(ValueError, match="unpack"):
        OffsetFetchResponse.telling(7, [group, group])


def test_a_refused_fetch_of_offsets_says_so_where_the_version_can() -> None:
    topic = OffsetFetchRequestTopic(name="t", partition_indexes=[1])
    request = OffsetFetchRequest(group_id="g", topics=[topic])
    answer = request.error_response(1, CODE)
    assert isinstance(answer, OffsetFetchResponse)
    (refused,) = answer.topics[0].partitions
    assert (refused.error_code, refused.committed_offset, refused.metadata) == (CODE, -1, "")
    answer = request.error_response(2, CODE)
    assert isinstance(answer, OffsetFetchResponse)
    assert (answer.error_code, answer.topics) == (CODE, [])
    many = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="h", topics=[topic])])
    answer = many.error_response(8, CODE)
    assert isinstance(answer, OffsetFetchResponse)
    assert answer.groups == [OffsetFetchResponseGroup(group_id="h", error_code=CODE)]


def test_members_that_leave() -> None:
    old = LeaveGroupRequest.decode(LeaveGroupRequest(member_id="m").encode(2), 2)
    assert old.leaving(2) == [MemberIdentity(member_id="m")]
    members = [MemberIdentity(member_id="", group_instance_id="i")]
    new = LeaveGroupRequest.decode(LeaveGroupRequest(members=members).encode(3), 3)
    assert new.leaving(3) == members


def test_members_that_have_left() -> None:
    member = MemberResponse(member_id="m", group_instance_id=None, error_code=CODE)
    assert LeaveGroupResponse.telling(2, [member]) == LeaveGroupResponse(error_code=CODE)
    new = LeaveGroupResponse.telling(3, [member, member])
    assert LeaveGroupResponse.decode(new.encode(3), 3) == LeaveGroupResponse(members=[member] * 2)


def test_transactions_that_partitions_join() -> None:
    topic = AddPartitionsToTxnTopic(name="t", partitions=[3])
    transaction = AddPartitionsToTxnTransaction(
        transactional_id="x", producer_id=7, producer_epoch=2, topics=[topic]
    )
    old = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="x",
        v3_and_below_producer_id=7,
        v3_and_below_producer_epoch=2,
        v3_and_below_topics=[topic],
    )
    read = AddPartitionsToTxnRequest.decode(old.encode(3), 3)
    assert read.wanted_transactions(3) == [transaction]
    new = AddPartitionsToTxnRequest(transactions=[transaction, transaction])
    read = AddPartitionsToTxnRequest.decode(new.encode(4), 4)
    assert read.wanted_transactions(4) == [transaction, transaction]


def test_partitions_that_have_joined() -> None:
    partition = AddPartitionsToTxnPartitionResult(partition_index=3, partition_error_code=CODE)
    topic = AddPartitionsToTxnTopicResult(name="t", results_by_partition=[partition])
    result = AddPartitionsToTxnResult(transactional_id="x", topic_results=[topic])
    old = AddPartitionsToTxnResponse.telling(3, [result])
    read = AddPartitionsToTxnResponse.decode(old.encode(3), 3)
    assert read.results_by_topic_v3_and_below == [topic]
    new = AddPartitionsToTxnResponse.telling(4, [result, result])
    read = AddPartitionsToTxnResponse.decode(new.encode(4), 4)
    assert read.results_by_transaction == [result, result]


@pytest.mark.parametrize(
    ("message", "version"),
    [
        (FindCoordinatorResponse(coordinators=[Coordinator()]), 3),
        (FindCoordinatorRequest(coordinator_keys=["g"]), 3),
        (FindCoordinatorRequest(key="g"), 4),
        (OffsetFetchRequest(group_id="g"), 8),
        (LeaveGroupRequest(member_id="m"), 3),
        (LeaveGroupRequest(members=[MemberIdentity()]), 2),
    ],
    ids=repr,
)
def test_the_other_form_is_not_lost_in_silence(
    message: FindCoordinatorRequest, version: int
) -> None:
    with pytest.raises(ValueError, match=f"version {version} has no"):
        message.encode(version)
