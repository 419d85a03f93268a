"""Filling the future copy of a log: batches as they are, every one checked before it is written.

    chunk_from()   on the loop: which bytes of the current log come next; they hold their descriptor
    the others     in a worker, or on the loop for the last few: the copy belongs to its caller

The copy is rolled where the current log was, so that a finished one has the same segments. Nothing
is decompressed or decoded; indexes, epochs, producers and aborted transactions come out of the
batch headers as they do for a follower. A batch that is not what its checksum says is never written
elsewhere, where it would look sound: `CorruptSource` ends the move.
"""

import logging
from collections.abc import Iterable
from typing import NamedTuple

from protocol.records.batch import RecordBatch
from protocol.records.errors import CorruptBatch
from storage.errors import CorruptFileError
from storage.filenames import LOG
from storage.jobs import Job
from storage.log.appending import append_of_producer
from storage.log.partition_log import PartitionLog
from storage.log.results import Origin
from storage.producer.state import ProducerState
from storage.reused_names import mark_newer
from storage.segment.batch_scan import BatchHeader, check, scan_whole
from storage.segment.file_records import FileSlice
from storage.segment.segment import Segment
from storage.segment.sparse_index import MAX_RELATIVE_OFFSET

logger = logging.getLogger(__name__)


class CorruptSource(CorruptFileError):
    """The current log does not hold, at this place of a file, what it should: nothing to copy."""


class Place(NamedTuple):
    """Where in the current log's files the next batch has to begin."""

    segment_base_offset: int
    position: int


class Chunk:
    """Bytes of one segment of the current log, to be released once copied.

    No offset in them reaches `end_offset`.
    """

    __slots__ = ("end_offset", "path", "segment_base_offset", "slice")

    def __init__(self, log: PartitionLog, segment: Segment, slice_: FileSlice) -> None:
        following = log.segments.higher(segment.base_offset)
        self.end_offset = log.log_end_offset if following is None else following.base_offset
        self.path = segment.path(LOG)
        self.segment_base_offset = segment.base_offset
        self.slice = slice_

    def after(self, nbytes: int) -> Place:
        """Where it goes on when so many bytes are copied."""
        return Place(self.segment_base_offset, self.slice.position + nbytes)


def chunk_from(log: PartitionLog, offset: int, max_bytes: int, place: Place | None) -> Chunk | None:
    """The batches from the one that holds `offset` on, one at least; None where no more come.

    Ends with the segment, and maybe inside a batch. With the place where the last chunk ended, the
    next batch must begin there, or at the beginning of the next segment if that one is through:
    CorruptSource otherwise, because whatever lies between would be left out of the copy.
    """
    segment = log.segments.floor(offset) or log.segments.first
    while True:
        try:
            found = segment.read(offset, max_bytes, segment.size, True)
        except CorruptBatch as error:
            raise CorruptSource(segment.path(LOG), f"before offset {offset}: {error}") from error
        here = place if place is not None and place[0] == segment.base_offset else None
        if found is not None and found[0] is not None:
            if place is None or found[2] == (here.position if here is not None else 0):
                return Chunk(log, segment, found[0])
            found[0].release()
            raise CorruptSource(
                segment.path(LOG),
                f"at position {0 if here is None else here.position}: no batch up to {found[2]}",
            )
        if _is_cut_short(segment, offset, here):
            position = "unknown" if here is None else here.position
            raise CorruptSource(segment.path(LOG), f"at position {position}: no whole batch")
        following = log.segments.higher(segment.base_offset)
        if following is None:
            return None
        segment = following


def _is_cut_short(segment: Segment, offset: int, place: Place | None) -> bool:
    """Whether a segment without a batch for an offset should have one."""
    if place is not None:
        return place.position < segment.size
    return segment.size > 0 and segment.read_next_offset() > offset


def needs_roll(log: PartitionLog, segment_base_offset: int) -> bool:
    """Whether batches of the current log's segment with this base begin a segment of the copy."""
    return segment_base_offset >= log.log_end_offset and (
        log.segments.active.base_offset < segment_base_offset
    )


def begin_at(log: PartitionLog, offset: int, snapshot: bytes | None, now_ms: int) -> None:
    """The copy is empty and begins at this offset, with the producers of the snapshot given."""
    doubt_checkpoints(log)
    run_in_line(log.truncate_fully_and_start_at(offset, now_ms), now_ms)
    if snapshot is None:
        return
    path = log.producers.snapshot_path(offset)
    log.disk.write_file(path, snapshot)
    producers = ProducerState(log.disk, log.directory, log.topic_partition, [offset])
    expiration_ms = log.environment.producer_id_expiration_ms()
    producers.truncate_and_reload(offset - 1, offset, now_ms, expiration_ms)
    producers.map_end_offset = offset
    log.producers = producers
    log.flusher.names_changed(path)


def cut_to(log: PartitionLog, offset: int, now_ms: int) -> None:
    """No offset ≥ `offset` is in the copy."""
    doubt_checkpoints(log)
    run_in_line(log.truncate_to(offset, now_ms), now_ms)


def doubt_checkpoints(log: PartitionLog) -> None:
    """What is written down of how much of the copy is durable does not hold any more.

    Durable before anything is cut: the offsets will be written anew, unsynced.
    """
    mark_newer(log.disk, log.directory)
    log.disk.fsync_dir(log.directory)


def drop_before(log: PartitionLog, offset: int) -> None:
    """Remove the segments of the copy that end before this offset: nobody reads them."""
    segments = log.segments
    count = 0
    while count + 1 < len(segments) and segments[count + 1].base_offset <= offset:
        count += 1
    for segment in segments.drop_first(count) if count else ():
        segment.close_files()
        segment.delete_files()
    log.producers.delete_snapshots_before(segments.first.base_offset)


def follow_start(log: PartitionLog, log_start_offset: int, high_watermark: int) -> None:
    """The copy begins where the current log does, as far as it reaches."""
    log.update_high_watermark(high_watermark)
    start_offset = min(log_start_offset, log.log_end_offset)
    if start_offset > log.log_start_offset:
        log.update_high_watermark(max(start_offset, high_watermark))
        log.maybe_increment_log_start_offset(start_offset, "the current log's start")
        drop_before(log, start_offset)


def copy(log: PartitionLog, chunk: Chunk, now_ms: int) -> int:
    """Append the whole batches of a chunk to the copy; how many bytes they were.

    CorruptSource where one is damaged; those before it are written. StorageError.
    """
    data = chunk.slice.read()
    if needs_roll(log, chunk.segment_base_offset):
        roll_at(log, chunk.segment_base_offset, now_ms)

    def read(size: int, position: int) -> bytes:
        return data if size == len(data) else data[position : position + size]

    copied = 0
    try:
        for header, view in scan_whole(read, 0, len(data)):
            batch = check(header, view)
            _check_offsets(header, log.log_end_offset, chunk.end_offset)
            _append(log, header, view, batch, now_ms)
            copied = header.position + header.size
    except CorruptBatch as error:
        position = chunk.slice.position + copied
        raise CorruptSource(chunk.path, f"at position {position}: {error}") from error
    if not copied:
        raise CorruptSource(chunk.path, f"at position {chunk.slice.position}: no whole batch")
    return copied


def _check_offsets(header: BatchHeader, next_offset: int, end_offset: int) -> None:
    """CorruptBatch for offsets, which no checksum covers, that cannot be right here."""
    if not next_offset <= header.base_offset <= header.last_offset < end_offset:
        raise CorruptBatch(
            f"offsets {header.base_offset}..{header.last_offset} are out of order: "
            f"{next_offset} is next, and all lie before {end_offset}"
        )


def roll_at(log: PartitionLog, base_offset: int, now_ms: int) -> None:
    """The copy goes on in a new segment, from this offset on; what came before it is durable."""
    run_in_line(log.roll(now_ms, base_offset), now_ms)
    log.log_end_offset = max(log.log_end_offset, base_offset)


def run_in_line(jobs: Iterable[Job], now_ms: int) -> None:
    """Do the background work of a log that nobody else knows, whatever its delay."""
    waiting = list(jobs)
    while waiting:
        for work in waiting.pop().plan(now_ms):
            work.work()
            work.commit()
            waiting += [job for job in work.jobs if not job.delay_ms]


def _append(
    log: PartitionLog,
    header: BatchHeader,
    view: memoryview,
    batch: RecordBatch | None,
    now_ms: int,
) -> None:
    """Write one batch, or one message of an older format, which has neither epoch nor producer."""
    last_offset = header.last_offset
    if header.leader_epoch > log.epochs.latest_epoch:
        log.epochs.assign(header.leader_epoch, header.base_offset)
    segment = log.segments.active
    if segment.full_index or last_offset - segment.base_offset > MAX_RELATIVE_OFFSET:
        roll_at(log, header.base_offset, now_ms)
        segment = log.segments.active
    if batch is not None and batch.producer_id >= 0:
        append_of_producer(log, segment, batch, Origin.REPLICATION, None)
    else:
        segment.append(view, last_offset, header.max_timestamp, last_offset)
        log.log_end_offset = last_offset + 1
