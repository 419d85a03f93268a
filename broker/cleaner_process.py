"""Cleanings run in helper processes, one for each cleaner thread that Kafka would have.

The loop's process only waits, in a worker thread without the GIL; reading, hashing, compressing and
writing happen in the child, at a lower priority. A process is started by its slot's first cleaning
and ended when nothing was cleaned for a while, so that a broker without compacted topics has none.
Killed at any moment it leaves files that end in `.cleaned`, and nothing else.
"""

from collections.abc import Callable
from typing import Final

from runtime.disk import OsDisk
from runtime.helper_process import HelperDied, HelperProcess
from storage.cleaner.cleaning import Cleaning
from storage.cleaner.order import CleaningInterrupted, CleaningOrder, Progress

NICE: Final = 10


class _Current:
    """What the child keeps between calls."""

    cleaning: Cleaning | None = None


def begin(order: CleaningOrder, most_bytes: int) -> Progress:
    """In the child: the first step of a cleaning."""
    forget()
    _Current.cleaning = Cleaning(OsDisk(), order)
    return _Current.cleaning.advance(most_bytes)


def advance(most_bytes: int) -> Progress:
    """In the child: the next step; CleaningInterrupted in a child that was started since."""
    if _Current.cleaning is None:
        raise CleaningInterrupted
    return _Current.cleaning.advance(most_bytes)


def forget() -> None:
    """In the child: give the cleaning up, and its memory back."""
    cleaning, _Current.cleaning = _Current.cleaning, None
    if cleaning is not None:
        cleaning.close()


class CleanerProcesses:
    """The CleaningRunner of a broker."""

    __slots__ = ("_closed", "_processes")

    def __init__(self) -> None:
        """Nothing is started yet."""
        self._processes: dict[int, HelperProcess] = {}
        self._closed = False

    def begin(self, slot: int, order: CleaningOrder, most_bytes: int) -> Progress:
        """The first step, in the slot's process."""
        return self._call(slot, begin, order, most_bytes)

    def advance(self, slot: int, most_bytes: int) -> Progress:
        """The next step."""
        return self._call(slot, advance, most_bytes)

    def forget(self, slot: int) -> None:
        """The process is ended with all it has in memory; the next cleaning starts another."""
        process = self._processes.pop(slot, None)
        if process is not None:
            process.close()

    def close(self) -> None:
        """End every process, in the middle of what it does."""
        self._closed = True
        for process in list(self._processes.values()):
            process.close()

    def _call(self, slot: int, function: Callable[..., Progress], *arguments: object) -> Progress:
        process = self._processes.get(slot)
        if process is None:
            process = self._processes[slot] = HelperProcess(f"cleaner-{slot}", nice=NICE)
        if self._closed:
            process.close()
        try:
            return process.call(function, *arguments)
        except HelperDied as error:
            raise CleaningInterrupted from error
