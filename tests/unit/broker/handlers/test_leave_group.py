"""LeaveGroup: one answer a member, or one for all below v3."""

from broker.handlers.leave_group import handle_leave_group
from protocol.errors import ErrorCode
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tests.support.group_broker import GroupBroker


def test_below_v3_the_code_at_the_top_is_the_members() -> None:
    groups = GroupBroker()
    member_id = groups.member()
    request = LeaveGroupRequest(group_id="g", member_id=member_id)
    assert groups.ask(handle_leave_group, request, 2).reply.error_code == 0
    again = groups.ask(handle_leave_group, request, 2).reply
    assert again.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_each_member_has_its_answer_in_an_unknown_group_too() -> None:
    groups = GroupBroker()
    members = [MemberIdentity(member_id="a"), MemberIdentity(group_instance_id="b")]
    told = groups.ask(handle_leave_group, LeaveGroupRequest(group_id="g", members=members), 5).reply
    assert told.error_code == 0
    assert [(one.member_id, one.group_instance_id, one.error_code) for one in told.members] == [
        ("a", None, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", "b", ErrorCode.UNKNOWN_MEMBER_ID),
    ]


def test_what_concerns_the_coordinator_is_told_at_the_top() -> None:
    request = LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id="a")])
    told = GroupBroker(partitions=0).ask(handle_leave_group, request, 5).reply
    assert (told.error_code, told.members) == (ErrorCode.NOT_COORDINATOR, [])
