"""How a classic group is balanced anew, and the timers that keep it from waiting for ever.

```text
begin ── empty group: wait initial delay, again while members come ──┐
  │                                                                  v
  └───── else: until all have joined, or the rebalance timeout ── complete ── sync timeout: begin
```
Each begin has one reason, told in the log and counted. Silent members are found by one timer each,
which is only moved when it fires: a heartbeat changes a number.
Source: GroupMetadataManager.prepareRebalance, completeClassicGroupJoin and around them (4.3).
"""

import logging
from typing import Final

from broker.coordinator.group.classic_group import ClassicGroup, ClassicMember, GroupState
from broker.coordinator.group.classic_records import group_record
from broker.coordinator.group.settings import GroupMeters, GroupSettings, Reason
from broker.coordinator.group.turn import JOIN, SESSION, SYNC, TimerKey, Turn
from protocol.errors import ErrorCode
from protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from protocol.messages.sync_group import SyncGroupResponse

_logger = logging.getLogger(__name__)

NEW_MEMBER_JOIN_MS: Final = 5 * 60_000
"""How long a new member's first join may wait: its client may be gone, and try again under another
id, without anybody noticing."""


class ClassicRebalance:
    """Moves groups; holds nothing but how long first rebalances may still wait."""

    def __init__(self, settings: GroupSettings, meters: GroupMeters) -> None:
        self._settings = settings
        self._meters = meters
        self._remaining_ms: dict[str, tuple[int, int]] = {}

    # Beginning.

    def begin_or_complete(
        self, group: ClassicGroup, reason: Reason, detail: str, turn: Turn
    ) -> None:
        """Something has changed: a new rebalance, or perhaps the end of the one under way."""
        if group.can_rebalance:
            self.begin(group, reason, detail, turn)
        else:
            self.complete_if_joined(group, turn)

    def begin(self, group: ClassicGroup, reason: Reason, detail: str, turn: Turn) -> None:
        """Gather the members; whoever waits for an assignment has to join again."""
        if group.state is GroupState.COMPLETING_REBALANCE:
            for member in group.members.values():
                member.assignment = b""
                if member.syncing is not None:
                    self.touch(group, member, turn)
            refuse_syncs(group, ErrorCode.REBALANCE_IN_PROGRESS, turn)
        turn.cancel(TimerKey(SYNC, group.group_id))
        is_first = group.state is GroupState.EMPTY
        _logger.info(
            "Preparing to rebalance group %s in state %s with old generation %d (reason: %s: %s)",
            group.group_id,
            group.state.value,
            group.generation,
            reason.value,
            detail,
        )
        self._meters.rebalances[reason] += 1
        group.become(GroupState.PREPARING_REBALANCE, turn.now_ms)
        if is_first:
            delay_ms = self._settings.initial_rebalance_delay_ms()
            group.new_member_added = False
            self._wait_for_more(group, delay_ms, group.rebalance_timeout_ms - delay_ms, turn)
        elif group.all_joined:
            self.complete(group, turn)
        else:
            turn.arm(TimerKey(JOIN, group.group_id), group.rebalance_timeout_ms)

    def _wait_for_more(
        self, group: ClassicGroup, delay_ms: int, remaining_ms: int, turn: Turn
    ) -> None:
        self._remaining_ms[group.group_id] = delay_ms, max(remaining_ms, 0)
        turn.arm(TimerKey(JOIN, group.group_id), delay_ms)

    # Completing.

    def complete_if_joined(self, group: ClassicGroup, turn: Turn) -> None:
        """Go on once nobody is missing; a first rebalance waits for its timer all the same."""
        if (
            group.state is GroupState.PREPARING_REBALANCE
            and group.all_joined
            and group.previous_state is not GroupState.EMPTY
        ):
            self.complete(group, turn)

    def on_join_timer(self, group: ClassicGroup, turn: Turn) -> None:
        """It was waited long enough, unless members keep coming to a group that is new."""
        if group.state is not GroupState.PREPARING_REBALANCE:
            return
        delay_ms, remaining_ms = self._remaining_ms.get(group.group_id, (0, 0))
        if group.previous_state is GroupState.EMPTY and group.new_member_added and remaining_ms:
            group.new_member_added = False
            step_ms = min(self._settings.initial_rebalance_delay_ms(), remaining_ms)
            self._wait_for_more(group, step_ms, remaining_ms - delay_ms, turn)
        else:
            self.complete(group, turn)

    def complete(self, group: ClassicGroup, turn: Turn) -> None:
        """The members that have joined are the next generation; static ones stay in any case."""
        self._remaining_ms.pop(group.group_id, None)
        turn.cancel(TimerKey(JOIN, group.group_id))
        missing = [
            member_id
            for member_id, member in group.members.items()
            if member.joining is None and member.instance_id is None
        ]
        if missing:
            _logger.info(
                "Group %s goes on without members that did not rejoin: %s",
                group.group_id,
                ", ".join(missing),
            )
        for member_id in missing:
            group.remove(member_id)
            turn.cancel(TimerKey(SESSION, group.group_id, member_id))
        if group.members and not group.elect_leader():
            _logger.error("No member of group %s has rejoined: it waits on", group.group_id)
            turn.arm(TimerKey(JOIN, group.group_id), group.rebalance_timeout_ms)
            return
        group.next_generation(turn.now_ms)
        self._meters.completed_rebalances += 1
        if group.members:
            self._tell_generation(group, turn)
        else:
            _logger.info(
                "Group %s with generation %d is now empty", group.group_id, group.generation
            )
            turn.records.append(group_record(group, {}))

    def _tell_generation(self, group: ClassicGroup, turn: Turn) -> None:
        _logger.info(
            "Stabilized group %s generation %d with %d members",
            group.group_id,
            group.generation,
            len(group.members),
        )
        for member in group.members.values():
            waiter = member.joining
            group.wait_for_join(member, None)
            group.pending_syncs.add(member.member_id)
            member.is_new = False
            self.touch(group, member, turn)
            if waiter is not None:
                turn.tell(waiter, joined(group, member))
        turn.arm(TimerKey(SYNC, group.group_id), group.rebalance_timeout_ms)

    def on_sync_timer(self, group: ClassicGroup, turn: Turn) -> None:
        """Members that did not ask for their assignment in time are gone."""
        if group.state not in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
            return
        silent = sorted(group.pending_syncs)
        for member_id in silent:
            group.remove(member_id)
            turn.cancel(TimerKey(SESSION, group.group_id, member_id))
        if silent:
            self.begin(group, Reason.SYNC_EXPIRED, f"no SyncGroup of {', '.join(silent)}", turn)

    def synced(self, group: ClassicGroup, member: ClassicMember, turn: Turn) -> None:
        """A member has asked for its assignment."""
        group.pending_syncs.discard(member.member_id)
        if not group.pending_syncs:
            turn.cancel(TimerKey(SYNC, group.group_id))

    # Members that go.

    def remove(
        self, group: ClassicGroup, member: ClassicMember, reason: Reason, detail: str, turn: Turn
    ) -> None:
        """Let one go and balance the rest."""
        self.dismiss(group, member, turn)
        self.after_removal(group, reason, detail, turn)

    def dismiss(self, group: ClassicGroup, member: ClassicMember, turn: Turn) -> None:
        """Let one go; whoever waits in its name is told that it is no member."""
        code = ErrorCode.UNKNOWN_MEMBER_ID
        group.remove(member.member_id)
        turn.cancel(TimerKey(SESSION, group.group_id, member.member_id))
        if member.joining is not None:
            turn.tell(member.joining, JoinGroupResponse(error_code=code))
        if member.syncing is not None:
            turn.tell(member.syncing, SyncGroupResponse(error_code=code))
        member.joining = member.syncing = None

    def after_removal(self, group: ClassicGroup, reason: Reason, detail: str, turn: Turn) -> None:
        """Somebody went: those who are left share what was theirs, at once."""
        if group.state is not GroupState.EMPTY:
            self.begin_or_complete(group, reason, detail, turn)

    # Sessions.

    def touch(
        self, group: ClassicGroup, member: ClassicMember, turn: Turn, timeout_ms: int | None = None
    ) -> None:
        """A sign of life: the session begins anew."""
        ends_ms = turn.now_ms + (member.session_timeout_ms if timeout_ms is None else timeout_ms)
        member.session_ends_ms = ends_ms
        if member.timer_ms is None or member.timer_ms > ends_ms:
            member.timer_ms = ends_ms
            turn.timers[TimerKey(SESSION, group.group_id, member.member_id)] = ends_ms

    def on_session_timer(self, group: ClassicGroup, member_id: str, turn: Turn) -> None:
        """Nothing was heard since the timer was set, or else it is set anew."""
        if member_id in group.pending_joins:
            _logger.info("Pending member %s of group %s did not join", member_id, group.group_id)
            group.remove(member_id)
            self.complete_if_joined(group, turn)
            return
        member = group.members.get(member_id)
        if member is None:
            return
        member.timer_ms = None
        if turn.now_ms < member.session_ends_ms:
            member.timer_ms = member.session_ends_ms
            turn.timers[TimerKey(SESSION, group.group_id, member_id)] = member.session_ends_ms
        elif not member.is_waiting:
            self.remove(
                group, member, Reason.SESSION_EXPIRED, f"nothing heard of {member_id}", turn
            )


def joined(
    group: ClassicGroup, member: ClassicMember, *, skip_assignment: bool = False
) -> JoinGroupResponse:
    """The generation as this member is told of it; the leader is told everybody's metadata."""
    members: list[JoinGroupResponseMember] = []
    if member.member_id == group.leader:
        members = [
            JoinGroupResponseMember(
                member_id=one.member_id,
                group_instance_id=one.instance_id,
                metadata=one.metadata(group.protocol_name),
            )
            for one in group.members.values()
        ]
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader or "",
        skip_assignment=skip_assignment,
        member_id=member.member_id,
        members=members,
    )


def refuse_syncs(group: ClassicGroup, code: ErrorCode, turn: Turn) -> None:
    """Tell everybody who waits for an assignment that there will be none."""
    for member in group.members.values():
        if member.syncing is not None:
            turn.tell(member.syncing, SyncGroupResponse(error_code=code))
            member.syncing = None
