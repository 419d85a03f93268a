"""Sessions and times to let go: which timers are set, and what they mean when they fire."""

from broker.coordinator.group.consumer_presence import (
    CONSUMER_REBALANCE,
    CONSUMER_SESSION,
    Presence,
)
from broker.coordinator.group.turn import TimerKey, Turn
from broker.coordinator.shard import CoordinatorRecord

KEY = TimerKey(CONSUMER_SESSION, "g", "A")


def test_only_the_first_sign_of_life_sets_a_timer() -> None:
    presence, first, second = Presence("g"), Turn(1000), Turn(1500)
    presence.touch("A", 100, first)
    presence.touch("A", 100, second)
    assert first.timers == {KEY: 1100}
    assert second.timers == {}


def test_a_timer_that_fires_early_is_set_to_where_the_session_ends() -> None:
    presence, early = Presence("g"), Turn(1100)
    presence.touch("A", 100, Turn(1000))
    presence.touch("A", 100, Turn(1050))
    assert not presence.is_silent("A", early)
    assert early.timers == {KEY: 1150}
    assert presence.is_silent("A", Turn(1150))


def test_a_shorter_session_sets_an_earlier_timer() -> None:
    presence, shorter = Presence("g"), Turn(1001)
    presence.touch("A", 100, Turn(1000))
    presence.touch("A", 50, shorter)
    assert shorter.timers == {KEY: 1051}


def test_with_records_the_timer_is_set_anew_as_the_last_one_may_have_been_refused() -> None:
    presence, again = Presence("g"), Turn(1001)
    presence.touch("A", 100, Turn(1000))
    again.records.append(CoordinatorRecord(b"", None))
    presence.touch("A", 100, again)
    assert again.timers == {KEY: 1101}


def test_a_member_is_stuck_while_it_is_in_the_epoch_it_was_to_leave() -> None:
    presence, turn = Presence("g"), Turn(0)
    key = TimerKey(CONSUMER_REBALANCE, "g", "A")
    presence.await_revocation("A", 4, 50, turn)
    assert turn.timers == {key: 50}
    assert presence.is_stuck("A", 4)
    assert not presence.is_stuck("A", 5)
    presence.revoked("A", turn)
    assert turn.timers == {key: None}
    assert not presence.is_stuck("A", 4)


def test_who_leaves_has_no_timers() -> None:
    presence, turn = Presence("g"), Turn(0)
    presence.touch("A", 100, turn)
    presence.forget("A", turn)
    presence.gone("A")
    assert turn.timers == {KEY: None, TimerKey(CONSUMER_REBALANCE, "g", "A"): None}
    assert presence.is_silent("A", Turn(1))


def test_a_hash_is_known_while_nothing_has_changed() -> None:
    presence = Presence("g")
    presence.note_hash((1, 2), 77)
    assert presence.known_hash((1, 2)) == 77
    assert presence.known_hash((1, 3)) is None
