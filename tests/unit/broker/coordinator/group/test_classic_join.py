"""Who is given an id, who comes with one, and what old versions are spared."""

import pytest

from protocol.errors import ErrorCode
from tests.support.group_shard import GroupTable, short


@pytest.mark.parametrize("version", range(10))
def test_from_v4_on_a_new_member_is_first_given_an_id(version: int) -> None:
    groups = GroupTable()
    told = groups.join("A", version=version).reply
    if version < 4:
        assert told is None
    else:
        assert told.error_code == ErrorCode.MEMBER_ID_REQUIRED
        assert told.member_id == "A-00000000-0000-0000-0000-000000000001"


def test_a_static_member_is_named_for_its_instance_and_needs_no_second_request() -> None:
    groups = GroupTable()
    joining = groups.join("A", instance="one")
    groups.advance(3000)
    assert short(joining.member_id) == "one-1"


def test_an_id_that_does_not_come_back_is_forgotten_and_waited_for_no_longer() -> None:
    groups = GroupTable()
    a, b = groups.two_members()
    groups.join("C")
    groups.join("A", a)
    groups.join("B", b)
    assert groups.take() == ["C: MEMBER_ID_REQUIRED"], "C is waited for"
    groups.advance(10_000)
    assert len(groups.take()) == 2


def test_a_pending_id_belongs_to_no_static_member() -> None:
    groups = GroupTable()
    pending = groups.join("A").member_id
    assert groups.join("A", pending, instance="one").reply is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_request_without_a_rebalance_timeout_has_the_sessions() -> None:
    groups = GroupTable()
    groups.join("A", version=0, rebalance_ms=-1)
    (member,) = groups.shard.classic.groups["g"].members.values()
    assert member.rebalance_timeout_ms == member.session_timeout_ms


def test_a_new_member_whose_client_is_gone_is_given_up_after_five_minutes() -> None:
    groups = GroupTable()
    groups.two_members()
    groups.join("C", version=3, rebalance_ms=900_000)
    for passing_ms in [9900] * 30:
        groups.advance(passing_ms)
        for member in [*groups.shard.classic.groups["g"].members]:
            if member.startswith(("A", "B")):
                groups.heartbeat("x", member, 1)
    assert "C: UNKNOWN_MEMBER_ID" not in groups.take()
    groups.advance(5000)
    assert "C: UNKNOWN_MEMBER_ID" in groups.take()
