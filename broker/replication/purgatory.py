"""Operations that wait for a partition to change or for their time to run out.

The order is Kafka's (DelayedOperationPurgatory): the caller tries, then the operation is registered
under every partition it waits on, tried again, and only then is its timer armed. Invariants: an
operation completes exactly once, whichever of wake-up, timer and cancellation comes first; a
completed one is registered nowhere; wake-ups come from the queued-change drain and from nowhere
else, so an operation never completes inside the change that satisfied it.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Protocol

from protocol.model import TopicPartition

_log = logging.getLogger(__name__)


class Cancellable(Protocol):
    """A timer that was armed and may be disarmed."""

    def cancel(self) -> object:
        """Let the timer not fire any more."""


class DelayedOperation:
    """One answer that has to wait. Subclasses say when it is due and what completing it does."""

    __slots__ = ("completed", "keys", "purgatory", "timer")

    def __init__(self) -> None:
        self.completed = False
        self.keys: tuple[TopicPartition, ...] = ()
        self.timer: Cancellable | None = None
        self.purgatory: Purgatory | None = None

    def is_due(self, key: TopicPartition | None) -> bool:
        """Tell whether the operation can complete now; `key` is the one partition that changed."""
        raise NotImplementedError

    def on_complete(self) -> None:
        """Answer. Called once."""
        raise NotImplementedError

    def on_expiration(self) -> None:
        """Note that time ran out; `on_complete` follows."""

    def on_failure(self, error: Exception) -> None:
        """Give up the answer: `is_due` or `on_complete` raised, which is a bug already logged."""

    def cancel(self) -> None:
        """Forget the operation without an answer, because nobody waits for it any more."""
        self._finish()

    def complete(self) -> bool:
        """Complete unless that has happened; tells whether it was this call that did it."""
        if not self._finish():
            return False
        try:
            self.on_complete()
        except Exception as error:
            _log.exception("completing %s failed", type(self).__name__)
            self.on_failure(error)
        return True

    def expire(self) -> None:
        """Complete because time ran out, unless it has completed."""
        if self.completed:
            return
        self.on_expiration()
        if self.complete() and self.purgatory is not None:
            self.purgatory.expired_total += 1

    def _finish(self) -> bool:
        if self.completed:
            return False
        self.completed = True
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        if self.purgatory is not None:
            self.purgatory.forget(self)
        return True


class Purgatory:
    """The waiting operations of one kind, found by the partitions they wait on.

    `after(delay_ms, callback)` arms a timer and returns what cancels it.
    """

    __slots__ = ("_after", "_watchers", "expired_total", "name", "size")

    def __init__(self, name: str, after: Callable[[int, Callable[[], None]], Cancellable]) -> None:
        self.name = name
        self.size = 0
        self.expired_total = 0
        self._after = after
        # Insertion-ordered sets: the longest waiting is tried first and removal costs nothing.
        self._watchers: dict[TopicPartition, dict[DelayedOperation, None]] = {}

    def watch(
        self, operation: DelayedOperation, keys: Iterable[TopicPartition], timeout_ms: int
    ) -> bool:
        """Register an operation its caller has just tried; tells whether it completed at once."""
        operation.keys = tuple(dict.fromkeys(keys))
        operation.purgatory = self
        watchers = self._watchers
        for key in operation.keys:
            watching = watchers.get(key)
            if watching is None:
                watching = watchers[key] = {}
            watching[operation] = None
        self.size += 1
        if self._try(operation, None):
            return True
        if not operation.completed:
            operation.timer = self._after(timeout_ms, operation.expire)
        return operation.completed

    def wake(self, key: TopicPartition) -> int:
        """Complete what waits on this partition and is due now; returns how many did."""
        watching = self._watchers.get(key)
        if watching is None:
            return 0
        completed = 0
        for operation in list(watching):
            completed += self._try(operation, key)
        return completed

    def watched(self, key: TopicPartition) -> int:
        """How many operations wait on this partition."""
        return len(self._watchers.get(key, ()))

    def forget(self, operation: DelayedOperation) -> None:
        """Remove a completed operation from under all its partitions."""
        self.size -= 1
        watchers = self._watchers
        for key in operation.keys:
            watching = watchers.get(key)
            if watching is not None and watching.pop(operation, operation) is None and not watching:
                del watchers[key]

    def close(self) -> None:
        """Complete everything that waits, as if its time had run out: the broker is going down."""
        for watching in list(self._watchers.values()):
            for operation in list(watching):
                operation.expire()

    def _try(self, operation: DelayedOperation, key: TopicPartition | None) -> bool:
        if operation.completed:
            return False
        try:
            due = operation.is_due(key)
        except Exception as error:
            _log.exception("trying %s failed", type(operation).__name__)
            operation.cancel()
            operation.on_failure(error)
            return False
        return due and operation.complete()
