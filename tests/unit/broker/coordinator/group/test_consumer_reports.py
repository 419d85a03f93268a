"""Consumer groups as administrators are told of them."""

from broker.coordinator.group.consumer_reports import described_consumer_group
from broker.coordinator.group.consumer_topics import GroupTopics
from protocol.errors import ErrorCode
from protocol.messages.consumer_group_describe import MemberType
from tests.support.consumer_groups import ConsumerTable


def test_a_group_with_its_members() -> None:
    groups = ConsumerTable(t=2, u=1)
    groups.come("A", ["t", "u"], instance_id="i", rack_id="r", server_assignor="range")
    groups.advance(1000)
    groups.come("B")
    groups.beat("A")
    groups.delete_topic("u")
    described = described_consumer_group(
        groups.group(), GroupTopics(groups.metadata), ("uniform", "range")
    )
    assert described.group_state == "Reconciling"
    assert (described.group_epoch, described.assignment_epoch) == (3, 3)
    assert described.assignor_name == "range"
    a = described.members[0]
    assert (a.member_id, a.instance_id, a.rack_id, a.member_epoch) == ("A", "i", "r", 2)
    assert (a.client_id, a.client_host) == ("client", "/127.0.0.1")
    assert a.subscribed_topic_names == ["t", "u"]
    assert a.subscribed_topic_regex == ""
    assert a.member_type == MemberType.CONSUMER
    assert [(one.topic_name, one.partitions) for one in a.assignment.topic_partitions] == [
        ("t", [0, 1])
    ]
    assert [(one.topic_name, one.partitions) for one in a.target_assignment.topic_partitions] == [
        ("t", [0])
    ]


def test_groups_of_both_kinds_are_listed_and_described_by_their_own_request() -> None:
    groups = ConsumerTable(t=1)
    groups.come("A")
    groups.commit(3, group="simple")
    listed = {one.group_id: one for one in groups.shard.reports.listed()}
    told = {
        group_id: (one.protocol_type, one.group_state, one.group_type)
        for group_id, one in listed.items()
    }
    assert told == {"g": ("consumer", "Stable", "consumer"), "simple": ("", "Empty", "classic")}
    reports = groups.shard.reports
    as_classic = reports.describe("g", 6)
    assert as_classic.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert as_classic.error_message == "Group g is not a classic group."
    assert (as_classic.group_state, as_classic.protocol_type) == ("Dead", "")
    assert reports.describe("g", 5).error_code == ErrorCode.NONE
    texts = [reports.describe_consumer(one).error_message for one in ("simple", "none")]
    assert texts == ["Group simple is not a consumer group.", "Group none not found."]
