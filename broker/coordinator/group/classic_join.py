"""JoinGroup: who may become a member of a classic group, and what their coming changes.

```text
no id, v4+, dynamic      an id is given out, MEMBER_ID_REQUIRED; it is expected back in a session
no id, known instance    takes the place of the static member, whose old id is fenced
no id else, or expected  a new member
known id                 joins again: nothing changed and no leader, so no rebalance
```
Source: GroupMetadataManager.classicGroupJoin… (4.3), KIP-345, KIP-394, KIP-814.
"""

from typing import Final

from broker.coordinator.group.classic_group import (
    ClassicGroup,
    ClassicMember,
    GroupState,
    Protocols,
)
from broker.coordinator.group.classic_rebalance import (
    NEW_MEMBER_JOIN_MS,
    ClassicRebalance,
    joined,
)
from broker.coordinator.group.classic_records import group_record
from broker.coordinator.group.settings import GroupSettings, Reason
from broker.coordinator.group.turn import SESSION, Caller, TimerKey, Turn
from broker.coordinator.shard import Outcome, Waiter
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from protocol.messages.sync_group import SyncGroupResponse

FIRST_VERSION_THAT_NEEDS_ID: Final = 4
FIRST_VERSION_WITH_SKIP_ASSIGNMENT: Final = 9


class Join:
    """One request to join a group that exists, if only since a moment ago. KafkaError refuses."""

    def __init__(
        self,
        request: JoinGroupRequest,
        caller: Caller,
        settings: GroupSettings,
        rebalance: ClassicRebalance,
        turn: Turn,
    ) -> None:
        self._request = request
        self._caller = caller
        self._settings = settings
        self._rebalance = rebalance
        self._turn = turn
        self._protocols: Protocols = tuple((one.name, one.metadata) for one in request.protocols)
        rebalance_ms = request.rebalance_timeout_ms
        session_ms = request.session_timeout_ms
        self._timeouts_ms = (session_ms, session_ms if rebalance_ms < 0 else rebalance_ms)
        self._why = f"client reason: {request.reason or 'not provided'}"

    def run(self, group: ClassicGroup) -> None:
        """Answer, or have the request wait for the others."""
        request = self._request
        if not self._has_room(group):
            group.remove(request.member_id)
            raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED)
        if not group.supports(request.protocol_type, self._protocols):
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if request.member_id:
            self._come_back(group)
        else:
            self._come(group)

    def _has_room(self, group: ClassicGroup) -> bool:
        """While members gather, those who have joined count: the last to rejoin are left out."""
        if group.state is GroupState.EMPTY:
            return True
        member = group.members.get(self._request.member_id)
        if group.state is GroupState.PREPARING_REBALANCE:
            is_in = member is not None and member.joining is not None
            return is_in or group.joining_count < self._settings.max_size()
        return member is not None or len(group.members) < self._settings.max_size()

    # Without an id.

    def _come(self, group: ClassicGroup) -> None:
        instance_id = self._request.group_instance_id
        owner = self._caller.client_id if instance_id is None else instance_id
        member_id = f"{owner}-{_dashed(self._settings.unique())}"
        if instance_id is not None:
            old_id = group.static_members.get(instance_id)
            if old_id is None:
                self._add(group, member_id)
            else:
                self._replace(group, old_id, member_id)
        elif self._caller.version >= FIRST_VERSION_THAT_NEEDS_ID:
            group.pending_joins.add(member_id)
            key = TimerKey(SESSION, group.group_id, member_id)
            self._turn.arm(key, self._request.session_timeout_ms)
            answer = JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id)
            self._turn.tell(self._caller.waiter, answer)
        else:
            self._add(group, member_id)

    def _add(self, group: ClassicGroup, member_id: str) -> None:
        turn, request = self._turn, self._request
        member = ClassicMember(
            member_id,
            request.group_instance_id,
            (self._caller.client_id, self._caller.client_host),
            self._timeouts_ms,
            self._protocols,
        )
        member.is_new = True
        if (
            group.state is GroupState.PREPARING_REBALANCE
            and group.previous_state is GroupState.EMPTY
        ):
            group.new_member_added = True
        if not group.members:
            group.protocol_type = request.protocol_type
        group.add(member, self._caller.waiter)
        self._rebalance.touch(group, member, turn, NEW_MEMBER_JOIN_MS)
        detail = f"{member_id} with instance id {request.group_instance_id}; {self._why}"
        self._rebalance.begin_or_complete(group, Reason.MEMBER_JOINED, detail, turn)

    # With an id.

    def _come_back(self, group: ClassicGroup) -> None:
        request = self._request
        member_id = request.member_id
        if member_id in group.pending_joins:
            if request.group_instance_id is not None:
                raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
            self._add(group, member_id)
            return
        member = group.check_member(member_id, request.group_instance_id)
        is_same = member.protocols == self._protocols
        if group.state is GroupState.EMPTY:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        if group.state is GroupState.PREPARING_REBALANCE:
            self._update(group, member, Reason.MEMBER_JOINED)
        elif not is_same:
            self._update(group, member, Reason.METADATA_CHANGED)
        elif group.state is GroupState.STABLE and member_id == group.leader:
            # So may a leader tell that topics have changed, which metadata of members do not say.
            self._update(group, member, Reason.LEADER_REJOINED)
        else:
            self._turn.tell(self._caller.waiter, joined(group, member))

    def _update(self, group: ClassicGroup, member: ClassicMember, reason: Reason) -> None:
        self._take_over(group, member)
        detail = f"{member.member_id} in state {group.state.value}; {self._why}"
        self._rebalance.begin_or_complete(group, reason, detail, self._turn)

    def _take_over(self, group: ClassicGroup, member: ClassicMember) -> None:
        """What the request says of the member counts now, and this request waits for it."""
        if member.joining is not None:
            # The client gave up on an earlier request; its answer goes nowhere.
            self._refuse_join(member.joining, ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)
        group.update(member, self._protocols, self._timeouts_ms)
        group.wait_for_join(member, self._caller.waiter)

    def _refuse_join(self, waiter: Waiter, code: ErrorCode, member_id: str) -> None:
        self._turn.tell(waiter, JoinGroupResponse(error_code=code, member_id=member_id))

    # In the place of a static member.

    def _replace(self, group: ClassicGroup, old_id: str, new_id: str) -> None:
        turn, old_leader = self._turn, group.leader
        member = group.members[old_id]
        before = member.protocols, (member.session_timeout_ms, member.rebalance_timeout_ms)
        fenced = ErrorCode.FENCED_INSTANCE_ID
        if member.joining is not None:
            self._refuse_join(member.joining, fenced, old_id)
            group.wait_for_join(member, None)
        if member.syncing is not None:
            turn.tell(member.syncing, SyncGroupResponse(error_code=fenced))
            member.syncing = None
        group.replace_static(old_id, new_id)
        turn.cancel(TimerKey(SESSION, group.group_id, old_id))
        group.update(member, self._protocols, self._timeouts_ms)
        self._rebalance.touch(group, member, turn)
        detail = f"{old_id} by {new_id}; {self._why}"
        if group.state is GroupState.STABLE and group.select_protocol() == group.protocol_name:
            self._go_on(group, member, old_leader or "")

            def failed(code: ErrorCode) -> Outcome:
                undone = Turn(turn.now_ms)
                group.update(member, *before)
                group.replace_static(new_id, old_id)
                self._rebalance.touch(group, member, undone)
                undone.tell(self._caller.waiter, JoinGroupResponse(error_code=code))
                return undone

            turn.failed = failed
        else:
            group.wait_for_join(member, self._caller.waiter)
            self._rebalance.begin_or_complete(group, Reason.STATIC_MEMBER_REPLACED, detail, turn)

    def _go_on(self, group: ClassicGroup, member: ClassicMember, old_leader: str) -> None:
        """The generation stands: the new one takes the assignment of the old.

        From v9 on a leader is told that it leads but need not assign. Older clients would assign,
        so they are told of a leader that is gone.
        """
        assignments = {one.member_id: one.assignment for one in group.members.values()}
        self._turn.records.append(group_record(group, assignments))
        if self._caller.version >= FIRST_VERSION_WITH_SKIP_ASSIGNMENT:
            skips = member.member_id == group.leader
            answer = joined(group, member, skip_assignment=skips)
        else:
            answer = joined(group, member)
            answer.leader, answer.members = old_leader, []
        self._turn.tell(self._caller.waiter, answer)


def _dashed(digits: str) -> str:
    """32 hex digits in the form of a UUID."""
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
