"""A cap on the memory that requests hold while they arrive and while they are worked on.

Connections report what they hold; bytes that have arrived are always taken. What the cap decides is
whether the buffer of a large frame may grow: a connection that gets no room stops reading and
waits its turn. When every holder waits for room nobody would ever finish, so one connection at a
time may pass the cap. The most ever held is the cap, one frame more, and a turn's bytes a
connection.
"""

from collections import deque
from typing import Protocol


class Holder(Protocol):
    """A connection as the memory sees it."""

    def room_again(self) -> None:
        """Try to go on."""


class RequestMemory:
    """Bytes held by the requests of all connections."""

    __slots__ = ("_capacity", "_passing", "_waiting", "used")

    def __init__(self, capacity: int) -> None:
        assert capacity > 0
        self._capacity = capacity
        self.used = 0
        self._passing: Holder | None = None
        self._waiting: deque[Holder] = deque()

    @property
    def room(self) -> int:
        """Bytes below the cap."""
        return max(self._capacity - self.used, 0)

    @property
    def waiting(self) -> int:
        """Connections that wait for room."""
        return len(self._waiting)

    def room_for(self, holder: Holder) -> int:
        """How much the holder may grow by; 0 means that it now waits for `room_again`."""
        if self.used < self._capacity:
            return self._capacity - self.used
        if self._passing is None or self._passing is holder:
            self._passing = holder
            return self._capacity
        if holder not in self._waiting:
            self._waiting.append(holder)
        return 0

    def is_passing(self, holder: Holder) -> bool:
        """The holder is the one beyond the cap: others wait for it to get on."""
        return self._passing is holder

    def change(self, nbytes: int) -> None:
        """A holder has so many bytes more (or, negative, fewer)."""
        self.used += nbytes
        assert self.used >= 0
        if nbytes < 0 and self._waiting:
            self._wake()

    def finished(self, holder: Holder) -> None:
        """The holder's frame is complete and gone, or the connection is."""
        if self._passing is holder:
            self._passing = None
            self._wake()

    def forget(self, holder: Holder) -> None:
        """The connection is closed: it neither waits nor passes any more."""
        if holder in self._waiting:
            self._waiting.remove(holder)
        self.finished(holder)

    def _wake(self) -> None:
        """Let go on whom there is room for; beyond the cap the first, who passes from now on.

        One who passes and then brings nothing is found by `is_passing`, so nobody waits for ever.
        """
        waiting = self._waiting
        if self.used < self._capacity:
            self._waiting = deque()
            for holder in waiting:
                holder.room_again()
        elif waiting and self._passing is None:
            self._passing = waiting.popleft()
            self._passing.room_again()
