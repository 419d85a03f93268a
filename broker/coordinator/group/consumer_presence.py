"""Who of a consumer group is heard of, and for how long silence is borne: what no record tells of.

A session's end moves with every sign of life; its timer is looked at when it fires, and set anew
where a command writes records, since such a command may be refused and with it its timers. After a
restart everybody has a fresh session. Source: GroupMetadataManager.scheduleConsumerGroup…Timeout.
"""

from typing import Final

from broker.coordinator.group.turn import TimerKey, Turn

CONSUMER_SESSION: Final = "consumer session"
CONSUMER_REBALANCE: Final = "consumer rebalance"
CONSUMER_REGEX: Final = "consumer regex"
CONSUMER_TIMERS: Final = frozenset({CONSUMER_SESSION, CONSUMER_REBALANCE, CONSUMER_REGEX})


class Presence:
    """The sessions of one group, its members that have to let go of something, and its hash."""

    __slots__ = ("_armed_ms", "_ends_ms", "_hash", "_hash_of", "_revoking_at", "group_id")

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self._ends_ms: dict[str, int] = {}
        self._armed_ms: dict[str, int] = {}
        self._revoking_at: dict[str, int] = {}
        self._hash = 0
        self._hash_of: tuple[int, int] | None = None

    def touch(self, member_id: str, timeout_ms: int, turn: Turn) -> None:
        """A sign of life: the session begins anew."""
        ends_ms = turn.now_ms + timeout_ms
        self._ends_ms[member_id] = ends_ms
        if turn.records or self._armed_ms.get(member_id, ends_ms + 1) > ends_ms:
            self._arm(member_id, ends_ms, turn)

    def is_silent(self, member_id: str, turn: Turn) -> bool:
        """At its timer: whether the session has ended; else the timer is set to where it does."""
        ends_ms = self._ends_ms.get(member_id)
        if ends_ms is not None and ends_ms > turn.now_ms:
            self._arm(member_id, ends_ms, turn)
            return False
        return True

    def _arm(self, member_id: str, ends_ms: int, turn: Turn) -> None:
        self._armed_ms[member_id] = ends_ms
        turn.timers[TimerKey(CONSUMER_SESSION, self.group_id, member_id)] = ends_ms

    def await_revocation(self, member_id: str, epoch: int, timeout_ms: int, turn: Turn) -> None:
        """A member has to let go of something, in this epoch, within the time."""
        self._revoking_at[member_id] = epoch
        turn.arm(TimerKey(CONSUMER_REBALANCE, self.group_id, member_id), timeout_ms)

    def revoked(self, member_id: str, turn: Turn) -> None:
        """It has."""
        if self._revoking_at.pop(member_id, None) is not None:
            turn.cancel(TimerKey(CONSUMER_REBALANCE, self.group_id, member_id))

    def is_stuck(self, member_id: str, epoch: int) -> bool:
        """At its timer: whether the member is still where it was."""
        return self._revoking_at.get(member_id) == epoch

    def forget(self, member_id: str, turn: Turn) -> None:
        """A member leaves: its timers are of no use."""
        turn.cancel(TimerKey(CONSUMER_SESSION, self.group_id, member_id))
        turn.cancel(TimerKey(CONSUMER_REBALANCE, self.group_id, member_id))

    def gone(self, member_id: str) -> None:
        """A member is no more."""
        for of_members in (self._ends_ms, self._armed_ms, self._revoking_at):
            of_members.pop(member_id, None)

    def known_hash(self, versions: tuple[int, int]) -> int | None:
        """The hash of the group's topics, if it was worked out at these versions."""
        return self._hash if self._hash_of == versions else None

    def note_hash(self, versions: tuple[int, int], metadata_hash: int) -> None:
        """Remember it: nobody works it out again until something changes."""
        self._hash_of, self._hash = versions, metadata_hash
