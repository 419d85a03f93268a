"""Heartbeat: members live; while the coordinator loads, everybody does."""

from broker.coordinator.runtime import CoordinatorRuntime
from broker.handlers.heartbeat import handle_heartbeat
from protocol.errors import ErrorCode
from protocol.messages.heartbeat import HeartbeatRequest
from tests.support.group_broker import GroupBroker
from tests.support.replicas import code_of


def test_a_member_lives_and_a_stranger_does_not() -> None:
    groups = GroupBroker()
    mine = HeartbeatRequest(group_id="g", generation_id=1, member_id=groups.member())
    assert groups.ask(handle_heartbeat, mine, 4).reply.error_code == 0
    strange = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    told = groups.ask(handle_heartbeat, strange, 0).reply
    assert told.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    nobodys = HeartbeatRequest(group_id="", generation_id=1, member_id="m")
    assert code_of(groups.ask, handle_heartbeat, nobodys, 4) is ErrorCode.INVALID_GROUP_ID


def test_while_the_coordinator_loads_all_is_well() -> None:
    groups = GroupBroker(partitions=0)
    unread = CoordinatorRuntime(
        groups.runtime.topic,
        groups.broker.replicas,
        groups.runtime._shard_of,
        groups.runtime._environment._replace(in_worker=lambda read, done: None),
    )
    groups.groups.runtime = unread
    groups.broker.create(groups.runtime.topic)
    groups.broker.append(groups.runtime.topic)
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    assert groups.ask(handle_heartbeat, request, 4).reply.error_code == 0
