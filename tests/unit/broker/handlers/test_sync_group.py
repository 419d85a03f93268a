"""SyncGroup: the assignment, once it is there."""

from broker.handlers.sync_group import handle_sync_group
from protocol.errors import ErrorCode
from protocol.messages.sync_group import SyncGroupRequest
from tests.support.group_broker import GroupBroker
from tests.support.replicas import code_of


def test_a_stable_member_is_told_again_with_the_names_of_the_protocol() -> None:
    groups = GroupBroker()
    request = SyncGroupRequest(
        group_id="g",
        generation_id=1,
        member_id=groups.member(),
        protocol_type="consumer",
        protocol_name="range",
    )
    told = groups.ask(handle_sync_group, request, 5).reply
    assert (told.assignment, told.protocol_type, told.protocol_name) == (
        b"all",
        "consumer",
        "range",
    )


def test_from_v5_on_the_names_have_to_be_given() -> None:
    groups = GroupBroker()
    request = SyncGroupRequest(group_id="g", generation_id=1, member_id=groups.member())
    code = code_of(groups.ask, handle_sync_group, request, 5)
    assert code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert groups.ask(handle_sync_group, request, 4).reply.assignment == b"all"


def test_what_is_wrong_is_told_without_an_assignment() -> None:
    request = SyncGroupRequest(group_id="g", generation_id=1, member_id="m")
    told = GroupBroker().ask(handle_sync_group, request, 3).reply
    assert (told.error_code, told.assignment) == (ErrorCode.UNKNOWN_MEMBER_ID, b"")
