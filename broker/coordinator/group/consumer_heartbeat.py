"""ConsumerGroupHeartbeat: everything a member of a consumer group wants, says and is told.

```text
who      group and member, by epoch and instance        refused, and nothing has happened
wants    subscription                                    5, 16 forgotten where nobody uses one
epoch    what is wanted changed, or the topics did       3
targets  the epoch is new, the last ones old enough      7…, 6
step     this member, towards its newest target          8
```
Nothing changes here: each stage sees what the stages before it have decided in a `Draft`, whose
records make it so. Source: GroupMetadataManager.consumerGroupHeartbeat (4.3), KIP-848, KIP-1263.
"""

import logging
from collections.abc import Mapping

from broker.coordinator.group import consumer_records as records
from broker.coordinator.group.consumer_group import (
    ConsumerGroup,
    Current,
    Member,
    MemberState,
    Subscription,
    Target,
)
from broker.coordinator.group.consumer_members import (
    check_size,
    find_member,
    reported_partitions,
)
from broker.coordinator.group.consumer_presence import Presence
from broker.coordinator.group.consumer_reconciliation import Course, Report, reconciled
from broker.coordinator.group.consumer_resolution import Resolutions, check_regex
from broker.coordinator.group.consumer_settings import ConsumerSettings
from broker.coordinator.group.consumer_target import targets
from broker.coordinator.group.consumer_topics import GroupTopics
from broker.coordinator.group.turn import Caller, Turn
from broker.coordinator.shard import CoordinatorRecord
from protocol.messages.consumer_group_heartbeat import (
    JOIN_EPOCH,
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from protocol.model import TopicId

_logger = logging.getLogger(__name__)
_NOTHING: Mapping[TopicId, frozenset[int]] = {}


class Draft:
    """One member's way through one heartbeat: what will be, before a record says so.

    `member` is as the heartbeat found it, a static one that came back with what its predecessor
    `replaced` had; `known` is whether any member record of this id is there already.
    """

    __slots__ = (
        "assignment_epoch",
        "current",
        "epoch",
        "group",
        "member",
        "metadata_hash",
        "replaced",
        "subscription",
        "subscription_changed",
        "target",
    )

    def __init__(self, group: ConsumerGroup, member: Member, replaced: Member | None) -> None:
        self.group = group
        self.member = member
        self.replaced = replaced
        self.subscription = member.subscription
        self.subscription_changed = False
        self.epoch = group.epoch
        self.metadata_hash = group.metadata_hash
        self.assignment_epoch = group.assignment_epoch
        last_id = member.member_id if replaced is None else replaced.member_id
        self.target: Target = group.targets.get(last_id, _NOTHING)
        self.current = member.current

    @property
    def before(self) -> tuple[Subscription, ...]:
        """The subscriptions that this heartbeat takes the place of."""
        if self.replaced is not None:
            return (self.replaced.subscription,)
        known = self.group.members.get(self.member.member_id)
        return () if known is None else (known.subscription,)


class Heartbeats:
    """The stages of a heartbeat; see the module."""

    def __init__(
        self, settings: ConsumerSettings, topics: GroupTopics, resolutions: Resolutions
    ) -> None:
        self._settings = settings
        self._topics = topics
        self._resolutions = resolutions

    def heartbeat(
        self,
        group: ConsumerGroup,
        presence: Presence,
        request: ConsumerGroupHeartbeatRequest,
        caller: Caller,
        turn: Turn,
    ) -> ConsumerGroupHeartbeatResponse:
        """Decide and answer; KafkaError refuses."""
        check_size(group, request.member_id, self._settings.max_size())
        member, replaced = find_member(group, request, self._settings.unique)
        draft = Draft(group, member, replaced)
        draft.subscription = _updated(member.subscription, request, caller)
        check_regex(group, member.subscription.regex, draft.subscription.regex)
        if replaced is not None:
            turn.records += records.replacement_records(
                group.group_id, replaced, member, group.targets.get(replaced.member_id)
            )
        wants_more = self._subscribe(draft, turn)
        self._bump(draft, presence, wants_more, turn)
        self._assign(draft, turn)
        self._step(draft, presence, reported_partitions(request), turn)
        presence.touch(member.member_id, self._settings.session_timeout_ms(group.group_id), turn)
        return self._response(draft, request)

    def _subscribe(self, draft: Draft, turn: Turn) -> bool:
        """Note what the member wants; whether the group as a whole wants something else now."""
        group, old, new = draft.group, draft.member.subscription, draft.subscription
        group_id, member_id = group.group_id, draft.member.member_id
        if new != old or not draft.before:
            turn.records.append(records.subscription_record(group_id, member_id, new))
        names_changed = new.topics != old.topics
        regex_changed = new.regex != old.regex
        draft.subscription_changed = names_changed or regex_changed
        if regex_changed:
            turn.records += [
                records.regex_tombstone(group_id, regex)
                for regex in group.orphaned_regexes(draft.before, (new,))
            ]
        is_known = not new.regex or new.regex in group.regexes
        self._resolutions.consider(group, new.regex if regex_changed else "", turn)
        return names_changed or (regex_changed and is_known)

    def _bump(self, draft: Draft, presence: Presence, wants_more: bool, turn: Turn) -> None:
        """A new group epoch, where something is wanted or the topics are others than it says."""
        group = draft.group
        if draft.subscription_changed or not draft.before:
            draft.metadata_hash = self._topics.hash_of(
                group.topics_after(draft.before, (draft.subscription,))
            )
        else:
            draft.metadata_hash = self.hash_of(group, presence)
        if wants_more or draft.metadata_hash != group.metadata_hash:
            draft.epoch = group.epoch + 1
            reason = "members want something else" if wants_more else "topics have changed"
            turn.records += new_epoch(group, draft.metadata_hash, reason)

    def hash_of(self, group: ConsumerGroup, presence: Presence) -> int:
        """The hash of the topics as they are."""
        versions = self._topics.version, group.subscriptions_version
        metadata_hash = presence.known_hash(versions)
        if metadata_hash is None:
            metadata_hash = self._topics.hash_of(group.topics_after((), ()))
            presence.note_hash(versions, metadata_hash)
        return metadata_hash

    def _assign(self, draft: Draft, turn: Turn) -> None:
        """New targets for all, where the epoch is new and the last ones are old enough."""
        group = draft.group
        if draft.epoch <= group.assignment_epoch or not self._may_assign(group, turn.now_ms):
            return
        member = draft.member._replace(subscription=draft.subscription)
        new = targets(group, member, draft.replaced, self._topics, self._settings.assignors)
        for member_id, target in new.items():
            last: Target | None = group.targets.get(member_id)
            if member_id == member.member_id and draft.replaced is not None:
                last = draft.target
            if target != last:
                turn.records.append(records.target_record(group.group_id, member_id, target))
        turn.records.append(
            records.assignment_epoch_record(group.group_id, draft.epoch, turn.now_ms)
        )
        draft.assignment_epoch = draft.epoch
        draft.target = new[member.member_id]

    def _may_assign(self, group: ConsumerGroup, now_ms: int) -> bool:
        interval_ms = self._settings.assignment_interval_ms(group.group_id)
        # A clock that was set back must not keep the group from ever being balanced again.
        is_recent = 0 <= now_ms - group.assigned_ms < interval_ms
        return not (group.assigned_ms and is_recent)

    def _step(self, draft: Draft, presence: Presence, reported: Report | None, turn: Turn) -> None:
        """Have this member come closer to its target."""
        current = draft.current
        if (
            not draft.subscription_changed
            and current.state is MemberState.STABLE
            and current.epoch == draft.assignment_epoch
        ):
            return
        group, member_id = draft.group, draft.member.member_id
        mine = {None, member_id, member_id if draft.replaced is None else draft.replaced.member_id}

        def is_free(topic: TopicId, partition: int) -> bool:
            return group.owner(topic, partition) in mine

        course = Course(
            draft.target,
            draft.assignment_epoch,
            frozenset(self._topics.ids(group.topics_of(draft.subscription))),
            is_free,
            reported,
            draft.subscription_changed,
        )
        draft.current = reconciled(current, course)
        if draft.current == current:
            return
        turn.records.append(records.current_record(group.group_id, member_id, draft.current))
        if draft.current.state is MemberState.UNREVOKED_PARTITIONS:
            timeout_ms = draft.subscription.rebalance_timeout_ms
            presence.await_revocation(member_id, draft.current.epoch, timeout_ms, turn)
        else:
            presence.revoked(member_id, turn)

    def _response(
        self, draft: Draft, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerGroupHeartbeatResponse:
        response = ConsumerGroupHeartbeatResponse(
            member_id=draft.member.member_id,
            member_epoch=draft.current.epoch,
            heartbeat_interval_ms=self._settings.heartbeat_interval_ms(draft.group.group_id),
        )
        if (
            request.member_epoch == JOIN_EPOCH
            or _is_full(request)
            or draft.current.assigned != draft.member.current.assigned
        ):
            response.assignment = _told(draft.current)
        return response


def new_epoch(group: ConsumerGroup, metadata_hash: int, reason: str) -> list[CoordinatorRecord]:
    """The group has a new epoch; what an older broker noted of its topics goes with the first."""
    epoch = group.epoch + 1
    _logger.info("Bumped group epoch of %s to %d (reason: %s)", group.group_id, epoch, reason)
    written = [records.epoch_record(group.group_id, epoch, metadata_hash)]
    if group.has_partition_metadata:
        written.append(records.partition_metadata_tombstone(group.group_id))
    return written


def _updated(
    known: Subscription, request: ConsumerGroupHeartbeatRequest, caller: Caller
) -> Subscription:
    """What the member wants now: null, or -1, is as before."""
    names, regex, rebalance_ms = (
        request.subscribed_topic_names,
        request.subscribed_topic_regex,
        request.rebalance_timeout_ms,
    )
    return Subscription(
        known.instance_id if request.instance_id is None else request.instance_id,
        known.rack_id if request.rack_id is None else request.rack_id,
        caller.client_id,
        caller.client_host,
        known.topics if names is None else tuple(sorted(set(names))),
        known.regex if regex is None else regex,
        known.rebalance_timeout_ms if rebalance_ms < 0 else rebalance_ms,
        known.assignor if request.server_assignor is None else request.server_assignor,
    )


def _is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether the client says everything, as it does after an error: it is told everything."""
    return (
        request.rebalance_timeout_ms >= 0
        and request.topic_partitions is not None
        and (
            request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        )
    )


def _told(current: Current) -> Assignment:
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic, partitions=sorted(partitions))
            for topic, partitions in sorted(current.assigned.items())
        ]
    )
