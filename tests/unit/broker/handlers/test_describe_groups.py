"""DescribeGroups: members of what lives, and what is said of what does not."""

from broker.handlers.describe_groups import GROUP_OPERATIONS, handle_describe_groups
from protocol.errors import ErrorCode
from protocol.messages.describe_groups import DescribeGroupsRequest
from tests.support.group_broker import GroupBroker


def test_groups_are_described_in_the_order_asked_for() -> None:
    groups = GroupBroker()
    member_id = groups.member()
    request = DescribeGroupsRequest(groups=["none", "g"], include_authorized_operations=True)
    none, found = groups.ask(handle_describe_groups, request, 6).reply.groups
    assert (none.group_id, none.group_state) == ("none", "Dead")
    assert (none.error_code, none.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Group none not found.",
    )
    assert none.authorized_operations == -(2**31)
    assert (found.group_state, found.protocol_type, found.protocol_data) == (
        "Stable",
        "consumer",
        "range",
    )
    assert found.authorized_operations == GROUP_OPERATIONS
    (member,) = found.members
    assert (member.member_id, member.client_id, member.client_host) == (
        member_id,
        "test",
        "/127.0.0.1",
    )
    assert member.member_assignment == b"all"


def test_below_v6_an_unknown_group_is_dead_without_an_error() -> None:
    request = DescribeGroupsRequest(groups=["none"])
    (none,) = GroupBroker().ask(handle_describe_groups, request, 5).reply.groups
    assert (none.error_code, none.group_state) == (0, "Dead")


def test_a_group_coordinated_elsewhere_has_its_own_error() -> None:
    request = DescribeGroupsRequest(groups=["g"])
    (told,) = GroupBroker(partitions=0).ask(handle_describe_groups, request, 6).reply.groups
    assert told.error_code == ErrorCode.NOT_COORDINATOR
