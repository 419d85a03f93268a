"""Rebuilds what a segment's log says: its end, its indexes, and what its batches tell the log.

Each batch is checked, header and checksum, in order; records are not decompressed. The first one
that is not right, or whose offsets go back, ends the segment: it and all after it are cut off,
unless they were promised to be whole. Zeros up to the end of the file are what preallocation left,
and go without a word.

Until the end is found nothing is written, so a recovery may be given up between chunks, and one
that finds damage has changed nothing.
Source: LogSegment.recover (4.3).
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from protocol.crc32c import crc32c
from protocol.records.batch import HEADER, HEADER_SIZE, LOG_OVERHEAD, MAGIC, RecordBatch
from protocol.records.errors import CorruptBatch, MalformedRecords
from runtime.disk import Disk
from storage import filenames
from storage.epochs import LeaderEpochCache
from storage.errors import DamagedLog
from storage.producer.state import ProducerState
from storage.segment.batch_scan import Read, check, read_header, wrong_checksum
from storage.segment.segment import Segment
from storage.segment.sparse_index import MAX_RELATIVE_OFFSET
from storage.segment.transaction_index import AbortedEntry

CHUNK_BYTES: Final = 1 << 20
_CHECKED_POSITION: Final = 21
_header_of = HEADER.unpack_from

Watch = Callable[[int], None]
"""Told of so many bytes more that were read; what it raises ends the recovery."""


class Promise(NamedTuple):
    """What must be whole: all below `end_offset`; after a clean shutdown every byte there is.

    `reached` is an offset that other files than this segment's say the log has come to. `is_last`
    says that the log ends in this segment.
    """

    clean: bool
    end_offset: int
    reached: int = 0
    is_last: bool = True

    @property
    def is_trusted(self) -> bool:
        """Whether a next start will not read the segment: the one after it was promised too."""
        return not self.is_last and self.reached <= self.end_offset


NOTHING_PROMISED: Final = Promise(False, 0)


class SegmentOverflow(Exception):
    """A batch's offset is too far from the segment's base to be indexed: split the segment."""

    def __init__(self, base_offset: int) -> None:
        super().__init__(base_offset)
        self.base_offset = base_offset


class Recovery(NamedTuple):
    """What was found. `reason` says why bytes were cut off; None if none were.

    A preallocated rest of zeros is not counted among `truncated_bytes`.
    """

    valid_bytes: int
    truncated_bytes: int
    next_offset: int
    batches: int
    reason: str | None


def unwatched(_nbytes: int) -> None:
    """Nobody follows the progress."""


def recover_segment(
    disk: Disk,
    segment: Segment,
    producers: ProducerState,
    epochs: LeaderEpochCache,
    promise: Promise = NOTHING_PROMISED,
    watch: Watch = unwatched,
) -> Recovery:
    """Make the segment hold its valid batches only, with indexes for just those, written out.

    See `read_through`, and `cut_tail` for when to do the two apart.
    """
    recovery = read_through(disk, segment, producers, epochs, promise, watch)
    cut_tail(disk, segment, recovery)
    return recovery


def cut_tail(disk: Disk, segment: Segment, recovery: Recovery) -> None:
    """Take off what `read_through` found to be no batches.

    Later segments have to be gone before: cut first, and stopped then, a start would find two sound
    segments with a hole between them.
    """
    if recovery.truncated_bytes:
        _truncate(disk, segment, recovery.valid_bytes)


def _truncate(disk: Disk, segment: Segment, end_position: int) -> None:
    fd = disk.open(segment.path(filenames.LOG))
    try:
        disk.truncate(fd, end_position)
    finally:
        disk.close(fd)


def read_through(
    disk: Disk,
    segment: Segment,
    producers: ProducerState,
    epochs: LeaderEpochCache,
    promise: Promise = NOTHING_PROMISED,
    watch: Watch = unwatched,
) -> Recovery:
    """Count the segment's valid batches, and write indexes for just those; `cut_tail` follows.

    producers, which must stand at the segment's base offset or before, and epochs follow the
    batches. Nothing is synced. For a segment nobody else uses; may run in a worker. DamagedLog if
    what was promised is not there, SegmentOverflow; the files are as they were then.
    """
    path = segment.path(filenames.LOG)
    fd = disk.open(path)
    try:
        length = disk.size(fd)

        def read(size: int, position: int) -> bytes:
            return disk.pread(fd, size, position)

        rebuild = _Rebuild(segment, producers, epochs, promise.reached)
        reason = rebuild.run(read, length, watch)
        end = segment.size
        is_padding = reason is not None and only_zeros(read, end, length, watch)
        kept = segment.next_offset >= promise.end_offset
        if reason is not None and not (kept and (is_padding or not promise.clean)):
            raise DamagedLog(path, end, reason)
        if promise.clean and promise.is_last and not kept:
            raise ends_too_early(path, end, segment.next_offset, promise.end_offset)
        if is_padding:
            disk.truncate(fd, end)
    finally:
        disk.close(fd)
    segment.finish_recovery(rebuild.aborted, vouched=promise.is_trusted)
    if is_padding:
        return Recovery(end, 0, segment.next_offset, rebuild.batches, None)
    return Recovery(end, length - end, segment.next_offset, rebuild.batches, reason)


def ends_too_early(path: str, position: int, end_offset: int, promised: int) -> DamagedLog:
    """The error for a log that is whole and yet lacks records that were durable."""
    reason = f"the log ends at offset {end_offset}, and was durable up to {promised}"
    return DamagedLog(path, position, reason)


class _Rebuild:
    """The state of one segment's recovery: chunk after chunk, each from a batch's start on."""

    __slots__ = (
        "_epochs",
        "_latest_epoch",
        "_producers",
        "_reached",
        "_segment",
        "aborted",
        "batches",
    )

    def __init__(
        self, segment: Segment, producers: ProducerState, epochs: LeaderEpochCache, reached: int
    ) -> None:
        self._segment = segment
        self._producers = producers
        self._epochs = epochs
        self._latest_epoch = epochs.latest_epoch
        self._reached = reached
        self.aborted: list[AbortedEntry] = []
        self.batches = 0
        segment.begin_recovery()

    def run(self, read: Read, length: int, watch: Watch) -> str | None:
        """Take all valid batches; why the first one that is not is none, None if all are."""
        segment = self._segment
        wanted = CHUNK_BYTES
        try:
            while segment.size < length:
                begin = segment.size
                raw = read(min(wanted, length - begin), begin)
                self._take_chunk(raw, begin)
                watch(segment.size - begin)
                wanted = CHUNK_BYTES
                if segment.size == begin:
                    header = read_header(raw, 0, begin)
                    if header is None or header.size > length - begin or header.size <= len(raw):
                        return "the last batch is incomplete"
                    wanted = header.size
        except (CorruptBatch, MalformedRecords) as error:
            return error.message
        finally:
            producers = self._producers
            producers.map_end_offset = max(producers.map_end_offset, segment.next_offset)
        return None

    def _take_chunk(self, raw: bytes, position: int) -> None:
        """Take the batches that lie in a chunk whole.

        Straight-line on purpose: a log of small records has six million batches in a gigabyte.
        """
        segment, view = self._segment, memoryview(raw)
        at, end = 0, len(raw)
        while end - at >= HEADER_SIZE:
            base_offset, length, epoch, magic, crc, _, delta, _, timestamp, producer_id, _, _, _ = (
                _header_of(raw, at)
            )
            following = at + LOG_OVERHEAD + length
            if magic != MAGIC or following > end or length < HEADER_SIZE - LOG_OVERHEAD:
                break
            if crc32c(view[at + _CHECKED_POSITION : following]) != crc:
                raise wrong_checksum(base_offset)
            last_offset = base_offset + delta
            self._check_range(base_offset, last_offset)
            if producer_id >= 0:
                self._replay(RecordBatch(view, at, following))
            segment.recovered(position + at, following - at, base_offset, last_offset, timestamp)
            if epoch > self._latest_epoch:
                self._assign_epoch(epoch, base_offset)
            self.batches += 1
            at = following
        self._take_legacy(view[at:], position + at)

    def _take_legacy(self, view: memoryview, position: int) -> None:
        """Take the messages of format 0 or 1 that begin here; CorruptBatch if nothing can."""
        at = 0
        while (header := read_header(view, at, position + at)) is not None:
            if header.magic == MAGIC or header.size > len(view) - at:
                return
            check(header, view[at : at + header.size])
            self._check_range(header.base_offset, header.last_offset)
            self._segment.recovered(
                header.position,
                header.size,
                header.base_offset,
                header.last_offset,
                header.max_timestamp,
            )
            self.batches += 1
            at += header.size

    def _check_range(self, base_offset: int, last_offset: int) -> None:
        segment = self._segment
        if base_offset < segment.next_offset or last_offset < base_offset:
            raise CorruptBatch(f"offset {base_offset} is below the expected {segment.next_offset}")
        if last_offset - segment.base_offset > MAX_RELATIVE_OFFSET:
            if last_offset < self._reached:
                raise SegmentOverflow(segment.base_offset)
            raise CorruptBatch(f"offset {last_offset} is out of the segment's range")

    def _replay(self, batch: RecordBatch) -> None:
        aborted = replay_batch(self._producers, batch)
        if aborted is not None:
            self.aborted.append(aborted)

    def _assign_epoch(self, epoch: int, start_offset: int) -> None:
        self._epochs.assign(epoch, start_offset)
        self._latest_epoch = self._epochs.latest_epoch


def only_zeros(read: Read, position: int, end_position: int, watch: Watch = unwatched) -> bool:
    """Whether there is nothing but zeros from a position to the end."""
    while position < end_position:
        chunk = read(min(CHUNK_BYTES, end_position - position), position)
        if not chunk or chunk.count(0) != len(chunk):
            return False
        watch(len(chunk))
        position += len(chunk)
    return True


def replay_batch(producers: ProducerState, batch: RecordBatch) -> AbortedEntry | None:
    """Bring producers up to a batch read back from the log.

    An aborted transaction is returned as its index entry, for whoever rebuilds that index.
    """
    aborted = None
    if batch.producer_id >= 0:
        update = producers.check_replayed(batch)
        producers.apply(update)
        completed = update.completed
        if completed is not None:
            last_stable_offset = producers.last_stable_offset(completed)
            producers.complete_transaction(completed)
            if completed.is_aborted:
                aborted = AbortedEntry(
                    completed.producer_id,
                    completed.first_offset,
                    completed.last_offset,
                    last_stable_offset,
                )
    producers.map_end_offset = batch.next_offset
    return aborted
