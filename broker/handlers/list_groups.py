"""ListGroups (16): the groups of this broker, filtered by state and type in any case (KIP-518)."""

from broker.context import RequestContext
from broker.coordinator.group.coordinator import GroupCoordinator
from protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse


def handle_list_groups(
    _: RequestContext, request: ListGroupsRequest, *, groups: GroupCoordinator
) -> ListGroupsResponse:
    """List those that pass; a state or type nobody knows passes nothing."""
    states = {one.lower() for one in request.states_filter}
    types = {one.lower() for one in request.types_filter}
    return ListGroupsResponse(
        groups=[
            one
            for one in groups.listed()
            if (not states or one.group_state.lower() in states)
            and (not types or one.group_type in types)
        ]
    )
