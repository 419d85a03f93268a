"""One member's steps towards its target, for every state it may be in."""

import pytest

from broker.coordinator.group.consumer_group import Current, MemberState
from broker.coordinator.group.consumer_reconciliation import Course, reconciled
from protocol.errors import ErrorCode, KafkaError

T, U = b"t" * 16, b"u" * 16
STABLE = MemberState.STABLE
UNREVOKED = MemberState.UNREVOKED_PARTITIONS
UNRELEASED = MemberState.UNRELEASED_PARTITIONS


def course(*wanted: int, epoch: int = 5, taken: tuple[int, ...] = (), **fields: object) -> Course:
    defaults: dict[str, object] = {
        "target": {T: set(wanted)} if wanted else {},
        "epoch": epoch,
        "topics": {T, U},
        "is_free": lambda _, partition: partition not in taken,
        "reported": None,
    }
    return Course(**{**defaults, **fields})  # type: ignore[arg-type]


def current(*has: int, epoch: int = 4, revoking: tuple[int, ...] = (), **fields: object) -> Current:
    return Current(
        epoch,
        3,
        fields.pop("state", STABLE),  # type: ignore[arg-type]
        {T: dict.fromkeys(has, epoch)} if has else {},
        {T: dict.fromkeys(revoking, epoch)} if revoking else {},
    )


def test_who_is_where_it_should_be_stays() -> None:
    known = current(1, epoch=5)
    assert reconciled(known, course(1)) is known


def test_more_is_given_in_the_epoch_of_the_target() -> None:
    assert reconciled(current(1), course(1, 2)) == Current(5, 4, STABLE, {T: {1: 4, 2: 5}}, {})


def test_less_is_waited_for_in_the_old_epoch() -> None:
    step = reconciled(current(1, 2), course(1, 3))
    assert step == Current(4, 4, UNREVOKED, {T: {1: 4}}, {T: {2: 4}})
    assert reconciled(step, course(1, 3)) is step
    assert reconciled(step, course(1, 3, reported={T: {1, 2}})) is step
    gone = reconciled(step, course(1, 3, reported={T: {1}}))
    assert gone == Current(5, 4, STABLE, {T: {1: 4, 3: 5}}, {})


def test_who_has_let_go_already_is_not_asked_to() -> None:
    step = reconciled(current(1, 2), course(1, reported={}))
    assert step == Current(5, 4, STABLE, {T: {1: 4}}, {})


def test_who_has_let_go_comes_to_the_newest_target_even_if_that_takes_more() -> None:
    known = current(1, revoking=(2,), state=UNREVOKED)
    step = reconciled(known, course(3, epoch=9, reported={T: {1}}))
    assert step == Current(4, 4, UNREVOKED, {}, {T: {1: 4}})


def test_what_others_have_is_waited_for_in_the_new_epoch() -> None:
    step = reconciled(current(), course(1, 2, taken=(2,)))
    assert step == Current(5, 4, UNRELEASED, {T: {1: 5}}, {})
    again = reconciled(step, course(1, 2, taken=(2,)))
    assert again == step._replace(previous_epoch=5)
    assert reconciled(again, course(1, 2, taken=(2,))) == again
    assert reconciled(again, course(1, 2)) == Current(5, 5, STABLE, {T: {1: 5, 2: 5}}, {})


def test_topics_not_subscribed_to_are_no_target() -> None:
    step = reconciled(current(1), course(1, topics={U}, reported={}))
    assert step == Current(5, 4, STABLE, {}, {})


@pytest.mark.parametrize("state", [STABLE, UNREVOKED])
def test_a_changed_subscription_takes_topics_away_at_once(state: MemberState) -> None:
    known = Current(5, 4, state, {T: {1: 5}, U: {1: 5}}, {U: {2: 4}} if state is UNREVOKED else {})
    step = reconciled(known, course(1, topics={T}, subscription_changed=True))
    assert step.state is UNREVOKED
    assert step.epoch == 5
    assert step.assigned == {T: {1: 5}}
    assert step.revoking == {U: {1: 5, **({2: 4} if state is UNREVOKED else {})}}


def test_topics_let_go_of_with_the_change_are_just_gone() -> None:
    known = Current(5, 4, STABLE, {T: {1: 5}, U: {1: 5}}, {})
    step = reconciled(known, course(1, topics={T}, subscription_changed=True, reported={T: {1}}))
    assert step == Current(5, 5, STABLE, {T: {1: 5}}, {})


def test_a_changed_subscription_that_takes_nothing_away_changes_nothing() -> None:
    known = current(1, epoch=5)
    assert reconciled(known, course(1, subscription_changed=True)) is known


def test_a_state_of_a_newer_broker_begins_from_nothing() -> None:
    known = current(1, state=MemberState.UNKNOWN)
    with pytest.raises(KafkaError) as refused:
        reconciled(known, course(1))
    assert refused.value.code is ErrorCode.FENCED_MEMBER_EPOCH
    assert reconciled(known, course(2, reported={})) == Current(5, 4, STABLE, {T: {2: 5}}, {})
