"""A classic group as it lives: members, votes and state.

```text
           join                     all joined            leader's assignment
  Empty ─────────> Preparing ─────────────────> Completing ─────────────────> Stable
    ^               Rebalance <───────────────── Rebalance                       │
    │                │   ^        join, leave                                    │
    └── nobody left ─┘   └────────────────── join, leave, silence ───────────────┘
```
Dead is what a group is called that does not exist. The object changes under commands; what of it
outlasts this process is the record written when a generation is settled (`classic_records`).
Counters make every step of a join cost the same however many have joined.
Source: ClassicGroup, ClassicGroupMember (4.3), KIP-345, KIP-394.
"""

import enum
from collections import Counter
from collections.abc import Iterable
from typing import Final

from broker.coordinator.shard import Waiter
from protocol.consumer_protocol import decode_subscription
from protocol.errors import ErrorCode, KafkaError, MalformedFrame

CONSUMER: Final = "consumer"
"""The protocol type whose metadata tells subscribed topics."""

Protocols = tuple[tuple[str, bytes], ...]
"""(name, metadata) of the ways to assign that a member can do, the one it likes best first."""


class GroupState(enum.Enum):
    """Where a group is, by Kafka's names."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


_MAY_FOLLOW: Final = {
    GroupState.EMPTY: {GroupState.PREPARING_REBALANCE},
    GroupState.PREPARING_REBALANCE: {
        GroupState.STABLE,
        GroupState.COMPLETING_REBALANCE,
        GroupState.EMPTY,
    },
    GroupState.COMPLETING_REBALANCE: {GroupState.PREPARING_REBALANCE},
    GroupState.STABLE: {GroupState.COMPLETING_REBALANCE},
}


class ClassicMember:
    """One member. `joining` and `syncing` are who waits for its JoinGroup and SyncGroup.

    `session_ends_ms` moves with every sign of life; the timer is only looked at when it fires.
    """

    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "instance_id",
        "is_new",
        "joining",
        "member_id",
        "protocols",
        "rebalance_timeout_ms",
        "session_ends_ms",
        "session_timeout_ms",
        "syncing",
        "timer_ms",
    )

    def __init__(
        self,
        member_id: str,
        instance_id: str | None,
        client: tuple[str, str],
        timeouts_ms: tuple[int, int],
        protocols: Protocols,
        assignment: bytes = b"",
    ) -> None:
        """`client`: id and host; `timeouts_ms`: session and rebalance."""
        self.member_id = member_id
        self.instance_id = instance_id
        self.client_id, self.client_host = client
        self.session_timeout_ms, self.rebalance_timeout_ms = timeouts_ms
        self.protocols = protocols
        self.assignment = assignment
        self.joining: Waiter | None = None
        self.syncing: Waiter | None = None
        self.is_new = False
        self.session_ends_ms = 0
        self.timer_ms: int | None = None

    def metadata(self, protocol: str | None) -> bytes:
        """What the member said for a protocol; nothing for one it does not know."""
        return next((data for name, data in self.protocols if name == protocol), b"")

    def vote(self, candidates: Iterable[str]) -> str:
        """The candidate it likes best; it knows all of them."""
        return next(name for name, _ in self.protocols if name in candidates)

    @property
    def is_waiting(self) -> bool:
        """In a rebalance, so that silence is no sign of death; a new member's is, in the end."""
        return not self.is_new and (self.joining is not None or self.syncing is not None)


class ClassicGroup:
    """See the module. `state_since_ms` is None for groups written before Kafka 2.1."""

    def __init__(self, group_id: str, now_ms: int | None) -> None:
        self.group_id = group_id
        self.state = GroupState.EMPTY
        self.previous_state = GroupState.EMPTY
        self.state_since_ms = now_ms
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader: str | None = None
        self.members: dict[str, ClassicMember] = {}
        self.static_members: dict[str, str] = {}
        self.pending_joins: set[str] = set()
        """Ids given out to members that have not come back with them."""
        self.pending_syncs: set[str] = set()
        self.joining_count = 0
        self.new_member_added = False
        self._subscribed: frozenset[str] | None = frozenset()
        self._supporters: Counter[str] = Counter()

    # States.

    def become(self, state: GroupState, now_ms: int) -> None:
        """Move on, along the lines of the picture."""
        assert self.state in _MAY_FOLLOW[state], f"{self.state} -> {state}"
        self.previous_state, self.state = self.state, state
        self.state_since_ms = now_ms

    @property
    def can_rebalance(self) -> bool:
        """Not in the midst of gathering members already."""
        return self.state in _MAY_FOLLOW[GroupState.PREPARING_REBALANCE]

    @property
    def all_joined(self) -> bool:
        """Nobody is missing, nor expected."""
        return self.joining_count == len(self.members) and not self.pending_joins

    def next_generation(self, now_ms: int) -> None:
        """Who has joined is the next generation."""
        self.generation += 1
        self.pending_syncs.clear()
        if self.members:
            self.protocol_name = self.select_protocol()
            self.become(GroupState.COMPLETING_REBALANCE, now_ms)
        else:
            self.protocol_name = None
            self.become(GroupState.EMPTY, now_ms)
        self.note_subscriptions()

    # Members.

    def add(self, member: ClassicMember, joining: Waiter | None = None) -> None:
        """Take in a member; the first decides the protocol type and leads."""
        assert member.member_id not in self.members
        self.members[member.member_id] = member
        self.pending_joins.discard(member.member_id)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        if self.leader is None:
            self.leader = member.member_id
        self._supporters.update(name for name, _ in member.protocols)
        self.wait_for_join(member, joining)

    def wait_for_join(self, member: ClassicMember, joining: Waiter | None) -> None:
        """Somebody waits for the member's join, or nobody any more."""
        self.joining_count += (joining is not None) - (member.joining is not None)
        member.joining = joining

    def update(
        self, member: ClassicMember, protocols: Protocols, timeouts_ms: tuple[int, int]
    ) -> None:
        """What a member says of itself when it joins again."""
        self._supporters.subtract(name for name, _ in member.protocols)
        self._supporters.update(name for name, _ in protocols)
        member.protocols = protocols
        member.session_timeout_ms, member.rebalance_timeout_ms = timeouts_ms

    def remove(self, member_id: str) -> ClassicMember | None:
        """Let a member, or an id that was given out, go; another leads in its place."""
        self.pending_joins.discard(member_id)
        self.pending_syncs.discard(member_id)
        member = self.members.pop(member_id, None)
        if member is None:
            return None
        self._supporters.subtract(name for name, _ in member.protocols)
        self.joining_count -= member.joining is not None
        if member.instance_id is not None:
            self.static_members.pop(member.instance_id, None)
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        return member

    def replace_static(self, old_id: str, new_id: str) -> ClassicMember:
        """The member goes on under another id, in the place it had."""
        member = self.members[old_id]
        assert member.instance_id is not None
        self.members = {
            new_id if member_id == old_id else member_id: one
            for member_id, one in self.members.items()
        }
        member.member_id = new_id
        member.timer_ms = None
        self.static_members[member.instance_id] = new_id
        self.pending_syncs.discard(old_id)
        if self.leader == old_id:
            self.leader = new_id
        return member

    def elect_leader(self) -> bool:
        """Have a leader that has joined, if anybody has."""
        leader = self.members.get(self.leader or "")
        if leader is not None and leader.joining is None:
            leader = next((one for one in self.members.values() if one.joining), None)
            self.leader = self.leader if leader is None else leader.member_id
        return leader is not None

    def check_member(self, member_id: str, instance_id: str | None) -> ClassicMember:
        """The member of this id; UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID when it was replaced."""
        if instance_id is not None:
            owner = self.static_members.get(instance_id)
            if owner is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            if owner != member_id:
                raise KafkaError(ErrorCode.FENCED_INSTANCE_ID)
        member = self.members.get(member_id)
        if member is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        return member

    @property
    def rebalance_timeout_ms(self) -> int:
        """As long as the most patient member would wait."""
        return max((one.rebalance_timeout_ms for one in self.members.values()), default=0)

    # Protocols.

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        """Whether a member that speaks these could be one of the group."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type and protocols)
        everybody = len(self.members)
        return protocol_type == self.protocol_type and any(
            self._supporters[name] == everybody for name, _ in protocols
        )

    def select_protocol(self) -> str:
        """Of those all members know, the one most of them like best."""
        everybody = len(self.members)
        candidates = {name for name, count in self._supporters.items() if count == everybody}
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return votes.most_common(1)[0][0]

    def note_subscriptions(self) -> None:
        """Work out, once a generation, to which topics the members subscribe."""
        self._subscribed = None
        if self.protocol_type == CONSUMER:
            topics: set[str] = set()
            try:
                for member in self.members.values():
                    topics.update(decode_subscription(member.metadata(self.protocol_name)).topics)
            except MalformedFrame:
                return
            self._subscribed = frozenset(topics)

    @property
    def knows_subscriptions(self) -> bool:
        """Whether the members' metadata tells topics at all."""
        return self._subscribed is not None

    def is_subscribed(self, topic: str) -> bool:
        """Whether a member wants the topic; True where a consumer's metadata cannot be read."""
        if self._subscribed is None:
            return self.protocol_type == CONSUMER
        return topic in self._subscribed
