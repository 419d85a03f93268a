"""One slice of a move as background work: decided on the loop, done by a worker, told on the loop.

    plan_slice()   on the loop: the next step, and the bytes it needs
    work()         BEGIN, CUT or copy; follow the log start; at the end of a move: seal
    commit()       let go of the bytes, and tell the mover what came of it

The copy is the work's alone from plan to commit. The current log is only read, through a slice
that holds its descriptor, so appends, reads and retention of it go on.
"""

from collections.abc import Callable, Sequence
from typing import Final

from storage.future_logs import FutureLog
from storage.jobs import Job
from storage.log.partition_log import PartitionLog
from storage.moving.copying import (
    Chunk,
    Place,
    begin_at,
    chunk_from,
    copy,
    cut_to,
    follow_start,
    needs_roll,
    roll_at,
)
from storage.moving.steps import Action, Step, extent_of, next_step
from storage.moving.swapping import Seal, seal, seal_facts

SPARE_BYTES: Final = 16 << 20
"""A move ends rather than leave less than this free for the logs that are served from there."""


class NoSpace(Exception):
    """The target's disk has no room for the rest of the log; nothing has failed yet."""


class Slice:
    """One slice; `failure` and `sealed` are known after `work()`.

    `disturbed`: the current log was cut where the slice was read, so a failure means nothing.
    """

    __slots__ = (
        "_chunk",
        "_current",
        "_done",
        "_facts",
        "_now_ms",
        "_snapshot_path",
        "copied_bytes",
        "disturbed",
        "failure",
        "future",
        "jobs",
        "log_dir",
        "reaches_end",
        "sealed",
        "step",
        "with_seal",
    )

    def __init__(
        self,
        current: PartitionLog,
        future: FutureLog,
        step: Step,
        chunk: Chunk | None,
        now_ms: int,
        *,
        with_seal: bool,
    ) -> None:
        """See `plan_slice`."""
        self._current = current
        self._chunk = chunk
        self._now_ms = now_ms
        self._facts = seal_facts(current)
        self._done: Callable[[Slice], Sequence[Job]] | None = None
        self._snapshot_path: str | None = None
        if step.action is Action.BEGIN and step.offset in current.producers.snapshot_offsets:
            self._snapshot_path = current.producers.snapshot_path(step.offset)
        self.future = future
        self.step = step
        self.reaches_end = _reaches_end(current, step, chunk)
        self.disturbed = False
        self.with_seal = with_seal
        self.copied_bytes = 0
        self.failure: Exception | None = None
        self.sealed: Seal | None = None
        self.log_dir = future.log.log_dir
        self.jobs: Sequence[Job] = ()

    def on_done(self, done: "Callable[[Slice], Sequence[Job]]") -> None:
        """Who is told, on the loop, that the slice is over; answers the jobs that follow."""
        self._done = done

    def work(self) -> None:
        """Do the slice; whatever goes wrong is kept for the commit."""
        try:
            self._work()
        except Exception as error:
            self.failure = error

    def commit(self) -> Sequence[PartitionLog]:
        """Give the copy back, and tell the mover."""
        self.future.place = None
        if self._chunk is not None:
            self.disturbed = not self._chunk.slice.intact
            if self.failure is None and not self.disturbed:
                self.future.place = self._chunk.after(self.copied_bytes)
        self.give_back()
        assert self._done is not None, self.step
        self.jobs = self._done(self)
        return ()

    def fits_the_loop(self, most_bytes: int) -> bool:
        """Whether this is but an append of few bytes, which the loop may do itself."""
        chunk = self._chunk
        return (
            chunk is not None
            and not self.with_seal
            and chunk.slice.nbytes <= most_bytes
            and not needs_roll(self.future.log, chunk.segment_base_offset)
        )

    def give_back(self) -> None:
        """Let go of what the slice holds, done or not."""
        if self._chunk is not None:
            self._chunk.slice.release()
            self._chunk = None
        self.future.busy = False

    def _work(self) -> None:
        log, now_ms = self.future.log, self._now_ms
        if self.step.action is Action.BEGIN:
            begin_at(log, self.step.offset, self._snapshot(), now_ms)
        elif self.step.action is Action.CUT:
            cut_to(log, self.step.offset, now_ms)
        elif self._chunk is not None:
            self._require_space(self._chunk.slice.nbytes)
            self.copied_bytes = copy(log, self._chunk, now_ms)
        elif self.step.action is Action.COPY:
            # No more batches: what is left is an offset that nothing has, before an empty segment.
            roll_at(log, self.step.offset, now_ms)
        follow_start(log, self._facts.log_start_offset, self._facts.high_watermark)
        if self.with_seal:
            self.sealed = seal(log, self._current, self._facts, now_ms)
        for segment in log.segments[-2:]:
            segment.close_files()

    def _require_space(self, nbytes: int) -> None:
        directory = self.future.directory
        _, usable = directory.usage()
        if 0 <= usable < nbytes + SPARE_BYTES:
            raise NoSpace(
                f"{directory.path} has {usable} bytes left; {SPARE_BYTES} stay free for its logs"
            )

    def _snapshot(self) -> bytes | None:
        """The current log's producers at the offset of BEGIN, if its snapshot is still there."""
        path, disk = self._snapshot_path, self._current.disk
        if path is None or not disk.exists(path):
            return None
        return disk.read_file(path)


def plan_slice(
    current: PartitionLog,
    future: FutureLog,
    max_bytes: int,
    now_ms: int,
    *,
    with_seal: bool = False,
) -> Slice:
    """What to do next for a copy that nobody has in hand.

    StorageError if the log cannot be read, CorruptSource where it is damaged.
    With `with_seal` the slice ends by making all of the copy durable, provided it reaches the end.
    """
    believed = future.believed_end_offset
    future.believed_end_offset = None
    if believed is not None and believed < future.log.log_end_offset:
        step = Step(Action.CUT, max(believed, future.log.segments.first.base_offset))
    else:
        step = next_step(extent_of(current), extent_of(future.log))
    chunk = None
    if step.action is Action.COPY:
        chunk = chunk_from(current, step.offset, max_bytes, _place_of(current, future))
        if chunk is None:
            step = Step(Action.COPY, current.log_end_offset)
    future.busy = True
    return Slice(current, future, step, chunk, now_ms, with_seal=with_seal)


def _place_of(current: PartitionLog, future: FutureLog) -> Place | None:
    """Where in the current log's files the copy goes on, if that is known."""
    log = future.log
    if future.place is None and not log.size and extent_of(current)[0] == log.log_end_offset:
        return Place(log.log_end_offset, 0)
    return None if future.place is None else Place(*future.place)


def _reaches_end(current: PartitionLog, step: Step, chunk: Chunk | None) -> bool:
    """Whether the copy has all that is in the log now, once the slice is done."""
    active = current.segments.active
    if chunk is None:
        return step.action in (Action.NOTHING, Action.COPY)
    end_position = chunk.slice.position + chunk.slice.nbytes
    return chunk.segment_base_offset == active.base_offset and end_position == active.size
