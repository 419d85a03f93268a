"""What retention and cleaning would remove from a log on disk, decided as the broker decides.

Sizes and times of the segments come from the files: of sealed ones the last time-index entry, of
the last one its batches. The decisions are those of `storage.log.retention` and
`storage.cleaner.selection`. What a cleaning would drop is counted by reading the records twice:
first the last offset of each key in the dirty part, then who is older than that.

Keys are kept as hashes, and only so many. When there are more, half of all hashes are let go of,
and half of what is left, and so on; what is counted then stands for all (adaptive sampling), and
`sampled` says which part was. Records of aborted transactions, which a cleaning drops too, are
counted by their keys like others.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from config.topic_config import LogConfig
from protocol.records.batch import MAGIC, RecordBatch
from protocol.records.errors import CorruptBatch
from runtime.disk import Disk
from storage.cleaner.selection import NEVER_CLEANED, Dirt, LagLimits, LogFacts, measure
from storage.filenames import LOG, NO_SUFFIX, TIME_INDEX, parse_segment_file_name, segment_path
from storage.log.retention import LogBounds, RetentionLimits, eligible_segments
from storage.segment.batch_scan import scan_headers, scan_whole
from storage.segment.time_index import TimeIndex

MAX_KEYS = 2_000_000

Advance = Callable[[int], None]


class SegmentOnDisk(NamedTuple):
    """One segment as retention and selection look at it; `end_offset` is exclusive."""

    base_offset: int
    size: int
    end_offset: int
    largest: int
    first: int

    def largest_timestamp(self) -> int:
        """Largest record timestamp, or the time of the last write where no record has one."""
        return self.largest

    def first_batch_timestamp(self) -> int:
        """Largest timestamp of the first batch, -1 without one."""
        return self.first


class KnownOffsets(NamedTuple):
    """What the checkpoints say of a log; None where they say nothing."""

    log_start_offset: int | None = None
    high_watermark: int | None = None
    first_dirty_offset: int | None = None


class Terms(NamedTuple):
    """By which settings, on what is known, and as of when (ms) something is estimated."""

    config: LogConfig
    known: KnownOffsets
    now_ms: int


class Removal(NamedTuple):
    """Segments that one rule of retention removes."""

    segments: int
    nbytes: int
    reason: str


class Cleaning(NamedTuple):
    """What a cleaning up to `dirt.end_offset` would drop; exact if `sampled` is 1."""

    dirt: Dirt
    is_due: bool
    records: int
    dropped_records: int
    dropped_bytes: int
    sampled: float


class Estimate(NamedTuple):
    """What would go of one log. `cleaning` is None where the topic is not compacted."""

    segments: int
    nbytes: int
    removals: list[Removal]
    cleaning: Cleaning | None


def estimate_log(
    disk: Disk,
    directory: str,
    terms: Terms,
    advance: Advance = lambda _nbytes: None,
    *,
    max_keys: int = MAX_KEYS,
) -> Estimate:
    """What retention would remove now, and what a cleaning of the rest would drop."""
    segments = segments_on_disk(disk, directory)
    nbytes = sum(segment.size for segment in segments)
    removals, kept = _retain(segments, terms)
    cleaning = None
    if terms.config.compact and kept:
        cleaning = _Cleaner(disk, directory, kept, terms).count(advance, max_keys)
    return Estimate(len(segments), nbytes, removals, cleaning)


def segments_on_disk(disk: Disk, directory: str) -> list[SegmentOnDisk]:
    """The segments of a partition directory, in order."""
    files = map(parse_segment_file_name, disk.listdir(directory))
    bases = sorted(
        file.base_offset for file in files if file and file.kind == LOG and file.suffix == NO_SUFFIX
    )
    found = []
    for slot, base_offset in enumerate(bases):
        following = bases[slot + 1] if slot + 1 < len(bases) else None
        found.append(_segment(disk, directory, base_offset, following))
    return found


def _segment(disk: Disk, directory: str, base_offset: int, following: int | None) -> SegmentOnDisk:
    path = segment_path(directory, base_offset, LOG)
    indexed = None if following is None else _last_indexed_time(disk, directory, base_offset)
    largest = first = -1
    end_offset = base_offset
    fd = disk.open(path, writable=False)
    try:
        size = disk.size(fd)
        for header in scan_headers(lambda count, at: disk.pread(fd, count, at), 0, size):
            first = header.max_timestamp if not header.position else first
            largest = max(largest, header.max_timestamp)
            end_offset = header.last_offset + 1
            if indexed is not None:
                break
    except CorruptBatch:
        pass  # what lies before the damage counts
    finally:
        disk.close(fd)
    largest = max(largest, -1 if indexed is None else indexed)
    if largest < 0:
        largest = disk.mtime_ms(path)
    return SegmentOnDisk(base_offset, size, following or end_offset, largest, first)


def _last_indexed_time(disk: Disk, directory: str, base_offset: int) -> int | None:
    path = segment_path(directory, base_offset, TIME_INDEX)
    layout = TimeIndex.layout
    if not disk.exists(path):
        return None
    data = disk.read_file(path)
    if not data or len(data) % layout.size:
        return None
    return int(layout.unpack(data[-layout.size :])[0]) or None


def _retain(
    segments: Sequence[SegmentOnDisk], terms: Terms
) -> tuple[list[Removal], Sequence[SegmentOnDisk]]:
    config = terms.config
    limits = RetentionLimits(config.delete, config.retention_bytes, config.retention_ms)
    removals: list[Removal] = []
    while segments:
        bounds = _bounds(segments, terms.known)
        deletion = eligible_segments(segments, limits, bounds, terms.now_ms)
        if not deletion.segment_count:
            break
        gone = segments[: deletion.segment_count]
        removals.append(Removal(len(gone), sum(one.size for one in gone), deletion.reason))
        segments = segments[deletion.segment_count :]
    return removals, segments


def _bounds(segments: Sequence[SegmentOnDisk], known: KnownOffsets) -> LogBounds:
    """Log start, high watermark and log end, as a start would take them."""
    end = segments[-1].end_offset
    start = max(known.log_start_offset or 0, segments[0].base_offset)
    mark = end if known.high_watermark is None else min(known.high_watermark, end)
    return LogBounds(start, mark, end)


class _Cleaner:
    """Counts what a cleaning of these segments would drop."""

    def __init__(
        self, disk: Disk, directory: str, segments: Sequence[SegmentOnDisk], terms: Terms
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._terms = terms
        config, bounds = terms.config, _bounds(segments, terms.known)
        first_dirty = terms.known.first_dirty_offset
        facts = LogFacts(
            NEVER_CLEANED if first_dirty is None else first_dirty,
            bounds.log_start_offset,
            bounds.log_end_offset,
            bounds.high_watermark,
        )
        lags = LagLimits(config.min_compaction_lag_ms, config.max_compaction_lag_ms)
        self._dirt = measure(segments, facts, lags, terms.now_ms)
        self._segments = [one for one in segments if one.base_offset < self._dirt.end_offset]

    def count(self, advance: Advance, max_keys: int) -> Cleaning:
        """Read the segments twice; progress is told of the first time."""
        dirt, now_ms = self._dirt, self._terms.now_ms
        keys = _LastOffsets(max_keys)
        for batch in self._batches(advance):
            if batch.next_offset > dirt.first_dirty_offset:
                keys.learn(batch, dirt.first_dirty_offset)
        count = dropped = nbytes = 0
        for batch in self._batches(lambda _nbytes: None):
            count += batch.record_count
            records, part = keys.count_dropped(batch, now_ms)
            dropped += records
            nbytes += int(batch.size * part)
        scale = keys.scale
        is_due = dirt.is_due(self._terms.config.min_cleanable_dirty_ratio)
        return Cleaning(dirt, is_due, count, dropped * scale, nbytes * scale, 1 / scale)

    def _batches(self, advance: Advance) -> Iterator[RecordBatch]:
        """The batches of data, of each segment up to the first damage in it."""
        disk = self._disk
        for segment in self._segments:
            path = segment_path(self._directory, segment.base_offset, LOG)
            fd = disk.open(path, writable=False)
            try:

                def read(size: int, position: int, fd: int = fd) -> bytes:
                    return disk.pread(fd, size, position)

                for header, view in scan_whole(read, 0, segment.size):
                    advance(header.size)
                    if header.magic == MAGIC:
                        batch = RecordBatch(view, 0, len(view))
                        if not batch.is_control:
                            yield batch
            except CorruptBatch:
                pass
            finally:
                disk.close(fd)


class _LastOffsets:
    """The last offset of each key, for as large a part of the keys as there is room for."""

    def __init__(self, max_keys: int) -> None:
        self._max_keys = max_keys
        self._offsets: dict[int, int] = {}
        self.scale = 1

    def learn(self, batch: RecordBatch, first_offset: int) -> None:
        """Take the keys of a batch's records from an offset on."""
        for record in batch.records():
            if record.key is None or record.offset < first_offset:
                continue
            hashed = hash(record.key)
            if hashed % self.scale == 0:
                self._offsets[hashed] = record.offset
        while len(self._offsets) > self._max_keys:
            self.scale *= 2
            kept = self._offsets.items()
            self._offsets = {key: offset for key, offset in kept if key % self.scale == 0}

    def count_dropped(self, batch: RecordBatch, now_ms: int) -> tuple[int, float]:
        """How many of a batch's records in the sample go, and what part of its bytes they are."""
        expired = batch.has_delete_horizon and batch.base_timestamp <= now_ms
        total = gone = count = 0
        for record in batch.records():
            size = 8 + len(record.key or b"") + len(record.value or b"")
            total += size
            if record.key is None:
                hashed, latest = 0, record.offset + 1
            else:
                hashed = hash(record.key)
                latest = self._offsets.get(hashed, -1)
            if hashed % self.scale:
                continue
            if latest > record.offset or (expired and record.value is None):
                gone += size
                count += 1
        return count, gone / total if total else 0.0
