"""An outcome in the making: what a command of the group coordinator adds up, step by step."""

from typing import Final, NamedTuple

from broker.coordinator.shard import Outcome, Waiter

SESSION: Final = "session"
JOIN: Final = "join"
SYNC: Final = "sync"


class TimerKey(NamedTuple):
    """Which timer of which group; sessions have one for each member."""

    kind: str
    group: str
    member: str = ""


class Caller(NamedTuple):
    """Who asks, and how: the host is written as Java writes an address."""

    waiter: Waiter
    client_id: str
    client_host: str
    version: int


class Turn(Outcome):
    """One command's outcome, and the time it runs at."""

    __slots__ = ("now_ms",)

    def __init__(self, now_ms: int) -> None:
        super().__init__()
        self.now_ms = now_ms

    def tell(self, waiter: Waiter, reply: object) -> None:
        """Answer somebody once all records are safe."""
        self.answers.append((waiter, reply))

    def arm(self, key: TimerKey, delay_ms: int) -> None:
        """Have a timer fire, in place of an earlier one of that key."""
        self.timers[key] = self.now_ms + delay_ms

    def cancel(self, key: TimerKey) -> None:
        """Have it not fire."""
        self.timers[key] = None
