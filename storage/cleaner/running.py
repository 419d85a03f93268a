"""Who runs the steps of a cleaning, and one cleaning as a chain of works.

```text
  plan (loop)       work (a worker waits)              commit (loop)
  order made   ──▶  runner.begin ──▶ Cleaning ──▶  ┬▶ swap in ─▶ next step, after a wait
               ──▶  runner.advance                 ├▶ the end: first dirty offset moves
                                                   └▶ void, or failed: leftovers removed
```
A step is a few MiB, so that a truncation, a deletion, a move or the end of the process never waits
for more; whatever changed the log meanwhile is met at the commit, by its generation. The waits are
delays of jobs: nothing sleeps, and a broker that stops just plans no next step.
"""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from runtime.disk import Disk
from storage.cleaner.cleaning import Cleaning
from storage.cleaner.order import CleaningInterrupted, CleaningOrder, Progress
from storage.errors import StorageError
from storage.jobs import NO_JOBS, Job
from storage.log.compaction import remove_cleaned

if TYPE_CHECKING:
    from storage.log.partition_log import PartitionLog

logger = logging.getLogger(__name__)


class CleaningRunner(Protocol):
    """Runs cleanings, one in each slot; all but `close` is called from worker threads.

    What a step raises it raises here; CleaningInterrupted if whoever ran it is gone.
    """

    def begin(self, slot: int, order: CleaningOrder, most_bytes: int) -> Progress:
        """The first step of a cleaning; one that was in the slot is given up."""

    def advance(self, slot: int, most_bytes: int) -> Progress:
        """The next step of the slot's cleaning."""

    def forget(self, slot: int) -> None:
        """Give up the slot's cleaning, if there is one."""

    def close(self) -> None:
        """Stop whatever runs, from the loop; no step is begun any more."""


class InLineRunner:
    """Runs steps in the thread that asks: for tests, whose disk is in their process."""

    __slots__ = ("_cleanings", "_disk")

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._cleanings: dict[int, Cleaning] = {}

    def begin(self, slot: int, order: CleaningOrder, most_bytes: int) -> Progress:
        """The first step."""
        self.forget(slot)
        self._cleanings[slot] = Cleaning(self._disk, order)
        return self.advance(slot, most_bytes)

    def advance(self, slot: int, most_bytes: int) -> Progress:
        """The next step."""
        cleaning = self._cleanings.get(slot)
        if cleaning is None:
            raise CleaningInterrupted
        return cleaning.advance(most_bytes)

    def forget(self, slot: int) -> None:
        """Close its files."""
        cleaning = self._cleanings.pop(slot, None)
        if cleaning is not None:
            cleaning.close()

    def close(self) -> None:
        """Close all files."""
        for slot in list(self._cleanings):
            self.forget(slot)


class Owner(Protocol):
    """Who began a cleaning and is told how it goes, on the loop."""

    def step_bytes(self) -> int:
        """How much the next step may move."""

    def stepped(self, round_: "Round", progress: Progress) -> Sequence[Job]:
        """A step is done; what follows."""

    def failed(self, round_: "Round", error: Exception) -> Sequence[Job]:
        """A step failed; what follows. StorageError takes the directory offline."""

    def ended(self, round_: "Round") -> Sequence[Job]:
        """Nothing is left of it on the disk; what follows."""


class Round:
    """One cleaning of one log, from its order to its end."""

    __slots__ = (
        "_owner",
        "_runner",
        "began_ms",
        "generation",
        "log",
        "now_ms",
        "order",
        "renamed",
        "slot",
        "void",
    )

    def __init__(
        self,
        owner: Owner,
        runner: CleaningRunner,
        slot: int,
        log: "PartitionLog",
        order: CleaningOrder,
        now_ms: int,
    ) -> None:
        self._owner = owner
        self._runner = runner
        self.slot = slot
        self.log = log
        self.order = order
        self.generation = log.generation
        self.began_ms = self.now_ms = now_ms
        self.void = False
        self.renamed = False
        """Files were renamed, and their new names not synced yet."""

    @property
    def is_current(self) -> bool:
        """Whether the log still has what the round began with, but for what it swapped itself.

        Retention takes segments without a new generation: the first ones.
        """
        log = self.log
        return (
            not self.void
            and not log.offline
            and log.generation == self.generation
            and log.segments.first.base_offset == self.order.sources[0].base_offset
        )

    def step(self, name: str, delay_ms: int, *, first: bool = False) -> Job:
        """The job of the next step."""

        def plan(now_ms: int) -> Sequence[_Step]:
            self.now_ms = now_ms
            renamed, self.renamed = self.renamed, False
            return (_Step(self, self._owner.step_bytes(), first=first, sync_names=renamed),)

        return Job(name, delay_ms, plan)

    def discard(self, name: str) -> Job:
        """The job that gives the round up and removes what it wrote."""
        return Job(name, 0, lambda _now_ms: (_Discard(self),))

    def run_step(self, most_bytes: int, *, first: bool, sync_names: bool) -> Progress:
        """Sync what the last swap renamed, and do the next step; in a worker."""
        if sync_names:
            self.log.disk.fsync_dir(self.order.directory)
        if first:
            return self._runner.begin(self.slot, self.order, most_bytes)
        return self._runner.advance(self.slot, most_bytes)

    def give_up(self) -> None:
        """Forget the cleaning and remove its files, if they can be; in a worker.

        What stays behind is removed by the next start.
        """
        try:
            self._runner.forget(self.slot)
            if not self.log.offline:
                remove_cleaned(self.log.disk, self.order.directory)
        except (OSError, StorageError, CleaningInterrupted) as error:
            logger.info("%s Left to the next start: %s", self.log.prefix, error)

    def stepped(self, progress: Progress) -> Sequence[Job]:
        """What follows a step."""
        return self._owner.stepped(self, progress)

    def failed(self, error: Exception) -> Sequence[Job]:
        """What follows a step that failed."""
        return self._owner.failed(self, error)

    def given_up(self) -> Sequence[Job]:
        """What follows when the round is over."""
        return self._owner.ended(self)


class _Step:
    """One step: errors are judged at the commit, where it is known whether the log has changed."""

    __slots__ = (
        "_error",
        "_first",
        "_most_bytes",
        "_progress",
        "_round",
        "_sync_names",
        "jobs",
        "log_dir",
    )

    def __init__(self, round_: Round, most_bytes: int, *, first: bool, sync_names: bool) -> None:
        self._round = round_
        self._most_bytes = most_bytes
        self._first = first
        self._sync_names = sync_names
        self._progress: Progress | None = None
        self._error: Exception | None = None
        self.log_dir = round_.log.log_dir
        self.jobs: Sequence[Job] = NO_JOBS

    def work(self) -> None:
        """Do the step, and keep what it raised."""
        try:
            self._progress = self._round.run_step(
                self._most_bytes, first=self._first, sync_names=self._sync_names
            )
        except Exception as error:
            self._error = error

    def commit(self) -> "Sequence[PartitionLog]":
        """Have its outcome put in force, or the round given up."""
        if self._error is not None:
            self.jobs = self._round.failed(self._error)
        else:
            assert self._progress is not None
            self.jobs = self._round.stepped(self._progress)
        return ()


class _Discard:
    __slots__ = ("_round", "jobs", "log_dir")

    def __init__(self, round_: Round) -> None:
        self._round = round_
        self.log_dir = round_.log.log_dir
        self.jobs: Sequence[Job] = NO_JOBS

    def work(self) -> None:
        """Remove what is left."""
        self._round.give_up()

    def commit(self) -> "Sequence[PartitionLog]":
        """The slot is free."""
        self.jobs = self._round.given_up()
        return ()
