"""A shard of groups on a table: commands run, records applied, time moved by hand.

groups = GroupTable()
a = groups.join("A")            a member asks to join; `groups.trace` says what everybody was told
groups.advance(3000)            timers that are due fire
groups.replayed()               a second shard that read the same records
"""

import itertools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from broker.coordinator.group.consumer import ConsumerGroups
from broker.coordinator.group.consumer_settings import Bounded, ConsumerSettings
from broker.coordinator.group.consumer_topics import GroupTopics
from broker.coordinator.group.offset_commands import TopicCommits
from broker.coordinator.group.settings import GroupMeters, GroupSettings
from broker.coordinator.group.shard import GroupShard
from broker.coordinator.group.turn import Caller
from broker.coordinator.shard import CoordinatorRecord, Outcome, Writer
from cluster.metadata_cache import MetadataCache
from protocol.consumer_protocol import ConsumerProtocolSubscription, encode_subscription
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition
from protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

START_MS = 1_700_000_000_000
SESSION_MS = 10_000
REBALANCE_MS = 60_000
TOPIC_ID = b"t" * 16


class Values:
    """The settings, to be changed by a test."""

    def __init__(self) -> None:
        self.initial_delay_ms = 3000
        self.max_size = 1000
        self.metadata_max_bytes = 4096
        self.retention_minutes = 10
        self.check_ms = 600_000
        self.assignment_interval_ms = 1000
        self.overrides: dict[str, dict[str, str]] = {}

    def settings(self) -> GroupSettings:
        numbers = itertools.count(1)
        return GroupSettings(
            lambda: 6000,
            lambda: 1_800_000,
            lambda: self.initial_delay_ms,
            lambda: self.max_size,
            lambda: self.metadata_max_bytes,
            lambda: self.retention_minutes,
            lambda: self.check_ms,
            lambda: f"{next(numbers):032d}",
        )

    def consumer_settings(self) -> ConsumerSettings:
        numbers = itertools.count(1)
        return ConsumerSettings(
            Bounded(lambda: 45_000, lambda: 45_000, lambda: 60_000),
            Bounded(lambda: 5000, lambda: 5000, lambda: 15_000),
            Bounded(lambda: self.assignment_interval_ms, lambda: 0, lambda: 15_000),
            lambda: self.max_size,
            ("uniform", "range"),
            lambda: ("classic", "consumer"),
            lambda group_id: self.overrides.get(group_id, {}),
            lambda: f"member-{next(numbers)}",
        )


class Answer:
    """Who waits, under a name; `reply` is what came."""

    def __init__(self, name: str, trace: list[str]) -> None:
        self.name = name
        self.reply: Any = None
        self._trace = trace

    def answer(self, reply: object) -> None:
        self._settle(reply, told(reply))

    def refuse(self, code: ErrorCode) -> None:
        self._settle(code, code.name)

    def _settle(self, reply: object, words: str) -> None:
        assert self.reply is None, f"{self.name} was told twice"
        self.reply = reply
        self._trace.append(f"{self.name}: {words}")

    @property
    def member_id(self) -> str:
        assert isinstance(self.reply, JoinGroupResponse)
        return self.reply.member_id

    @property
    def generation(self) -> int:
        assert isinstance(self.reply, JoinGroupResponse)
        return self.reply.generation_id


def told(reply: object) -> str:
    """An answer in a few words."""
    code = getattr(reply, "error_code", 0)
    if code:
        return ErrorCode(code).name
    if isinstance(reply, JoinGroupResponse):
        words = f"generation {reply.generation_id} of {reply.protocol_name}"
        words += f", led by {short(reply.leader)}"
        if reply.members:
            words += f", of {' '.join(short(one.member_id) for one in reply.members)}"
        return words + (", assigned already" if reply.skip_assignment else "")
    if isinstance(reply, SyncGroupResponse):
        return f"assigned {reply.assignment.decode()!r}"
    if isinstance(reply, HeartbeatResponse):
        return "lives"
    return str(reply)


def short(member_id: str) -> str:
    """`A-00000000-0000-0000-0000-000000000001` as `A-1`."""
    name, _, rest = member_id.partition("-")
    return f"{name}-{rest.replace('-', '').lstrip('0')}" if rest else name


class GroupTable:
    """See the module."""

    def __init__(self, values: Values | None = None) -> None:
        self.values = values or Values()
        self.meters = GroupMeters()
        self.now_ms = START_MS
        self.trace: list[str] = []
        self.log: list[tuple[CoordinatorRecord, Writer | None]] = []
        self.timers: dict[Hashable, int] = {}
        self.refuse_appends: ErrorCode | None = None
        self.metadata = MetadataCache("cluster")
        self._settings = self.values.settings()
        self.shard = self.new_shard()
        self._act(self.shard.loaded(self.now_ms), ())

    def new_shard(self) -> GroupShard:
        return GroupShard(0, self._settings, self.meters, self.new_consumer_groups())

    def new_consumer_groups(self) -> ConsumerGroups:
        return ConsumerGroups(self.values.consumer_settings(), GroupTopics(self.metadata))

    # The runtime's part.

    def run(self, command: Callable[[GroupShard, int], Outcome], *waiters: Answer) -> None:
        try:
            outcome = command(self.shard, self.now_ms)
        except KafkaError as error:
            for waiter in waiters:
                waiter.refuse(error.code)
            return
        self._act(outcome, waiters)

    def _act(self, outcome: Outcome, waiters: Sequence[Answer]) -> None:
        if outcome.records and self.refuse_appends is not None:
            code, self.refuse_appends = self.refuse_appends, None
            if outcome.failed is not None:
                self._act(outcome.failed(code), waiters)
            else:
                for waiter in waiters:
                    waiter.refuse(code)
            return
        for record in outcome.records:
            self.log.append((record, outcome.writer))
            self.shard.apply(record, len(self.log) - 1, outcome.writer)
        for key, deadline_ms in outcome.timers.items():
            self.timers.pop(key, None)
            if deadline_ms is not None:
                self.timers[key] = deadline_ms
        for answer, reply in outcome.answers:
            answer.answer(reply)

    def advance(self, milliseconds: int) -> None:
        end_ms = self.now_ms + milliseconds
        while True:
            due = min(self.timers.items(), key=lambda timer: timer[1], default=None)
            if due is None or due[1] > end_ms:
                break
            del self.timers[due[0]]
            self.now_ms = max(self.now_ms, due[1])
            self._act(self.shard.on_timer(due[0], self.now_ms), ())
        self.now_ms = end_ms

    def replayed(self) -> GroupShard:
        """What another broker would have after reading the log."""
        shard = self.new_shard()
        for offset, (record, writer) in enumerate(self.log):
            shard.apply(record, offset, writer)
        shard.loaded(self.now_ms)
        return shard

    def restart(self) -> None:
        """This shard is gone; another takes over with what the log tells."""
        for waiter in self.shard.unloaded():
            waiter.refuse(ErrorCode.NOT_COORDINATOR)
        self.shard = self.new_shard()
        self.timers.clear()
        for offset, (record, writer) in enumerate(self.log):
            self.shard.apply(record, offset, writer)
        self._act(self.shard.loaded(self.now_ms), ())

    def take(self) -> list[str]:
        """What was told since this was asked last."""
        lines, self.trace[:] = list(self.trace), []
        return lines

    # Requests.

    def join(
        self,
        name: str,
        member_id: str = "",
        *,
        group: str = "g",
        instance: str | None = None,
        protocols: Sequence[str] = ("range",),
        topics: Sequence[str] = ("t",),
        protocol_type: str = "consumer",
        version: int = 9,
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
    ) -> Answer:
        """A JoinGroup request; the client's id is its name."""
        metadata = encode_subscription(ConsumerProtocolSubscription(topics=list(topics)))
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=one, metadata=metadata) for one in protocols],
        )
        answer = Answer(name, self.trace)
        caller = Caller(answer, name, "/127.0.0.1", version)
        self.run(lambda shard, now: shard.join(request, caller, now), answer)
        return answer

    def enter(self, name: str, **fields: Any) -> Answer:
        """Join as a client does: ask for an id, then come with it."""
        first = self.join(name, **fields)
        assert first.reply.error_code == ErrorCode.MEMBER_ID_REQUIRED
        self.trace.pop()
        return self.join(name, first.member_id, **fields)

    def sync(
        self,
        name: str,
        member_id: str,
        generation: int,
        assignments: dict[str, str] | None = None,
        *,
        group: str = "g",
        instance: str | None = None,
        protocol: str | None = None,
    ) -> Answer:
        request = SyncGroupRequest(
            group_id=group,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance,
            protocol_name=protocol,
            assignments=[
                SyncGroupRequestAssignment(member_id=one, assignment=text.encode())
                for one, text in (assignments or {}).items()
            ],
        )
        answer = Answer(name, self.trace)
        caller = Caller(answer, name, "/127.0.0.1", 5)
        self.run(lambda shard, now: shard.sync(request, caller, now), answer)
        return answer

    def heartbeat(
        self, name: str, member_id: str, generation: int, instance: str | None = None
    ) -> Answer:
        request = HeartbeatRequest(
            group_id="g",
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance,
        )
        answer = Answer(name, self.trace)
        self.run(lambda shard, now: shard.heartbeat(request, answer, now), answer)
        return answer

    def leave(self, name: str, *members: tuple[str, str | None], group: str = "g") -> Answer:
        """`members`: (member id, instance id)."""
        request = LeaveGroupRequest(
            group_id=group,
            members=[
                MemberIdentity(member_id=member_id, group_instance_id=instance)
                for member_id, instance in members
            ],
        )
        answer = Answer(name, self.trace)
        caller = Caller(answer, name, "/127.0.0.1", 5)
        self.run(lambda shard, now: shard.leave(request, caller, now), answer)
        return answer

    def commit(
        self,
        offset: int,
        member_id: str = "",
        generation: int = -1,
        *,
        group: str = "g",
        partition: int = 0,
        topic: str = "t",
        version: int = 9,
        metadata: str = "",
        instance: str | None = None,
        retention_ms: int = -1,
        topic_id: bytes = TOPIC_ID,
    ) -> Answer:
        wanted = OffsetCommitRequestPartition(
            partition_index=partition,
            committed_offset=offset,
            committed_leader_epoch=1,
            committed_metadata=metadata,
        )
        request = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            group_instance_id=instance,
            retention_time_ms=retention_ms,
        )
        topics = [TopicCommits(topic, topic_id, [wanted])]
        answer = Answer("commit", self.trace)
        caller = Caller(answer, "", "", version)
        self.run(lambda shard, now: shard.commit(request, topics, caller, now), answer)
        return answer

    def committed(self, partition: int = 0, group: str = "g", topic: str = "t") -> int | None:
        found = self.shard.offsets.committed(group, topic, partition)
        return None if found is None else found.offset

    def two_members(self) -> tuple[str, str]:
        """A stable group of A, which leads, and B, at generation 1; returns their ids."""
        a, b = self.enter("A"), self.enter("B")
        self.advance(6000)
        self.sync("B", b.member_id, 1)
        self.sync("A", a.member_id, 1, {a.member_id: "0", b.member_id: "1"})
        self.take()
        return a.member_id, b.member_id
