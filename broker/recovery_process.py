"""Recoveries in a process of their own: both ends of it. Imported by starts that need one.

parent   RecoveryProcess.load(tasks)   orders ──>   child   load_all(orders)
         task.take(outcome)           <── outcomes, and now and then how much was read
"""

from collections.abc import Callable, Sequence
from typing import Final

from runtime.disk import OsDisk
from runtime.helper_process import HelperDied, HelperProcess, report
from storage.load_orders import LoadOrder, LoadOutcome, execute
from storage.log_loading import LoadTask
from storage.segment.recovery import Watch

REPORT_BYTES: Final = 8 << 20
"""How often the child tells how far it is."""


class RecoveryProcess:
    """A helper process that loads logs, for one worker thread."""

    __slots__ = ("_helper",)

    def __init__(self, watch: Watch) -> None:
        """`watch` is told of bytes read, in the thread that loads."""
        self._helper = HelperProcess("log-recovery", on_report=watch)

    def load(self, tasks: Sequence[LoadTask]) -> bool:
        """Whether these were loaded; False if no process began, or it died, or was closed."""
        try:
            outcomes = self._helper.call(load_all, [task.order() for task in tasks])
        except (HelperDied, OSError):
            return False
        for task, outcome in zip(tasks, outcomes, strict=True):
            task.take(outcome)
        return True

    def close(self) -> None:
        """End the process, in the middle of a loading if need be; from any thread."""
        self._helper.close()


def load_all(orders: Sequence[LoadOrder]) -> list[LoadOutcome]:
    """Load logs, in the child."""
    disk, watch = OsDisk(), in_larger_pieces(report)
    return [execute(order, disk, watch) for order in orders]


def in_larger_pieces(tell: Watch) -> Callable[[int], None]:
    """A watch that tells of every few megabytes."""
    untold = 0

    def watch(nbytes: int) -> None:
        nonlocal untold
        untold += nbytes
        if untold >= REPORT_BYTES:
            tell(untold)
            untold = 0

    return watch
