"""The KIP-848 groups of one partition of `__consumer_offsets`, and what is asked of them.

Records alone change groups; beside each group is its `Presence`, which commands change: who was
heard of when, and whose time to let go of something runs. When everything was replayed, members
go on as their records left them, each with a fresh session. Source: GroupMetadataManager (4.3).
"""

import logging
from collections.abc import Iterable, Sequence
from typing import Final

from broker.coordinator.group import consumer_records as records
from broker.coordinator.group.consumer_group import (
    ConsumerGroup,
    Current,
    Member,
    MemberState,
    ResolvedRegex,
)
from broker.coordinator.group.consumer_heartbeat import Heartbeats, new_epoch
from broker.coordinator.group.consumer_members import (
    named_member,
    static_member,
    unknown_member,
)
from broker.coordinator.group.consumer_presence import (
    CONSUMER_REBALANCE,
    CONSUMER_REGEX,
    CONSUMER_SESSION,
    Presence,
)
from broker.coordinator.group.consumer_resolution import Resolutions
from broker.coordinator.group.consumer_settings import ConsumerSettings
from broker.coordinator.group.consumer_topics import GroupTopics
from broker.coordinator.group.turn import Caller, TimerKey, Turn
from broker.coordinator.shard import CoordinatorRecord, Outcome
from protocol.errors import ErrorCode, KafkaError
from protocol.internal.consumer_offsets import RECORDS, ConsumerGroupMetadataKey
from protocol.internal.coordinator_record import UndecodableRecord
from protocol.messages.consumer_group_heartbeat import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_FOR_A_WHILE_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from protocol.messages.leave_group import MemberIdentity, MemberResponse

_logger = logging.getLogger(__name__)

RETRY_MS: Final = 500
"""After which a timer whose records were refused tries again."""


class ConsumerGroups:
    """See the module. `groups` changes with `apply` alone."""

    def __init__(self, settings: ConsumerSettings, topics: GroupTopics) -> None:
        self.groups: dict[str, ConsumerGroup] = {}
        self.settings = settings
        self.topics = topics
        self._presences: dict[str, Presence] = {}
        self._resolutions = Resolutions(topics)
        self._heartbeats = Heartbeats(settings, topics, self._resolutions)

    # What records tell.

    def apply(self, record: CoordinatorRecord) -> None:
        """Something of a group changed; UndecodableRecord, and nothing has."""
        record_type, key = RECORDS.decode_key(record.key)
        _, value = RECORDS.decode_value(record_type, record.value)
        group_id = records.group_of_key(key)
        group = self.groups.get(group_id)
        if value is not None:
            if group is None:
                group = self.groups[group_id] = ConsumerGroup(group_id)
            records.apply_value(group, key, value)
        elif group is not None and isinstance(key, ConsumerGroupMetadataKey):
            self._forget(group)
        elif group is not None:
            members = set(group.members)
            records.apply_tombstone(group, key)
            for member_id in members - group.members.keys():
                self._presence(group_id).gone(member_id)

    def _forget(self, group: ConsumerGroup) -> None:
        if group.members:
            raise UndecodableRecord(f"group {group.group_id} is forgotten, but has members")
        del self.groups[group.group_id]
        self._presences.pop(group.group_id, None)
        self._resolutions.forget(group.group_id)

    def _presence(self, group_id: str) -> Presence:
        presence = self._presences.get(group_id)
        if presence is None:
            presence = self._presences[group_id] = Presence(group_id)
        return presence

    def loaded(self, turn: Turn) -> None:
        """Everybody gets a fresh session, and what is to be let go of, fresh time for it."""
        for group_id, group in self.groups.items():
            presence = self._presence(group_id)
            session_ms = self.settings.session_timeout_ms(group_id)
            for member_id, member in group.members.items():
                presence.touch(member_id, session_ms, turn)
                current = member.current
                if current.state is MemberState.UNREVOKED_PARTITIONS:
                    timeout_ms = member.subscription.rebalance_timeout_ms
                    presence.await_revocation(member_id, current.epoch, timeout_ms, turn)

    # Commands of members.

    def heartbeat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        caller: Caller,
        before: Sequence[CoordinatorRecord],
        turn: Turn,
    ) -> Outcome:
        """Join, live, report or leave; KafkaError refuses. `before` clears a new group's way."""
        if request.member_epoch in (LEAVE_EPOCH, LEAVE_FOR_A_WHILE_EPOCH):
            turn.tell(caller.waiter, self._leave(request, turn))
            return turn
        group_id = request.group_id
        group = self.groups.get(group_id)
        if group is None:
            if request.member_epoch != JOIN_EPOCH:
                raise KafkaError(
                    ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found."
                )
            group = ConsumerGroup(group_id)
            turn.records += before
        presence = self._presences.get(group_id) or Presence(group_id)
        response = self._heartbeats.heartbeat(group, presence, request, caller, turn)
        self._presences[group_id] = presence
        turn.tell(caller.waiter, response)

        def failed(code: ErrorCode) -> Outcome:
            self._resolutions.stop(group_id)
            if group_id not in self.groups:
                del self._presences[group_id]
            refusal = ConsumerGroupHeartbeatResponse(error_code=code, error_message=code.text)
            return Outcome(answers=[(caller.waiter, refusal)])

        turn.failed = failed
        return turn

    def _leave(
        self, request: ConsumerGroupHeartbeatRequest, turn: Turn
    ) -> ConsumerGroupHeartbeatResponse:
        group = self.groups.get(request.group_id)
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {request.group_id} not found.")
        member = _leaving(group, request)
        if request.member_epoch == LEAVE_FOR_A_WHILE_EPOCH:
            _logger.info(
                "Static member %s left consumer group %s for a while",
                member.member_id,
                group.group_id,
            )
            away = _away(member.current)
            turn.records.append(records.current_record(group.group_id, member.member_id, away))
        else:
            self._remove(group, [member], "it left", turn)
        return ConsumerGroupHeartbeatResponse(
            member_id=request.member_id, member_epoch=request.member_epoch
        )

    def dismiss(
        self, group: ConsumerGroup, identities: Iterable[MemberIdentity], turn: Turn
    ) -> list[MemberResponse]:
        """LeaveGroup, by which administrators remove members: each has its answer."""
        answers = []
        gone: dict[str, Member] = {}
        for identity in identities:
            answer = MemberResponse(
                member_id=identity.member_id, group_instance_id=identity.group_instance_id
            )
            try:
                member = named_member(group, identity.member_id, identity.group_instance_id)
                answer.member_id = member.member_id
                gone[member.member_id] = member
            except KafkaError as error:
                answer.error_code = error.code
            answers.append(answer)
        if gone:
            self._remove(group, list(gone.values()), "it was told to leave", turn)
        return answers

    def _remove(
        self, group: ConsumerGroup, members: Sequence[Member], why: str, turn: Turn
    ) -> None:
        """Members go, and what they had is free; the next heartbeat of another shares it."""
        left = [member.subscription for member in members]
        for member in members:
            turn.records += records.member_tombstones(group.group_id, member.member_id)
        turn.records += [
            records.regex_tombstone(group.group_id, regex)
            for regex in group.orphaned_regexes(left, ())
        ]
        metadata_hash = self.topics.hash_of(group.topics_after(left, ()))
        names = ", ".join(member.member_id for member in members)
        turn.records += new_epoch(group, metadata_hash, f"removing {names}: {why}")
        for member in members:
            self._presence(group.group_id).forget(member.member_id, turn)

    # Timers.

    def on_timer(self, key: TimerKey, turn: Turn) -> None:
        """Time has passed for a member, or for expressions to be resolved."""
        group = self.groups.get(key.group)
        if group is None:
            self._resolutions.forget(key.group)
            return
        presence = self._presence(key.group)
        member = group.members.get(key.member)
        if key.kind == CONSUMER_REGEX:
            found = self._resolutions.proceed(group, turn)
            if found is not None:
                self._resolved(group, found, turn)
        elif member is None:
            return
        elif key.kind == CONSUMER_SESSION and presence.is_silent(key.member, turn):
            self._expel(group, member, "its session has expired", key, turn)
        elif key.kind == CONSUMER_REBALANCE and presence.is_stuck(key.member, member.current.epoch):
            self._expel(group, member, "it did not let go of partitions in time", key, turn)

    def _expel(
        self, group: ConsumerGroup, member: Member, why: str, key: TimerKey, turn: Turn
    ) -> None:
        self._remove(group, [member], why, turn)
        del turn.timers[key]  # It has fired; where it cannot be acted on, it fires again.
        again_ms = turn.now_ms + RETRY_MS

        def failed(code: ErrorCode) -> Outcome:
            _logger.warning("Member %s could not be removed: %s", member.member_id, code.name)
            return Outcome(timers={key: again_ms})

        turn.failed = failed

    def _resolved(self, group: ConsumerGroup, found: dict[str, ResolvedRegex], turn: Turn) -> None:
        """Expressions have been matched: where one stands for other topics, the group moves on."""
        topics = set(group.topic_subscribers)
        changed = False
        for regex in group.regex_subscribers:
            known, resolved = group.regexes.get(regex), found.get(regex)
            if resolved is not None:
                turn.records.append(records.regex_record(group.group_id, regex, resolved))
                changed |= resolved.topics != (frozenset() if known is None else known.topics)
            latest = resolved or known
            if latest is not None:
                topics |= latest.topics
        if changed:
            reason = "expressions stand for other topics"
            turn.records += new_epoch(group, self.topics.hash_of(topics), reason)

    # Deleting.

    def tombstones(self, group: ConsumerGroup) -> list[CoordinatorRecord]:
        """The records by which a group without members is forgotten; NON_EMPTY_GROUP."""
        if group.members:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
        return records.group_tombstones(group)


def _leaving(group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest) -> Member:
    """Who leaves, whatever its epoch; KafkaError."""
    if request.instance_id is not None:
        return static_member(group, request.instance_id, request.member_id)
    member = group.members.get(request.member_id)
    if member is None:
        raise unknown_member(group, request.member_id)
    return member


def _away(current: Current) -> Current:
    """A static member that left for a while keeps what it has, for whoever comes in its name.

    The partitions' epochs become 0: its successor may commit from the epoch that one has known.
    """
    assigned = {
        topic: dict.fromkeys(partitions, 0) for topic, partitions in current.assigned.items()
    }
    return current._replace(epoch=LEAVE_FOR_A_WHILE_EPOCH, assigned=assigned, revoking={})
