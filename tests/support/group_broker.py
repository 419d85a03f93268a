"""A coordinator of groups over real logs, asked by its handlers.

groups = GroupBroker()
groups.ask(handle_heartbeat, HeartbeatRequest(…), 4)      a Delivery: the response, or who waits
groups.broker.advance(3000)                                timers fire
"""

from collections.abc import Callable
from typing import Any

from broker.coordinator.group.consumer import ConsumerGroups
from broker.coordinator.group.consumer_topics import GroupTopics
from broker.coordinator.group.coordinator import GroupCoordinator
from broker.coordinator.group.settings import GroupMeters
from broker.coordinator.group.shard import GroupShard
from broker.coordinator.runtime import CoordinatorRuntime, RuntimeEnvironment
from cluster.features import FIRST_LEVELS, SUPPORTED, Features
from protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from protocol.model import CONSUMER_OFFSETS_TOPIC
from protocol.schema.message import RESPONSES, Request
from tests.support.group_shard import Values
from tests.support.replicas import Delivery, ReplicaBroker, context_of


class GroupBroker:
    """See the module."""

    def __init__(self, *, partitions: int = 3, values: Values | None = None) -> None:
        self.broker = broker = ReplicaBroker()
        values = values or Values()
        settings, meters = values.settings(), GroupMeters()
        of_consumers, topics = values.consumer_settings(), GroupTopics(broker.metadata)
        self.runtime = CoordinatorRuntime(
            CONSUMER_OFFSETS_TOPIC,
            broker.replicas,
            lambda index, _: GroupShard(
                index, settings, meters, ConsumerGroups(of_consumers, topics)
            ),
            RuntimeEnvironment(
                broker.clock,
                lambda read, done: done(read(), None),
                broker.soon.append,
                broker._after,
                lambda: 5000,
            ),
        )
        self.metadata = broker.metadata
        self.metadata.features = Features(SUPPORTED, FIRST_LEVELS, 0)
        self.groups = GroupCoordinator(
            self.runtime, broker.metadata, settings, meters, of_consumers
        )
        broker.replicas.leadership_watchers.append(self.runtime.leadership_changed)
        broker.replicas.deletion_watchers.append(self.groups.topic_deleted)
        if partitions:
            broker.create(CONSUMER_OFFSETS_TOPIC, partitions)

    def ask(
        self, handle: Callable[..., Any], request: Request, version: int, **more: Any
    ) -> Delivery[Any]:
        """What became of a request of that version."""
        context = context_of(version, request.api_key)
        result = handle(context, request, groups=self.groups, **more)
        return Delivery(result, RESPONSES[request.api_key])

    def member(self, group: str = "g", *, settle: bool = True) -> str:
        """A stable group of one, by protocol version 0; returns the member's id."""
        from broker.handlers.join_group import handle_join_group
        from broker.handlers.sync_group import handle_sync_group

        joining = self.ask(handle_join_group, join_request(group), 0)
        self.broker.advance(3000)
        joined = joining.reply
        assert isinstance(joined, JoinGroupResponse)
        if settle:
            assignment = SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"all")
            request = SyncGroupRequest(
                group_id=group,
                generation_id=joined.generation_id,
                member_id=joined.member_id,
                assignments=[assignment],
            )
            synced = self.ask(handle_sync_group, request, 0).reply
            assert isinstance(synced, SyncGroupResponse)
            assert synced.assignment == b"all"
        return joined.member_id


def join_request(group: str = "g", member_id: str = "", **fields: Any) -> JoinGroupRequest:
    """One that a group takes."""
    return JoinGroupRequest(
        **{
            "group_id": group,
            "session_timeout_ms": 10_000,
            "member_id": member_id,
            "protocol_type": "consumer",
            "protocols": [JoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\0\0\0\0\0")],
            **fields,
        }
    )
