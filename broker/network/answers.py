"""What the network and the dispatcher say to each other about one frame.

The network hands a frame to a `FrameHandler` together with an `Answers` to put the answer in; the
answers of all frames of one turn leave together in one system call. An answer that comes later
is a `PendingAnswer`.

    handler.dispatch(frame, peer, received_at, answers)
        → ANSWERED        the answer is in `answers`, or there is none to send
        → CLOSE           the connection ends
        → PendingAnswer   `attach` to it and wait
"""

import enum
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter
from struct import Struct
from typing import Protocol

from broker.context import Peer
from broker.network.transmission import Part, read_whole, release_slices, worth_reading
from broker.request_metrics import RequestMetrics, Times

_SIZE = Struct(">i")
_METRICS = itemgetter(0)

LedgerEntry = tuple[RequestMetrics, Times]
"""One answered request: its metrics, and its times up to when the answer was complete."""


class Outcome(enum.Enum):
    """What became of a frame at once."""

    ANSWERED = "answered"
    CLOSE = "close"


ANSWERED = Outcome.ANSWERED
CLOSE = Outcome.CLOSE


class Answers:
    """Answers waiting to be sent together, and the ledger to settle when they are."""

    __slots__ = ("has_slices", "ledger", "nbytes", "parts")

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.ledger: list[LedgerEntry] = []
        self.nbytes = 0
        self.has_slices = False

    def add(self, parts: Sequence[Part]) -> int:
        """Put one answer in, its size before it; returns the bytes it takes.

        Raises BrokenAnswer, with every slice released, when a small slice is not all there.
        """
        first = parts[0]
        if len(parts) == 1 and isinstance(first, bytes):
            size = len(first)
            self.parts.append(_SIZE.pack(size) + first)
        else:
            size = self._add_mixed(parts)
        self.nbytes += size + 4
        return size + 4

    def clear(self) -> None:
        """Empty again, for the next turn; what was taken out is the taker's."""
        self.parts = []
        self.ledger = []
        self.nbytes = 0
        self.has_slices = False

    def discard(self) -> None:
        """Release what will never be sent."""
        release_slices(self.parts)
        self.clear()

    def _add_mixed(self, parts: Sequence[Part]) -> int:
        size = 0
        position = len(self.parts)
        self.parts.append(b"")  # the size, known at the end
        for index, part in enumerate(parts):
            if isinstance(part, (bytes, bytearray, memoryview)):
                size += len(part)
                self.parts.append(part)
                continue
            size += part.nbytes
            if not worth_reading(part):
                self.has_slices = True
                self.parts.append(part)
                continue
            try:
                self.parts.append(read_whole(part))
            except BaseException:
                release_slices(parts[index + 1 :])
                raise
        self.parts[position] = _SIZE.pack(size)
        return size


def settle(ledger: Sequence[LedgerEntry], sent_at: float) -> None:
    """Tell the metrics of each request how long it took; neighbours of one API together."""
    for metrics, entries in groupby(ledger, _METRICS):
        metrics.observe([times for _, times in entries], sent_at)


class PendingAnswer(Protocol):
    """An answer that comes later."""

    def attach(self, deliver: Callable[[Answers | None], None]) -> None:
        """Have it told to `deliver`, not before this returns: the answer, or None to close."""

    def abandon(self) -> None:
        """The connection is gone; `deliver` may still be called, and discards."""


class FrameHandler(Protocol):
    """Answers frames."""

    def dispatch(
        self, frame: memoryview, peer: Peer, received_at: float, answers: Answers
    ) -> "Outcome | PendingAnswer":
        """Handle one frame; `received_at` is when its turn began (monotonic seconds)."""
