"""JoinGroup as clients of each version see it."""

from typing import Any

import pytest

from broker.handlers.join_group import handle_join_group
from protocol.errors import ErrorCode
from tests.support.group_broker import GroupBroker, join_request


@pytest.mark.parametrize("version", range(10))
def test_a_group_of_one_begins(version: int) -> None:
    groups = GroupBroker()
    joining = groups.ask(handle_join_group, join_request(), version)
    if version >= 4:
        assert joining.reply.error_code == ErrorCode.MEMBER_ID_REQUIRED
        member_id = joining.reply.member_id
        joining = groups.ask(handle_join_group, join_request(member_id=member_id), version)
    assert joining.waiting
    groups.broker.advance(3000)
    told = joining.reply
    assert (told.error_code, told.generation_id, told.protocol_name) == (0, 1, "range")
    assert told.leader == told.member_id
    assert told.member_id.startswith("test-")
    assert len(told.members) == 1


@pytest.mark.parametrize(
    ("fields", "code", "member_id"),
    [
        ({"group": ""}, ErrorCode.INVALID_GROUP_ID, "m"),
        ({"session_timeout_ms": 5999}, ErrorCode.INVALID_SESSION_TIMEOUT, "m"),
        ({"session_timeout_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT, "m"),
        ({}, ErrorCode.UNKNOWN_MEMBER_ID, "m"),
    ],
)
def test_a_refusal_repeats_the_members_id(
    fields: dict[str, Any], code: ErrorCode, member_id: str
) -> None:
    told = GroupBroker().ask(handle_join_group, join_request(member_id="m", **fields), 9).reply
    assert (told.error_code, told.generation_id, told.member_id) == (code, -1, member_id)
    assert told.protocol_name is None


def test_below_v7_no_protocol_is_an_empty_name() -> None:
    told = GroupBroker().ask(handle_join_group, join_request(member_id="m"), 6).reply
    assert told.protocol_name == ""


def test_without_the_topic_nobody_coordinates() -> None:
    groups = GroupBroker(partitions=0)
    told = groups.ask(handle_join_group, join_request(member_id="m"), 9).reply
    assert (told.error_code, told.member_id) == (ErrorCode.NOT_COORDINATOR, "")
