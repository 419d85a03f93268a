"""The audit of one partition directory: every file in it, in one pass over the batches.

    names → identity → for each segment: its indexes read, its batches walked → snapshots, epochs

Nothing is written and nothing is held open between segments. What a broker that runs deletes or
renames meanwhile is passed over; its last segment moves, so its tail and indexes are not judged.
"""

from collections.abc import Sequence
from typing import NamedTuple

from protocol.records.batch import RecordBatch
from runtime.disk import Disk
from storage.errors import CorruptFileError
from storage.filenames import (
    BOOT_ID_FILE,
    LEADER_EPOCH_CHECKPOINT,
    LOG,
    NEWER_THAN_CHECKPOINTS,
    NO_SUFFIX,
    PARTITION_METADATA_FILE,
    SNAPSHOT,
    TEMPORARY,
    SegmentFileName,
    parse_segment_file_name,
    segment_file_name,
    segment_path,
)
from storage.invariants.batches import Advance, BatchAudit
from storage.invariants.epochs import EpochAudit
from storage.invariants.finding import (
    MEND_BY_REPAIR,
    MEND_BY_START,
    Finding,
    Findings,
    Promise,
    Severity,
)
from storage.invariants.indexes import IndexAudit, IndexRules
from storage.invariants.producers import ProducerAudit
from storage.known_gaps import KNOWN_GAPS, read_known_gaps
from storage.partition_metadata import read_topic_id
from storage.segment.batch_scan import BatchHeader

_KNOWN = frozenset(
    (
        PARTITION_METADATA_FILE,
        LEADER_EPOCH_CHECKPOINT,
        NEWER_THAN_CHECKPOINTS,
        BOOT_ID_FILE,
        KNOWN_GAPS,
    )
)


class Expected(NamedTuple):
    """What is known of a log from outside its directory.

    `topic_id` is what metadata has, `compacted` whether its offsets may have gaps; None where that
    is not known.
    """

    promise: Promise = Promise()
    log_start_offset: int = 0
    topic_id: bytes | None = None
    compacted: bool | None = None
    deep: bool = False


class Extent(NamedTuple):
    """From which offset to which the log reaches."""

    first_offset: int
    log_end_offset: int


def audit_partition_directory(
    disk: Disk, directory: str, expected: Expected, findings: Findings, advance: Advance
) -> Extent | None:
    """Add what does not hold; the log's extent, None where it has no segment."""
    return _PartitionAudit(disk, directory, expected, findings, advance).run()


class _PartitionAudit:
    """The state of one audit."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        expected: Expected,
        findings: Findings,
        advance: Advance,
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._expected = expected
        self._promise = expected.promise
        self._findings = findings
        self._advance = advance
        self._batches = BatchAudit(findings, expected.promise, deep=expected.deep)
        self._epochs = EpochAudit(disk, directory, findings, expected.promise)

    def run(self) -> Extent | None:
        """See the module."""
        files = self._look_at_names()
        self._check_identity()
        self._read_known_gaps()
        bases = sorted(file.base_offset for file in files if file.kind == LOG)
        snapshots = [file.base_offset for file in files if file.kind == SNAPSHOT]
        self._producers = ProducerAudit(
            self._disk, self._directory, snapshots, self._findings, self._promise
        )
        self._tell_orphans(files, bases)
        start_offset = self._expected.log_start_offset
        self._producers.begin(bases[0] if bases else 0, start_offset)
        self._epochs.begin(start_offset)
        for slot in range(len(bases)):
            self._segment_or_gone(bases, slot)
        end_offset = self._batches.next_offset or 0
        self._producers.finish(end_offset)
        self._epochs.finish(end_offset)
        self._tell_gaps()
        return Extent(bases[0], end_offset) if bases else None

    def _tell(self, name: str, problem: str, severity: Severity, remedy: str = "") -> None:
        path = f"{self._directory}/{name}"
        self._findings.add(Finding(path, problem, severity, remedy=remedy))

    def _look_at_names(self) -> list[SegmentFileName]:
        files = []
        for name in sorted(self._disk.listdir(self._directory)):
            file = parse_segment_file_name(name)
            if file is None:
                if name not in _KNOWN:
                    self._tell_unknown(name)
            elif file.suffix != NO_SUFFIX:
                problem = f"{file.suffix}: left over; a start removes it or puts it in place"
                self._tell(name, problem, Severity.INFO, MEND_BY_START)
            elif name != segment_file_name(file.base_offset, file.kind):
                self._tell(name, "a name no broker makes", Severity.WARNING, "move it elsewhere")
            else:
                files.append(file)
        return files

    def _tell_unknown(self, name: str) -> None:
        if name.endswith(TEMPORARY):
            self._tell(name, "a file that was being written: a leftover", Severity.INFO)
        else:
            self._tell(name, "not a file of a log: passed over", Severity.INFO)

    def _tell_orphans(self, files: Sequence[SegmentFileName], bases: list[int]) -> None:
        if self._promise.running:
            return
        for file in files:
            if file.kind not in (LOG, SNAPSHOT) and file.base_offset not in bases:
                name = segment_file_name(file.base_offset, file.kind)
                self._tell(name, "an index without its .log", Severity.WARNING, MEND_BY_START)

    def _check_identity(self) -> None:
        path = f"{self._directory}/{PARTITION_METADATA_FILE}"
        try:
            found = read_topic_id(self._disk, self._directory)
        except CorruptFileError as error:
            remedy = MEND_BY_START
            self._findings.add(Finding(path, error.reason, Severity.ERROR, remedy=remedy))
            return
        expected = self._expected.topic_id
        if expected is not None and found is not None and found != expected:
            problem = f"topic id {found.hex()}, metadata has {expected.hex()}: it is not served"
            remedy = "move the directory away, or restore the metadata it belongs to"
            self._findings.add(Finding(path, problem, Severity.ERROR, remedy=remedy))

    def _read_known_gaps(self) -> None:
        try:
            self._batches.known_gaps = frozenset(read_known_gaps(self._disk, self._directory))
        except CorruptFileError as error:
            self._tell(KNOWN_GAPS, error.reason, Severity.WARNING, "delete the file")

    def _segment_or_gone(self, bases: list[int], slot: int) -> None:
        path = segment_path(self._directory, bases[slot], LOG)
        try:
            self._segment(bases, slot, path)
        except FileNotFoundError:
            if not self._promise.running:
                raise
            self._tell(path.rpartition("/")[2], "deleted while this looked on", Severity.INFO)
        except OSError as error:
            self._findings.add(
                Finding(
                    error.filename or path,
                    f"cannot be read: {error.strerror}",
                    remedy=MEND_BY_REPAIR,
                )
            )

    def _segment(self, bases: list[int], slot: int, path: str) -> None:
        base_offset, is_last = bases[slot], slot == len(bases) - 1
        self._batches.begin_segment(path, base_offset)
        self._doubt_replay()
        self._producers.reach(base_offset)
        fd = self._disk.open(path, writable=False)
        try:
            length = self._disk.size(fd)
            indexes = None
            if not (is_last and self._promise.running):
                rules = self._index_rules(bases, slot)
                indexes = IndexAudit(
                    self._disk, self._directory, base_offset, rules, self._findings
                )

            def read(size: int, position: int) -> bytes:
                return self._disk.pread(fd, size, position)

            def take(header: BatchHeader, batch: RecordBatch | None) -> None:
                self._take(header, batch, indexes)

            end = self._batches.walk(read, length, self._advance, take, is_last)
        finally:
            self._disk.close(fd)
        self._doubt_replay()
        if indexes is not None:
            indexes.finish(end, exact_replay=self._producers.exact)

    def _index_rules(self, bases: list[int], slot: int) -> IndexRules:
        promise, is_last = self._promise, slot == len(bases) - 1
        trusted = promise.clean or (not is_last and bases[slot + 1] <= promise.recovery_point)
        severity = Severity.ERROR if promise.strict or trusted else Severity.INFO
        start_offset = self._expected.log_start_offset
        return IndexRules(severity, is_last and not promise.clean, promise.strict, start_offset)

    def _take(
        self, header: BatchHeader, batch: RecordBatch | None, indexes: IndexAudit | None
    ) -> None:
        self._doubt_replay()
        self._epochs.take(header)
        self._producers.reach(header.base_offset)
        aborted = None if batch is None else self._producers.take(batch)
        if indexes is not None:
            indexes.take(header)
            if batch is not None and batch.is_control:
                indexes.take_marker(batch.base_offset, aborted)

    def _doubt_replay(self) -> None:
        """Where batches are missing, replay does not know all that the broker knew."""
        if self._batches.damaged or self._batches.gaps:
            self._producers.exact = False

    def _tell_gaps(self) -> None:
        batches = self._batches
        if not batches.gaps or self._expected.compacted:
            return
        first, end = batches.first_gap
        problem = f"{batches.gaps} gaps in the offsets, the first at {first} to {end - 1}"
        severity = Severity.INFO
        if self._expected.compacted is False and not batches.damaged:
            severity = Severity.WARNING
            problem += ", and the topic is not compacted"
        self._findings.add(Finding(self._directory, problem, severity, offset=first))
