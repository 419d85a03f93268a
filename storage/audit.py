"""Checks a partition directory against everything that must hold in one, without changing a byte.

    .log          whole batches to the end, checksums right, offsets ascending across segments,
                  none below its segment's base, leader epochs never going back
    .index        each entry points at the batch that ends with its offset; both fields ascend
    .timeindex    timestamps ascend; no batch up to an entry's offset is later than the entry says
    .txnindex     the transactions whose abort marker lies in the segment, and no other
    .snapshot     readable, and not beyond the log end
    leader-epoch-checkpoint, partition.metadata, and the checkpoints of the log directory: readable

Against a linear scan, not against other indexes: what it finds is true of the bytes. A segment that
was not closed may have indexes that Kafka preallocated; zeros at the end of those of the last
segment are no fault, for a start rebuilds them. Used by `tidelog log verify` and the crash tests.
"""

from collections.abc import Iterator
from typing import NamedTuple

from protocol.model import TopicPartition
from protocol.records.batch import RecordBatch
from protocol.records.errors import CorruptBatch, MalformedRecords
from runtime.disk import Disk
from storage.checkpoints import OffsetCheckpoint
from storage.epochs import LeaderEpochCache
from storage.errors import CorruptFileError
from storage.filenames import (
    HIGH_WATERMARK_CHECKPOINT,
    LIVE,
    LOG,
    LOG_START_OFFSET_CHECKPOINT,
    NO_SUFFIX,
    OFFSET_INDEX,
    RECOVERY_POINT_CHECKPOINT,
    SNAPSHOT,
    TIME_INDEX,
    TRANSACTION_INDEX,
    parse_partition_directory_name,
    parse_segment_file_name,
    segment_path,
)
from storage.partition_metadata import read_topic_id
from storage.producer.snapshot import read_snapshot
from storage.producer.state import ProducerState
from storage.segment.batch_scan import BatchHeader, check, scan_whole
from storage.segment.offset_index import OffsetIndex
from storage.segment.recovery import replay_batch
from storage.segment.time_index import TimeIndex
from storage.segment.transaction_index import AbortedEntry, TransactionIndex

_ROWS = ((OFFSET_INDEX, OffsetIndex.layout), (TIME_INDEX, TimeIndex.layout))


class Finding(NamedTuple):
    """Something that does not hold, and in which file."""

    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


class _Segment(NamedTuple):
    """What a linear scan saw in one segment."""

    base_offset: int
    headers: list[BatchHeader]
    aborted: list[AbortedEntry]


def audit_log_dir(disk: Disk, log_dir: str) -> list[Finding]:
    """Every fault in a log directory and the live partitions below it."""
    findings = audit_checkpoints(disk, log_dir)
    for name in sorted(disk.listdir(log_dir)):
        parsed = parse_partition_directory_name(name)
        if parsed is not None and parsed.state == LIVE and disk.isdir(f"{log_dir}/{name}"):
            findings += audit_partition(disk, f"{log_dir}/{name}")
    return findings


def audit_checkpoints(disk: Disk, log_dir: str) -> list[Finding]:
    """Checkpoint files of a log directory that cannot be read."""
    findings = []
    for name in (RECOVERY_POINT_CHECKPOINT, LOG_START_OFFSET_CHECKPOINT, HIGH_WATERMARK_CHECKPOINT):
        try:
            OffsetCheckpoint(disk, log_dir, name).read()
        except CorruptFileError as error:
            findings.append(Finding(error.path, error.reason))
    return findings


def audit_partition(disk: Disk, directory: str) -> list[Finding]:
    """Every fault in one partition directory."""
    auditor = _Auditor(disk, directory)
    auditor.run()
    return auditor.findings


class _Auditor:
    """The audit of one partition directory."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._directory = directory
        self.findings: list[Finding] = []
        self._next_offset = 0
        self._latest_epoch = -1
        self._producers = ProducerState(disk, directory, TopicPartition("", 0))

    def run(self) -> None:
        """Look at every file."""
        files = [
            file
            for file in map(parse_segment_file_name, self._disk.listdir(self._directory))
            if file is not None and file.suffix == NO_SUFFIX
        ]
        bases = sorted(file.base_offset for file in files if file.kind == LOG)
        for base in bases:
            segment = self._scan(base)
            self._check_offset_index(segment, is_last=base == bases[-1])
            self._check_time_index(segment, is_last=base == bases[-1])
            self._check_transaction_index(segment)
        log_end_offset = max(self._next_offset, *bases[-1:], 0)
        for file in files:
            if file.kind == SNAPSHOT:
                self._check_snapshot(file.base_offset, log_end_offset)
            elif file.base_offset not in bases:
                path = segment_path(self._directory, file.base_offset, file.kind)
                self._found(path, "an index without its .log")
        self._check_identity()

    def _found(self, path: str, problem: str) -> None:
        self.findings.append(Finding(path, problem))

    def _scan(self, base_offset: int) -> _Segment:
        """Walk the .log; later batches are not looked at after one that is wrong."""
        path = segment_path(self._directory, base_offset, LOG)
        segment = _Segment(base_offset, [], [])
        fd = self._disk.open(path, writable=False)
        try:
            length = self._disk.size(fd)
            end = 0
            for header, view in scan_whole(
                lambda size, position: self._disk.pread(fd, size, position), 0, length
            ):
                batch = check(header, view)
                self._check_order(path, header, base_offset)
                segment.headers.append(header)
                end = header.position + header.size
                if batch is not None:
                    self._replay(batch, segment)
            if end != length:
                self._found(path, f"{length - end} bytes after position {end} are no whole batch")
        except (CorruptBatch, MalformedRecords) as error:
            self._found(path, str(error))
        finally:
            self._disk.close(fd)
        return segment

    def _check_order(self, path: str, header: BatchHeader, base_offset: int) -> None:
        first = header.base_offset
        if first < self._next_offset or first < base_offset:
            self._found(path, f"offset {first} at position {header.position} goes back")
        if header.last_offset < first:
            self._found(path, f"the batch at offset {first} ends before it begins")
        if 0 <= header.leader_epoch < self._latest_epoch:
            self._found(path, f"leader epoch {header.leader_epoch} at offset {first} goes back")
        self._latest_epoch = max(self._latest_epoch, header.leader_epoch)
        self._next_offset = header.last_offset + 1

    def _replay(self, batch: RecordBatch, segment: _Segment) -> None:
        aborted = replay_batch(self._producers, batch)
        if aborted is not None:
            segment.aborted.append(aborted)

    def _rows(self, path: str, kind: str, is_last: bool) -> Iterator[tuple[int, int]]:
        """The entries of an index file, without preallocated zeros at the end of the last one."""
        if not self._disk.exists(path):
            if not is_last:
                self._found(path, "missing")
            return
        layout = dict(_ROWS)[kind]
        data = self._disk.read_file(path)
        if is_last:
            used = len(data.rstrip(b"\0"))
            data = data[: -(-used // layout.size) * layout.size]
        if len(data) % layout.size:
            self._found(path, f"{len(data)} bytes are no whole number of entries")
            data = data[: len(data) // layout.size * layout.size]
        yield from layout.iter_unpack(data)

    def _check_offset_index(self, segment: _Segment, *, is_last: bool) -> None:
        path = segment_path(self._directory, segment.base_offset, OFFSET_INDEX)
        ends = {header.position: header.last_offset for header in segment.headers}
        before = (-1, -1)
        for relative_offset, position in self._rows(path, OFFSET_INDEX, is_last):
            offset = segment.base_offset + relative_offset
            if offset <= before[0] or position <= before[1]:
                self._found(path, f"entry ({offset}, {position}) does not ascend")
            if ends.get(position) != offset:
                self._found(path, f"entry ({offset}, {position}) points at no batch that ends so")
            before = offset, position

    def _check_time_index(self, segment: _Segment, *, is_last: bool) -> None:
        path = segment_path(self._directory, segment.base_offset, TIME_INDEX)
        before = -1
        latest, slot = -1, 0
        headers = segment.headers
        for timestamp, relative_offset in self._rows(path, TIME_INDEX, is_last):
            offset = segment.base_offset + relative_offset
            if timestamp <= before:
                self._found(path, f"timestamp {timestamp} does not ascend")
            while slot < len(headers) and headers[slot].last_offset <= offset:
                latest = max(latest, headers[slot].max_timestamp)
                slot += 1
            if latest > timestamp:
                self._found(path, f"a batch up to offset {offset} is later than {timestamp}")
            before = timestamp

    def _check_transaction_index(self, segment: _Segment) -> None:
        path = segment_path(self._directory, segment.base_offset, TRANSACTION_INDEX)
        try:
            found = TransactionIndex(self._disk, path, segment.base_offset).entries()
        except CorruptFileError as error:
            self._found(path, error.reason)
            return
        expected = {entry.last_offset: entry for entry in segment.aborted}
        for entry in found:
            other = expected.pop(entry.last_offset, None)
            if other is None:
                markers = {header.base_offset for header in segment.headers}
                if entry.last_offset not in markers:
                    self._found(path, f"{entry} names no marker of this segment")
            elif other[:3] != entry[:3]:
                self._found(path, f"{entry} should be {other}")
        for entry in expected.values():
            self._found(path, f"{entry} is missing")

    def _check_snapshot(self, offset: int, log_end_offset: int) -> None:
        path = segment_path(self._directory, offset, SNAPSHOT)
        try:
            read_snapshot(self._disk, path)
        except CorruptFileError as error:
            self._found(path, error.reason)
        if offset > log_end_offset:
            self._found(path, f"beyond the log end, {log_end_offset}")

    def _check_identity(self) -> None:
        epochs = LeaderEpochCache(self._disk, self._directory)
        try:
            read_topic_id(self._disk, self._directory)
            epochs.load()
        except CorruptFileError as error:
            self._found(error.path, error.reason)
