"""DeleteGroups: those without members."""

from broker.handlers.delete_groups import handle_delete_groups
from broker.handlers.leave_group import handle_leave_group
from protocol.errors import ErrorCode
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.leave_group import LeaveGroupRequest
from tests.support.group_broker import GroupBroker


def delete(groups: GroupBroker, *names: str) -> list[tuple[str, int]]:
    told = groups.ask(handle_delete_groups, DeleteGroupsRequest(groups_names=list(names)), 2).reply
    return [(one.group_id, one.error_code) for one in told.results]


def test_each_group_is_answered_once_for_itself() -> None:
    groups = GroupBroker()
    member_id = groups.member()
    assert delete(groups, "g", "none", "g") == [
        ("g", ErrorCode.NON_EMPTY_GROUP),
        ("none", ErrorCode.GROUP_ID_NOT_FOUND),
    ]
    leaving = LeaveGroupRequest(group_id="g", member_id=member_id)
    groups.ask(handle_leave_group, leaving, 0)
    assert delete(groups, "g") == [("g", 0)]
    assert delete(groups, "g") == [("g", ErrorCode.GROUP_ID_NOT_FOUND)]
    assert delete(groups) == []
