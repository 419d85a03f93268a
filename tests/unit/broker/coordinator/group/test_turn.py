"""An outcome in the making."""

from broker.coordinator.group.turn import SESSION, TimerKey, Turn
from tests.support.group_shard import Answer


def test_a_turn_adds_up() -> None:
    turn = Turn(100)
    answer = Answer("A", [])
    turn.tell(answer, "yes")
    turn.arm(TimerKey(SESSION, "g", "m"), 50)
    turn.arm(TimerKey(SESSION, "g", "n"), 50)
    turn.cancel(TimerKey(SESSION, "g", "n"))
    assert turn.answers == [(answer, "yes")]
    assert turn.timers == {("session", "g", "m"): 150, ("session", "g", "n"): None}
