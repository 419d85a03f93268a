"""The classic groups of one partition of `__consumer_offsets`, and what is asked of them.

Two things are kept of each group: the value of its record, as the log has it, which `apply` alone
changes, and the group as it lives, which commands change; where a record is refused, the command
takes back what it did. When everything was replayed, groups come to life as their records left
them, each member with a fresh session. Source: GroupMetadataManager (4.3).
"""

import logging
from collections.abc import Iterator, Mapping

from broker.coordinator.group.classic_group import ClassicGroup, GroupState
from broker.coordinator.group.classic_join import Join
from broker.coordinator.group.classic_rebalance import ClassicRebalance
from broker.coordinator.group.classic_records import (
    group_of_key,
    group_of_record,
    group_record,
    new_group_record,
)
from broker.coordinator.group.settings import GroupMeters, GroupSettings, Reason
from broker.coordinator.group.turn import JOIN, SESSION, SYNC, Caller, TimerKey, Turn
from broker.coordinator.shard import CoordinatorRecord, Outcome, Waiter
from protocol.errors import ErrorCode, KafkaError
from protocol.internal.coordinator_record import UndecodableRecord
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity, MemberResponse
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

_logger = logging.getLogger(__name__)


class ClassicGroups:
    """See the module. `stored` has the values of the records, `groups` those that live."""

    def __init__(self, settings: GroupSettings, meters: GroupMeters) -> None:
        self.stored: dict[str, bytes] = {}
        self.groups: dict[str, ClassicGroup] = {}
        self._settings = settings
        self._rebalance = ClassicRebalance(settings, meters)
        self._lives = False

    # What records tell.

    def apply(self, record: CoordinatorRecord) -> None:
        """A group was settled, or forgotten."""
        group_id = group_of_key(record.key)
        if record.value is None:
            self.stored.pop(group_id, None)
            self.groups.pop(group_id, None)
            return
        self.stored[group_id] = record.value
        if self._lives and group_id not in self.groups:
            self.groups[group_id] = group_of_record(group_id, record.value)

    def loaded(self, turn: Turn) -> None:
        """Groups come to life; one that grew too large meanwhile has to part with members."""
        self._lives = True
        for group_id, value in self.stored.items():
            try:
                group = self.groups[group_id] = group_of_record(group_id, value)
            except UndecodableRecord as error:
                _logger.error("Group %s is lost, its record says nothing: %s", group_id, error)
                continue
            for member in group.members.values():
                self._rebalance.touch(group, member, turn)
            if len(group.members) > self._settings.max_size():
                detail = f"{len(group.members)} members were loaded"
                self._rebalance.begin(group, Reason.OVER_CAPACITY, detail, turn)

    def waiters(self) -> Iterator[Waiter]:
        """Everybody who waits for a rebalance; asked once, when all of this ends."""
        for group in self.groups.values():
            for member in group.members.values():
                yield from (one for one in (member.joining, member.syncing) if one is not None)

    # Finding.

    def member_group(self, group_id: str) -> ClassicGroup:
        """The group a member speaks of; UNKNOWN_MEMBER_ID where there is none."""
        group = self.groups.get(group_id)
        if group is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        return group

    # Commands of members.

    def join(self, request: JoinGroupRequest, caller: Caller, turn: Turn) -> Outcome:
        """Become a member; the first makes the group. KafkaError refuses."""
        group_id = request.group_id
        join = Join(request, caller, self._settings, self._rebalance, turn)
        if group_id in self.groups or request.member_id:
            join.run(self.member_group(group_id))
            return turn
        group = ClassicGroup(group_id, turn.now_ms)
        join.run(group)
        self.groups[group_id] = group
        turn.records.append(new_group_record(group))

        def failed(code: ErrorCode) -> Outcome:
            del self.groups[group_id]
            return Outcome(answers=[(caller.waiter, JoinGroupResponse(error_code=code))])

        turn.failed = failed
        return turn

    def sync(self, request: SyncGroupRequest, caller: Caller, turn: Turn) -> Outcome:
        """Give a member its assignment, once the leader has brought it. KafkaError refuses."""
        group = self.member_group(request.group_id)
        member = group.check_member(request.member_id, request.group_instance_id)
        if request.generation_id != group.generation:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        if request.protocol_type not in (None, group.protocol_type) or (
            request.protocol_name not in (None, group.protocol_name)
        ):
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if group.state is GroupState.PREPARING_REBALANCE:
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
        if group.state is GroupState.EMPTY:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        self._rebalance.synced(group, member, turn)
        if group.state is GroupState.STABLE:
            turn.tell(caller.waiter, _synced(group, member.assignment))
            return turn
        if member.syncing is not None:
            code = ErrorCode.REBALANCE_IN_PROGRESS
            turn.tell(member.syncing, SyncGroupResponse(error_code=code))
        member.syncing = caller.waiter
        if member.member_id == group.leader:
            assignments = {one.member_id: one.assignment for one in request.assignments}
            self._settle(group, assignments, turn)
        return turn

    def _settle(self, group: ClassicGroup, assignments: Mapping[str, bytes], turn: Turn) -> None:
        """The leader's assignment is written, and everybody who waits is told."""
        _logger.info(
            "Assignment received for group %s generation %d, %d members, %d of them static",
            group.group_id,
            group.generation,
            len(group.members),
            len(group.static_members),
        )
        turn.records.append(group_record(group, assignments))
        group.become(GroupState.STABLE, turn.now_ms)
        for member in group.members.values():
            member.assignment = assignments.get(member.member_id, b"")
            if member.syncing is not None:
                turn.tell(member.syncing, _synced(group, member.assignment))
                member.syncing = None
                self._rebalance.touch(group, member, turn)

        def failed(code: ErrorCode) -> Outcome:
            undone = Turn(turn.now_ms)
            for waiter, _ in turn.answers:
                undone.tell(waiter, SyncGroupResponse(error_code=code))
            for member in group.members.values():
                member.assignment, member.timer_ms = b"", None
                self._rebalance.touch(group, member, undone)
            self._rebalance.begin(group, Reason.STORE_FAILED, code.name, undone)
            return undone

        turn.failed = failed

    def heartbeat(self, request: HeartbeatRequest, waiter: Waiter, turn: Turn) -> Outcome:
        """A member lives; it learns whether it has to join again. KafkaError refuses."""
        group = self.member_group(request.group_id)
        member = group.check_member(request.member_id, request.group_instance_id)
        if request.generation_id != group.generation:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        self._rebalance.touch(group, member, turn)
        code = ErrorCode.NONE
        if group.state is GroupState.PREPARING_REBALANCE:
            code = ErrorCode.REBALANCE_IN_PROGRESS
        turn.tell(waiter, HeartbeatResponse(error_code=code))
        return turn

    def leave(self, request: LeaveGroupRequest, version: int, turn: Turn) -> list[MemberResponse]:
        """Members go, each answered for itself; those who stay share at once."""
        group = self.member_group(request.group_id)
        answers, gone = [], []
        for identity in request.leaving(version):
            code = ErrorCode.NONE
            try:
                gone += self._let_go(group, identity, turn)
            except KafkaError as error:
                code = error.code
            answers.append(
                MemberResponse(
                    member_id=identity.member_id,
                    group_instance_id=identity.group_instance_id,
                    error_code=code,
                )
            )
        if gone:
            self._rebalance.after_removal(group, Reason.MEMBER_LEFT, "; ".join(gone), turn)
        return answers

    def _let_go(self, group: ClassicGroup, identity: MemberIdentity, turn: Turn) -> list[str]:
        """Who went and why, in words; KafkaError for one that is no member."""
        member_id, instance_id = identity.member_id, identity.group_instance_id
        why = identity.reason or "not provided"
        if member_id in group.pending_joins:
            group.remove(member_id)
            turn.cancel(TimerKey(SESSION, group.group_id, member_id))
            return [f"pending {member_id} ({why})"]
        if not member_id and instance_id is not None:
            # An administrator names static members by their instance alone.
            member_id = group.static_members.get(instance_id, "")
        member = group.check_member(member_id, instance_id)
        self._rebalance.dismiss(group, member, turn)
        return [f"{member_id} ({why})"]

    def check_commit(
        self,
        group: ClassicGroup,
        member_id: str,
        generation: int,
        instance_id: str | None,
        turn: Turn | None,
    ) -> None:
        """Whether offsets may be committed in this name; KafkaError.

        `turn` is None for a transaction's offsets, which need no member and touch no session.
        """
        is_empty = group.state is GroupState.EMPTY
        if generation < 0 and is_empty:
            return
        if generation >= 0 or member_id or instance_id is not None:
            member = group.check_member(member_id, instance_id)
            if generation != group.generation:
                raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        elif turn is None:
            return
        else:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        if turn is None:
            return
        if group.state is GroupState.COMPLETING_REBALANCE:
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
        self._rebalance.touch(group, member, turn)

    # Timers.

    def on_timer(self, key: TimerKey, turn: Turn) -> None:
        """Time has passed for a group, or one of its members."""
        group = self.groups.get(key.group)
        if group is None:
            return
        if key.kind == SESSION:
            self._rebalance.on_session_timer(group, key.member, turn)
        elif key.kind == JOIN:
            self._rebalance.on_join_timer(group, turn)
        elif key.kind == SYNC:
            self._rebalance.on_sync_timer(group, turn)


def _synced(group: ClassicGroup, assignment: bytes) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=assignment,
    )
