"""ListGroups: all of them, or those of some states and types."""

import pytest

from broker.handlers.list_groups import handle_list_groups
from protocol.messages.list_groups import ListGroupsRequest
from tests.support.group_broker import GroupBroker


@pytest.mark.parametrize(
    ("states", "types", "names"),
    [
        ([], [], ["a", "b"]),
        (["stable"], [], ["a"]),
        (["CompletingRebalance", "Stable"], ["Classic"], ["a", "b"]),
        (["nonsense"], [], []),
        ([], ["consumer"], []),
    ],
)
def test_filters_know_no_case(states: list[str], types: list[str], names: list[str]) -> None:
    groups = GroupBroker()
    groups.member("a")
    groups.member("b", settle=False)
    request = ListGroupsRequest(states_filter=states, types_filter=types)
    told = groups.ask(handle_list_groups, request, 5).reply.groups
    assert sorted(one.group_id for one in told) == names
    assert all((one.protocol_type, one.group_type) == ("consumer", "classic") for one in told)
