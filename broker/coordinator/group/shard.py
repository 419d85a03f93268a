"""One partition of `__consumer_offsets`: the groups whose ids fall into it, and their offsets.

A record goes to the part its key's type names, a timer to the part its kind names, a request to the
kind of group it is about; a group id is of one kind at a time. What a group is that has nothing but
offsets: a simple one, which exists as long as they do.

```text
0, 1  OffsetStore      2  ClassicGroups      3-8, 16  ConsumerGroups
others passed over, said once
```
Source: GroupCoordinatorShard (4.3).
"""

import logging
from collections.abc import Hashable, Iterable, Sequence
from typing import Final

from broker.coordinator.group import consumer_members
from broker.coordinator.group.classic import ClassicGroups
from broker.coordinator.group.classic_group import GroupState
from broker.coordinator.group.classic_records import group_tombstone
from broker.coordinator.group.consumer import ConsumerGroups
from broker.coordinator.group.consumer_presence import CONSUMER_TIMERS
from broker.coordinator.group.consumer_records import RECORD_TYPES as CONSUMER_RECORDS
from broker.coordinator.group.offset_commands import (
    OffsetCommands,
    TopicCommits,
    TopicPartitions,
)
from broker.coordinator.group.offsets import OffsetStore
from broker.coordinator.group.reports import Reports
from broker.coordinator.group.settings import GroupMeters, GroupSettings
from broker.coordinator.group.turn import Caller, TimerKey, Turn
from broker.coordinator.shard import CoordinatorRecord, Outcome, PartOfTransaction, Waiter, Writer
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.consumer_group_heartbeat import (
    JOIN_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest
from protocol.messages.leave_group import LeaveGroupRequest
from protocol.messages.offset_commit import OffsetCommitRequest
from protocol.messages.offset_fetch import OffsetFetchRequestGroup
from protocol.messages.sync_group import SyncGroupRequest

_logger = logging.getLogger(__name__)

_HIGHEST_OFFSET_TYPE: Final = 1
_CLASSIC_GROUP: Final = 2
FORGET: Final = "forget"
EXPIRY: Final = TimerKey("expiry", "")
TRY_AGAIN_MS: Final = 10_000


class GroupShard:
    """See the module."""

    def __init__(
        self,
        index: int,
        settings: GroupSettings,
        meters: GroupMeters,
        consumer: ConsumerGroups,
    ) -> None:
        self.index = index
        self.offsets = OffsetStore()
        self.classic = ClassicGroups(settings, meters)
        self.consumer = consumer
        self.commands = OffsetCommands(self.offsets, self.classic, consumer, settings)
        self.reports = Reports(self.offsets, self.classic, consumer)
        self._settings = settings
        self._unknown_types: set[int] = set()

    # The shard's side of the runtime.

    def apply(self, record: CoordinatorRecord, offset: int, writer: Writer | None) -> None:
        """Route a record."""
        key = record[0]
        if key[0] == 0 and key[1] <= _HIGHEST_OFFSET_TYPE:
            self.offsets.apply(record, offset, writer)
            return
        record_type = int.from_bytes(key[:2], "big")
        if record_type == _CLASSIC_GROUP:
            self.classic.apply(record)
        elif record_type in CONSUMER_RECORDS:
            self.consumer.apply(record)
        elif record_type not in self._unknown_types:
            self._unknown_types.add(record_type)
            _logger.warning(
                "Passing over records of type %d in partition %d", record_type, self.index
            )

    def apply_marker(self, writer: Writer, *, committed: bool) -> None:
        """Offsets of a transaction are committed, or not."""
        self.offsets.apply_marker(writer, committed=committed)

    def loaded(self, now_ms: int) -> Outcome:
        """Bring groups to life and look for old offsets from time to time."""
        turn = Turn(now_ms)
        self.classic.loaded(turn)
        self.consumer.loaded(turn)
        turn.arm(EXPIRY, self._settings.retention_check_ms())
        return turn

    def on_timer(self, key: Hashable, now_ms: int) -> Outcome:
        """Route a timer."""
        assert isinstance(key, TimerKey)
        if key.kind == FORGET:
            return self.forget_topic(key.group, now_ms)
        turn = Turn(now_ms)
        if key == EXPIRY:
            has_more = self.commands.expire(turn)
            self._go_on(EXPIRY, 0 if has_more else self._settings.retention_check_ms(), turn)
        elif key.kind in CONSUMER_TIMERS:
            self.consumer.on_timer(key, turn)
        else:
            self.classic.on_timer(key, turn)
        return turn

    def forget_topic(self, topic: str, now_ms: int) -> Outcome:
        """A topic is no more: forget what groups have read of it, a part at a time."""
        turn = Turn(now_ms)
        if self.commands.forget_topic(topic, turn):
            self._go_on(TimerKey(FORGET, topic), 0, turn)
        return turn

    @staticmethod
    def _go_on(key: TimerKey, delay_ms: int, turn: Turn) -> None:
        """Have the work taken up again, later if what it wrote is refused."""
        turn.arm(key, delay_ms)
        again_ms = turn.now_ms + max(delay_ms, TRY_AGAIN_MS)
        turn.failed = lambda _: Outcome(timers={key: again_ms})

    def unloaded(self) -> Iterable[Waiter]:
        """Everybody who waits for a rebalance."""
        return list(self.classic.waiters())

    # Requests, by the kind of group they are about.

    def join(self, request: JoinGroupRequest, caller: Caller, now_ms: int) -> Outcome:
        """JoinGroup; KafkaError refuses. A consumer group that is empty gives way."""
        turn = Turn(now_ms)
        group = self.consumer.groups.get(request.group_id)
        if group is not None:
            if group.members:
                raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
            if request.member_id:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            turn.records += self.consumer.tombstones(group)
        return self.classic.join(request, caller, turn)

    def sync(self, request: SyncGroupRequest, caller: Caller, now_ms: int) -> Outcome:
        """SyncGroup; KafkaError refuses."""
        return self.classic.sync(request, caller, Turn(now_ms))

    def heartbeat(self, request: HeartbeatRequest, waiter: Waiter, now_ms: int) -> Outcome:
        """Heartbeat; KafkaError refuses."""
        return self.classic.heartbeat(request, waiter, Turn(now_ms))

    def leave(self, request: LeaveGroupRequest, caller: Caller, now_ms: int) -> Outcome:
        """LeaveGroup: answers every member; KafkaError refuses."""
        turn = Turn(now_ms)
        group = self.consumer.groups.get(request.group_id)
        if group is not None:
            leaving = request.leaving(caller.version)
            turn.tell(caller.waiter, self.consumer.dismiss(group, leaving, turn))
            return turn
        turn.tell(caller.waiter, self.classic.leave(request, caller.version, turn))
        return turn

    def commit(
        self,
        request: OffsetCommitRequest,
        topics: Sequence[TopicCommits],
        caller: Caller,
        now_ms: int,
    ) -> Outcome:
        """OffsetCommit: answers the partitions of each topic; KafkaError refuses."""
        turn = Turn(now_ms)
        if not self._check_consumer_commit(request, topics, ErrorCode.STALE_MEMBER_EPOCH):
            self.commands.check_commit(request, caller.version, turn)
        elif caller.version < consumer_members.FIRST_COMMIT_VERSION and request.member_id:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        return self.commands.commit(request, topics, caller.waiter, turn)

    def commit_in_transaction(
        self,
        request: OffsetCommitRequest,
        topics: Sequence[TopicCommits],
        part: PartOfTransaction,
        waiter: Waiter,
        now_ms: int,
    ) -> Outcome:
        """TxnOffsetCommit: the offsets count once the writer's transaction commits."""
        names_member = request.member_id or request.group_instance_id is not None
        if request.generation_id_or_member_epoch >= 0 or names_member:
            is_checked = self._check_consumer_commit(request, topics, ErrorCode.ILLEGAL_GENERATION)
        else:
            is_checked = request.group_id in self.consumer.groups
        if not is_checked:
            self.commands.check_transactional(request)
        turn = Turn(now_ms)
        turn.writer, turn.terms = part
        return self.commands.commit(request, topics, waiter, turn)

    def fetch(
        self,
        wanted: OffsetFetchRequestGroup,
        topics: Sequence[TopicPartitions] | None,
        require_stable: bool,
        waiter: Waiter,
    ) -> Outcome:
        """OffsetFetch of one group, all topics where None: answers each topic; KafkaError."""
        group = self.consumer.groups.get(wanted.group_id)
        if group is not None:
            consumer_members.check_fetch(group, wanted.member_id, wanted.member_epoch)
        return Outcome(
            answers=[(waiter, self.commands.fetch(wanted.group_id, topics, require_stable))]
        )

    def describe(self, group_id: str, version: int, waiter: Waiter) -> Outcome:
        """DescribeGroups of one."""
        return Outcome(answers=[(waiter, self.reports.describe(group_id, version))])

    def delete(self, group_id: str, waiter: Waiter) -> Outcome:
        """DeleteGroups of one; KafkaError refuses."""
        return Outcome(self.commands.delete_group(group_id), [(waiter, None)])

    def delete_offsets(
        self, group_id: str, topics: Sequence[TopicPartitions], waiter: Waiter, now_ms: int
    ) -> Outcome:
        """OffsetDelete: answers a code for each topic; KafkaError refuses."""
        turn = Turn(now_ms)
        turn.tell(waiter, self.commands.delete_offsets(group_id, topics, turn))
        return turn

    # Consumer groups.

    def consumer_heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, caller: Caller, now_ms: int
    ) -> Outcome:
        """ConsumerGroupHeartbeat: answers the response, a refusal with its text."""
        try:
            before = self._clear_way(request)
            return self.consumer.heartbeat(request, caller, before, Turn(now_ms))
        except KafkaError as error:
            refusal = ConsumerGroupHeartbeatResponse(
                error_code=error.code, error_message=error.message or error.code.text
            )
            return Outcome(answers=[(caller.waiter, refusal)])

    def _clear_way(self, request: ConsumerGroupHeartbeatRequest) -> list[CoordinatorRecord]:
        """What forgets the group as the classic one it was, if it is empty; GROUP_ID_NOT_FOUND."""
        group_id = request.group_id
        if group_id in self.consumer.groups:
            return []
        classic = self.classic.groups.get(group_id)
        is_joining = request.member_epoch == JOIN_EPOCH
        if classic is not None and not (is_joining and classic.state is GroupState.EMPTY):
            text = f"Group {group_id} is not a consumer group."
            if is_joining:
                text = (
                    f"Cannot upgrade classic group {group_id} to consumer group because online "
                    "upgrade is disabled."
                )
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, text)
        was_there = classic is not None or self.offsets.has_offsets(group_id)
        return [group_tombstone(group_id)] if was_there else []

    def consumer_describe(self, group_id: str, waiter: Waiter) -> Outcome:
        """ConsumerGroupDescribe of one."""
        return Outcome(answers=[(waiter, self.reports.describe_consumer(group_id))])

    def _check_consumer_commit(
        self, request: OffsetCommitRequest, topics: Sequence[TopicCommits], stale: ErrorCode
    ) -> bool:
        """Whether this is about a consumer group, whose member may then commit; KafkaError."""
        group = self.consumer.groups.get(request.group_id)
        if group is None:
            return False
        places = (
            (topic.topic_id, one.partition_index) for topic in topics for one in topic.partitions
        )
        consumer_members.check_commit(
            group, request.member_id, request.generation_id_or_member_epoch, places, stale
        )
        return True
