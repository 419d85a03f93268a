"""How a member of a consumer group comes from what it has to what it is to have (KIP-848).

```text
keep = assigned ∩ target     revoke = assigned − keep     want = target − keep, free ones of it

           revoke, not let go yet                        all let go
 STABLE ─────────────────────────> UNREVOKED ───────────────────────────┐
    ^  epoch stays, timer runs       ^    │ newer target takes more      │
    │                                └────┘                              v
    │  nothing to revoke: epoch := the target's, assigned := keep + want │
    ├────────────────────────────────────────────────────────────────────┤
    └──────────── all of want free ────────── UNRELEASED <───────────────┘ others still have some
```
The epoch moves only when nothing is left to be given up, so that an owner with the old epoch can
never meet one with the new. A report of what the client has acknowledges; no report does not.
Source: CurrentAssignmentBuilder (4.3).
"""

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from broker.coordinator.group.consumer_group import Current, MemberState, Owned, Target
from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicId

Report = Mapping[TopicId, Collection[int]]


class Course(NamedTuple):
    """Where a member is to come, and what is known of its surroundings.

    `topics` are those it subscribes to, `reported` what its client says it has (None: nothing
    said), `is_free` tells of a partition that nobody else has it.
    """

    target: Target
    epoch: int
    topics: Collection[TopicId]
    is_free: Callable[[TopicId, int], bool]
    reported: Report | None
    subscription_changed: bool = False


def reconciled(current: Current, course: Course) -> Current:
    """The member's next step; the same object where there is none. KafkaError fences it."""
    state = current.state
    if state is MemberState.STABLE and current.epoch == course.epoch:
        return _without_unsubscribed(current, course) if course.subscription_changed else current
    if state is MemberState.UNREVOKED_PARTITIONS and _has_some(course.reported, current.revoking):
        return _without_unsubscribed(current, course) if course.subscription_changed else current
    if state is MemberState.UNKNOWN and course.reported != {}:
        raise KafkaError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            "The consumer group member is in a unknown state. "
            "The member must abandon all its partitions and rejoin.",
        )
    return _next(current, course)


def _next(current: Current, course: Course) -> Current:
    keep: dict[TopicId, dict[int, int]] = {}
    revoke: dict[TopicId, dict[int, int]] = {}
    target = {
        topic: partitions for topic, partitions in course.target.items() if topic in course.topics
    }
    for topic, partitions in current.assigned.items():
        wanted = target.get(topic, ())
        for partition, epoch in partitions.items():
            side = keep if partition in wanted else revoke
            side.setdefault(topic, {})[partition] = epoch
    if revoke and _has_some(course.reported, revoke):
        state = MemberState.UNREVOKED_PARTITIONS
        return Current(current.epoch, current.epoch, state, keep, revoke)
    state = MemberState.STABLE
    for topic, wanted in target.items():
        kept = keep.get(topic, {})
        for partition in sorted(wanted):
            if partition in kept:
                continue
            if course.is_free(topic, partition):
                keep.setdefault(topic, {})[partition] = course.epoch
            else:
                state = MemberState.UNRELEASED_PARTITIONS
    return Current(course.epoch, current.epoch, state, keep, {})


def _without_unsubscribed(current: Current, course: Course) -> Current:
    """Give up topics not wanted any more, without waiting for a new target."""
    dropped = {
        topic: partitions
        for topic, partitions in current.assigned.items()
        if topic not in course.topics
    }
    if not dropped:
        return current
    assigned = {
        topic: partitions for topic, partitions in current.assigned.items() if topic not in dropped
    }
    revoking: dict[TopicId, Mapping[int, int]] = dict(current.revoking)
    for topic, partitions in dropped.items():
        revoking[topic] = {**revoking.get(topic, {}), **partitions}
    if _has_some(course.reported, revoking):
        state = MemberState.UNREVOKED_PARTITIONS
        return Current(current.epoch, current.epoch, state, assigned, revoking)
    return current._replace(previous_epoch=current.epoch, assigned=assigned)


def _has_some(reported: Report | None, owned: Owned) -> bool:
    """Whether the client may still use some of these; it may while it says nothing."""
    if reported is None:
        return True
    return any(
        partition in owned.get(topic, {})
        for topic, partitions in reported.items()
        for partition in partitions
    )
