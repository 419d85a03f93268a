"""Copies what is whole and right of a damaged log into a new directory; the source is only read.

    source segments ─ salvage ─ batches in order of offsets ─→ new segments of the same bases,
                         │                                     new indexes, snapshots, epochs
                         └ what is no batch: the offsets that are lost with it ─→ known-gaps

A batch is taken over byte for byte when its checksum is right and its offsets can be: not below
what came before, nor beyond what the next right batch has (the base offset lies outside the
checksum, so a wrong one shows only so). Records are not unpacked.

Offsets stay what they were: where batches are lost a gap is left, as compaction leaves them. When
the end is lost, and checkpoints or snapshots still say how far the log reached, an empty segment
begins there, so that no offset is given to another record.

Everything is synced before the function returns; the caller makes the result visible by renaming
the directory it is in. Stopped at any point it leaves that directory unfinished, and the source as
it was.
"""

from bisect import bisect_right
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import NamedTuple

from protocol.model import TopicPartition
from runtime.disk import Disk
from storage.epochs import EpochEntry, LeaderEpochCache
from storage.errors import CorruptFileError
from storage.filenames import (
    CLEANED,
    LOG,
    NO_SUFFIX,
    SNAPSHOT,
    SWAP,
    parse_segment_file_name,
    segment_path,
)
from storage.known_gaps import Gap, read_known_gaps, write_known_gaps
from storage.partition_metadata import read_topic_id, write_topic_id
from storage.producer.snapshot import read_snapshot
from storage.producer.state import ProducerState
from storage.segment.batch_scan import BatchHeader
from storage.segment.file_records import FilePool
from storage.segment.file_set import SegmentFiles, SegmentSettings
from storage.segment.recovery import replay_batch
from storage.segment.salvage import Damaged, Sound, salvage
from storage.segment.segment import Segment
from storage.segment.sparse_index import MAX_RELATIVE_OFFSET

_SETTINGS = SegmentSettings(4096, 10485760)
_OPEN_FILES = 8

Advance = Callable[[int], None]


class Loss(NamedTuple):
    """Offsets [first, end) that could not be taken over, and the damage: where, and what."""

    first: int
    end: int
    path: str
    position: int
    reason: str


class LogReport(NamedTuple):
    """What became of one log. `gaps` had no damage beside them: [first, end), as after compaction.

    `notes` are damages that cost no offset, and other things to know.
    """

    name: str
    segments: int
    batches: int
    nbytes: int
    start_offset: int
    log_end_offset: int
    losses: list[Loss]
    gaps: list[tuple[int, int]]
    notes: list[str]


def repair_log(
    disk: Disk, source: str, target: str | None, known_end_offset: int, advance: Advance
) -> LogReport:
    """Take over the log of a partition directory into a new one; without target only look.

    `known_end_offset`: the log is known to have reached so far, 0 where nothing is known. Files
    that cannot be read, by an error of the disk, count as lost.
    """
    return _Repair(disk, source, target, advance).run(known_end_offset)


class _Repair:
    """The state of one repair."""

    def __init__(self, disk: Disk, source: str, target: str | None, advance: Advance) -> None:
        self._disk = disk
        self._source = source
        self._advance = advance
        self._copy = None if target is None else _Copy(disk, source, target)
        self._sources, self._snapshots = _survey(disk, source)
        self._known_gaps = _known_gaps(disk, source)
        self._expected: int | None = None
        self._damage: tuple[str, int, str] | None = None
        self._losses: list[Loss] = []
        self._gaps: list[tuple[int, int]] = []
        self._notes: list[str] = []
        self._start: int | None = None
        self._bases: set[int] = set()
        self._batches = 0
        self._nbytes = 0

    def run(self, known_end_offset: int) -> LogReport:
        """See the module."""
        bases = [base for base, _ in self._sources]
        known_end_offset = max([known_end_offset, *bases[-1:], *self._snapshots[-1:]])
        if bases:
            self._expected = bases[0]
        with closing(self._in_order()) as pieces:
            for base_offset, path, piece in pieces:
                if isinstance(piece, Damaged):
                    self._damage = self._damage or (path, piece.position, piece.reason)
                else:
                    self._take(base_offset, piece)
        end_offset = self._end(known_end_offset)
        start_offset = end_offset if self._start is None else self._start
        if self._copy is not None:
            lost = [(loss.first, loss.end) for loss in self._losses]
            gaps = sorted({*self._known_gaps, *lost})
            self._notes += self._copy.finish(end_offset, gaps)
        return LogReport(
            self._source.rpartition("/")[2],
            max(len(self._bases), 1),
            self._batches,
            self._nbytes,
            start_offset,
            end_offset,
            self._losses,
            self._gaps,
            self._notes,
        )

    def _pieces(self) -> Generator[tuple[int, str, Sound | Damaged], None, None]:
        """All of all segments; a file that cannot be read is one damage."""
        for base_offset, path in self._sources:
            try:
                fd = self._disk.open(path, writable=False)
            except OSError as error:
                yield base_offset, path, Damaged(0, 0, None, f"cannot be read: {error.strerror}")
                continue
            try:

                def read(size: int, position: int, fd: int = fd) -> bytes:
                    return self._disk.pread(fd, size, position)

                for piece in salvage(read, self._disk.size(fd), base_offset):
                    yield base_offset, path, piece
                    self._advance(piece.size if isinstance(piece, Damaged) else piece.header.size)
            except OSError as error:
                yield base_offset, path, Damaged(0, 0, None, f"cannot be read: {error.strerror}")
            finally:
                self._disk.close(fd)

    def _in_order(self) -> Generator[tuple[int, str, Sound | Damaged], None, None]:
        """The pieces, those with impossible offsets turned into damage: looks one batch ahead."""
        waiting: tuple[int, str, Sound] | None = None
        behind: list[tuple[int, str, Sound | Damaged]] = []
        with closing(self._pieces()) as pieces:
            for base_offset, path, piece in pieces:
                if isinstance(piece, Damaged):
                    behind.append((base_offset, path, piece))
                    continue
                if waiting is not None:
                    yield self._judged(*waiting, piece.header)
                yield from behind
                behind.clear()
                waiting = base_offset, path, piece
        if waiting is not None:
            yield self._judged(*waiting, None)
        yield from behind

    def _judged(
        self, base_offset: int, path: str, piece: Sound, following: BatchHeader | None
    ) -> tuple[int, str, Sound | Damaged]:
        header, expected = piece.header, self._expected or 0
        first, last = header.base_offset, header.last_offset
        reason = None
        if last < first or not base_offset <= first <= last <= base_offset + MAX_RELATIVE_OFFSET:
            reason = f"offsets {first} to {last} cannot be in this segment"
        elif first < expected:
            reason = f"offset {first} goes back"
        elif (
            following is not None and first > expected and expected <= following.base_offset <= last
        ):
            reason = f"offset {first} is beyond that of the batch behind it"
        if reason is None:
            return base_offset, path, piece
        return base_offset, path, Damaged(header.position, header.size, None, reason)

    def _take(self, base_offset: int, piece: Sound) -> None:
        header = piece.header
        self._account_for(header.base_offset)
        if self._start is None:
            self._start = header.base_offset
        self._expected = header.last_offset + 1
        self._bases.add(base_offset)
        self._batches += 1
        self._nbytes += header.size
        if self._copy is not None:
            self._copy.take(base_offset, piece)

    def _account_for(self, offset: int) -> None:
        """The next offset that is there, or was, is this one: is anything missing before it?"""
        expected = self._expected or 0
        if self._damage is not None:
            if offset > expected:
                self._losses.append(Loss(expected, offset, *self._damage))
            else:
                path, position, reason = self._damage
                self._notes.append(f"{path} at {position}: {reason}; no record was in it")
            self._damage = None
        elif offset > expected and (expected, offset) not in self._known_gaps:
            self._gaps.append((expected, offset))

    def _end(self, known_end_offset: int) -> int:
        """Where the log ends; told as lost is what the source once had behind its last batch."""
        expected = self._expected or 0
        end_offset = max(expected, known_end_offset)
        self._account_for(end_offset)
        return end_offset


class _Copy:
    """The new log that is being written."""

    def __init__(self, disk: Disk, source: str, target: str) -> None:
        self._disk = disk
        self._source = source
        self._target = target
        self._files = SegmentFiles(disk, FilePool(_OPEN_FILES))
        self._segment: Segment | None = None
        self._producers = ProducerState(disk, target, TopicPartition("", 0))
        self._epochs = _EpochRuns()
        disk.mkdir(target)

    def take(self, base_offset: int, piece: Sound) -> None:
        """Append a batch to the segment of this base."""
        segment = self._segment
        if segment is None or segment.base_offset != base_offset:
            segment = self._begin(base_offset)
        header, view, batch = piece
        aborted = None if batch is None else replay_batch(self._producers, batch)
        segment.append(view, header.last_offset, header.max_timestamp, header.last_offset)
        if aborted is not None:
            segment.append_aborted(aborted)
        self._epochs.take(header)

    def _begin(self, base_offset: int) -> Segment:
        if self._segment is None:
            self._adopt_snapshot(base_offset)
        else:
            self._seal(self._segment)
            self._producers.map_end_offset = base_offset
            self._producers.take_snapshot(sync=True)
        self._segment = Segment.open(
            self._files, self._target, base_offset, _SETTINGS, 0, existing=False
        )
        return self._segment

    def _adopt_snapshot(self, base_offset: int) -> None:
        """Producers before the first segment are known from its snapshot alone."""
        path = segment_path(self._source, base_offset, SNAPSHOT)
        if base_offset and self._disk.exists(path):
            try:
                self._producers.restore(read_snapshot(self._disk, path), base_offset)
            except (CorruptFileError, OSError):
                return
            self._producers.last_snapshot_offset = 0
            self._producers.take_snapshot(sync=True)

    def _write_epochs(self, end_offset: int) -> None:
        before, made = (
            LeaderEpochCache(self._disk, directory) for directory in (self._source, self._target)
        )
        try:
            before.load()
            before.truncate_from_end(end_offset + 1)
        except (CorruptFileError, OSError):
            pass  # then the batches alone tell
        self._epochs.fill(made, before.entries())
        made.write()

    def _seal(self, segment: Segment) -> None:
        segment.on_become_inactive()
        segment.flush()
        segment.close()

    def finish(self, end_offset: int, gaps: Sequence[Gap]) -> list[str]:
        """Everything is in the directory and durable; what there is to say of it."""
        last = self._segment
        if last is None or last.next_offset != end_offset:
            last = self._begin(end_offset)
        self._seal(last)
        self._write_epochs(end_offset)
        if gaps:
            write_known_gaps(self._disk, self._target, gaps)
        self._producers.map_end_offset = end_offset
        self._producers.take_snapshot(sync=True)
        notes = []
        undecided = self._producers.first_undecided_offset
        if undecided is not None:
            notes.append(
                f"a transaction is open from offset {undecided} on; if its marker was lost, "
                "readers of committed data wait there until it is aborted"
            )
        try:
            topic_id = read_topic_id(self._disk, self._source)
            if topic_id is not None:
                write_topic_id(self._disk, self._target, topic_id)
        except (CorruptFileError, OSError) as error:
            notes.append(f"partition.metadata is left out, a start writes it anew: {error}")
        self._disk.fsync_dir(self._target)
        return notes


class _EpochRuns:
    """Which leader epoch the batches say they are of, run by run.

    The epoch lies outside the checksum: one that the batch behind it denies does not count.
    """

    def __init__(self) -> None:
        self._runs: list[tuple[int, int, int]] = []
        self._uncertain: BatchHeader | None = None

    def take(self, header: BatchHeader) -> None:
        """The next batch."""
        before, self._uncertain = self._uncertain, header
        if before is not None and before.leader_epoch <= header.leader_epoch:
            self._extend(before)

    def _extend(self, header: BatchHeader) -> None:
        epoch, first, last = header.leader_epoch, header.base_offset, header.last_offset
        if self._runs and self._runs[-1][0] >= epoch:
            self._runs[-1] = (*self._runs[-1][:2], last)
        elif epoch >= 0:
            self._runs.append((epoch, first, last))

    def fill(self, cache: LeaderEpochCache, known: Sequence[EpochEntry]) -> None:
        """Assign the epochs: the known ones if no run contradicts them, those of the runs if not.

        Known ones may begin before their first batch, and be of epochs that wrote nothing.
        """
        if self._uncertain is not None:
            self._extend(self._uncertain)
            self._uncertain = None
        starts = [entry.start_offset for entry in known]

        def known_at(offset: int) -> int:
            slot = bisect_right(starts, offset) - 1
            return known[slot].epoch if slot >= 0 else -1

        agreed = all(
            known_at(first) == epoch == known_at(last) for epoch, first, last in self._runs
        )
        for epoch, start_offset in known if agreed else [run[:2] for run in self._runs]:
            cache.assign(epoch, start_offset)


def _known_gaps(disk: Disk, directory: str) -> list[Gap]:
    try:
        return read_known_gaps(disk, directory)
    except (CorruptFileError, OSError):
        return []


def _survey(disk: Disk, directory: str) -> tuple[list[tuple[int, str]], list[int]]:
    """(base offset, path) of the segments that count, and the offsets of snapshots, both sorted.

    A cleaning that was cut short counts as a start would take it: finished `.swap` files stand for
    the segments they cover, unless `.cleaned` ones say that they are not all there.
    """
    files = [file for file in map(parse_segment_file_name, disk.listdir(directory)) if file]
    plain = {file.base_offset for file in files if file.kind == LOG and file.suffix == NO_SUFFIX}
    cleaned = [file.base_offset for file in files if file.suffix == CLEANED]
    swaps = sorted(
        file.base_offset
        for file in files
        if file.kind == LOG
        and file.suffix == SWAP
        and not (cleaned and file.base_offset >= min(cleaned))
    )
    sources = {base: segment_path(directory, base, LOG) for base in plain}
    if swaps:
        end = _end_offset(disk, segment_path(directory, swaps[-1], LOG, SWAP), swaps[-1])
        for base in plain:
            if swaps[0] <= base < end:
                del sources[base]
        sources |= {base: segment_path(directory, base, LOG, SWAP) for base in swaps}
    snapshots = [
        file.base_offset for file in files if file.kind == SNAPSHOT and file.suffix == NO_SUFFIX
    ]
    return sorted(sources.items()), sorted(snapshots)


def _end_offset(disk: Disk, path: str, base_offset: int) -> int:
    fd = disk.open(path, writable=False)
    try:
        end = base_offset
        length = disk.size(fd)
        for piece in salvage(lambda size, at: disk.pread(fd, size, at), length, base_offset):
            if isinstance(piece, Sound):
                end = max(end, piece.header.last_offset + 1)
        return end
    finally:
        disk.close(fd)
