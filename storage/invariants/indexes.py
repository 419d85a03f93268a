"""What must hold in the index files of a segment, held against its batches as they pass.

    .index      entries ascend in both fields; each lands on a batch boundary and names the last
                offset of that batch, or (followers and cleaners before Kafka 4.1) of a later one
                written at once with it
    .timeindex  timestamps ascend, offsets do not go back; each names the greatest timestamp up to
                an offset and the batch that has it; the last one that of the whole segment, once
                the segment takes no more appends
    .txnindex   the transactions whose abort marker lies in the segment, and no other

Against a linear scan, not against other indexes: what is found is true of the bytes. Indexes of a
segment that was not closed may be preallocated by Kafka; zeros at their end are no fault.
"""

from collections.abc import Iterator
from typing import NamedTuple

from runtime.disk import Disk
from storage.errors import CorruptFileError
from storage.filenames import (
    LOG,
    OFFSET_INDEX,
    TIME_INDEX,
    TRANSACTION_INDEX,
    segment_path,
)
from storage.invariants.finding import (
    MEND_BY_REBUILD,
    MEND_BY_RECOVERY,
    Finding,
    Findings,
    Severity,
)
from storage.segment.batch_scan import BatchHeader
from storage.segment.offset_index import OffsetIndex
from storage.segment.time_index import TimeIndex
from storage.segment.transaction_index import AbortedEntry, TransactionIndex

_LAYOUTS = {OFFSET_INDEX: OffsetIndex.layout, TIME_INDEX: TimeIndex.layout}


class IndexRules(NamedTuple):
    """What is asked of the indexes of one segment."""

    severity: Severity
    """Of a fault; INFO where the next start makes the indexes anew anyway."""
    open_ended: bool
    """Appends may go on: zeros at the end, and no last time entry, are in order."""
    exact: bool
    """Each offset entry names its own batch, as Tidelog and Kafka from 4.1 on write them."""
    log_start_offset: int = 0
    """What lies before it is deleted, though it may still be in the files."""


class IndexAudit:
    """The indexes of one segment: made before its batches are walked, `finish`ed after."""

    def __init__(
        self, disk: Disk, directory: str, base_offset: int, rules: IndexRules, findings: Findings
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._base_offset = base_offset
        self._rules = rules
        self._findings = findings
        self._offsets = _Ahead(self._ascending(OFFSET_INDEX))
        self._times = _Ahead(self._ascending(TIME_INDEX))
        self._reach: set[int] = set()
        self._several = 0
        self._latest = -1
        self._last_time = -1
        self._markers: set[int] = set()
        self._aborted: dict[int, AbortedEntry] = {}

    def take(self, header: BatchHeader) -> None:
        """Hold the entries that speak of this batch, or of nothing before it, against it."""
        self._take_position(header)
        self._take_time(header)

    def take_marker(self, offset: int, aborted: AbortedEntry | None) -> None:
        """A transaction ends here; with which entry, if it is known to be an abort."""
        self._markers.add(offset)
        if aborted is not None:
            self._aborted[offset] = aborted

    def finish(self, end_position: int, *, exact_replay: bool) -> None:
        """All batches have passed; the last ends at a position.

        Without `exact_replay` the transactions are not known well enough to miss entries.
        """
        for relative_offset, position in self._offsets:
            self._tell(OFFSET_INDEX, f"entry ({relative_offset}, {position}) lies beyond the log")
        for offset in self._reach:
            self._tell(OFFSET_INDEX, f"offset {offset} of an entry ends no batch")
        if self._several:
            path = self._path(OFFSET_INDEX)
            problem = f"{self._several} entries cover several batches each, as Kafka wrote to 4.0"
            self._findings.add(Finding(path, problem, Severity.INFO))
        for timestamp, relative_offset in self._times:
            self._tell(TIME_INDEX, f"entry ({timestamp}, {relative_offset}) lies beyond the log")
        closed = not self._rules.open_ended
        if closed and end_position and self._last_time != self._latest and self._latest >= 0:
            self._tell(
                TIME_INDEX,
                f"the last entry has timestamp {self._last_time}, the segment {self._latest}",
            )
        self._check_aborted(exact_replay)

    def _path(self, kind: str) -> str:
        return segment_path(self._directory, self._base_offset, kind)

    def _tell(self, kind: str, problem: str, slot: int | None = None) -> None:
        rebuilt = self._rules.severity == Severity.INFO
        position = None if slot is None else slot * _LAYOUTS[kind].size
        remedy = MEND_BY_RECOVERY if rebuilt else MEND_BY_REBUILD
        finding = Finding(self._path(kind), problem, self._rules.severity, position, None, remedy)
        self._findings.add(finding)

    def _ascending(self, kind: str) -> Iterator[tuple[int, int]]:
        """The entries, but for those out of order, which are told."""
        before = (-1, -1)
        strict_field = kind == OFFSET_INDEX
        for slot, entry in enumerate(self._rows(kind)):
            if entry[0] <= before[0] or entry[1] < before[1] + strict_field:
                self._tell(kind, f"entry {entry} does not ascend after {before}", slot)
                continue
            before = entry
            yield entry

    def _rows(self, kind: str) -> list[tuple[int, int]]:
        path = self._path(kind)
        if not self._disk.exists(path):
            if not self._rules.open_ended:
                severity = min(self._rules.severity, Severity.WARNING)
                log = self._path(LOG).rpartition("/")[2]
                problem = f"missing: the next start reads {log} through and makes it anew"
                self._findings.add(Finding(path, problem, severity, remedy=MEND_BY_RECOVERY))
            return []
        layout = _LAYOUTS[kind]
        data = self._disk.read_file(path)
        if self._rules.open_ended:
            used = len(data.rstrip(b"\0"))
            data = data[: -(-used // layout.size) * layout.size]
        if len(data) % layout.size:
            self._tell(kind, f"{len(data)} bytes are no whole number of entries")
            data = data[: len(data) // layout.size * layout.size]
        return list(layout.iter_unpack(data))

    def _take_position(self, header: BatchHeader) -> None:
        self._reach.discard(header.last_offset)
        entries = self._offsets
        while entries.head is not None and entries.head[1] <= header.position:
            relative_offset, position = entries.pop()
            offset = self._base_offset + relative_offset
            entry = f"entry ({offset}, {position})"
            if position < header.position:
                self._tell(OFFSET_INDEX, f"{entry} points at no batch: none begins there")
            elif offset == header.last_offset:
                continue
            elif offset < header.last_offset or self._rules.exact:
                self._tell(OFFSET_INDEX, f"{entry} points at no batch that ends so")
            else:
                self._several += 1
                self._reach.add(offset)

    def _take_time(self, header: BatchHeader) -> None:
        entries, latest = self._times, self._latest
        while (
            entries.head is not None and self._base_offset + entries.head[1] <= header.last_offset
        ):
            timestamp, relative_offset = entries.pop()
            offset = self._base_offset + relative_offset
            self._last_time = timestamp
            if latest > timestamp:
                self._tell(TIME_INDEX, f"a batch up to offset {offset} is later than {timestamp}")
            elif offset < header.base_offset or timestamp != header.max_timestamp:
                self._tell(TIME_INDEX, f"no batch at offset {offset} has timestamp {timestamp}")
        self._latest = max(latest, header.max_timestamp)

    def _check_aborted(self, exact_replay: bool) -> None:
        path = self._path(TRANSACTION_INDEX)
        try:
            found = TransactionIndex(self._disk, path, self._base_offset).entries()
        except CorruptFileError as error:
            self._tell(TRANSACTION_INDEX, error.reason)
            return
        expected = dict(self._aborted)
        for entry in found:
            due = expected.pop(entry.last_offset, None)
            if entry.last_offset not in self._markers:
                self._tell(TRANSACTION_INDEX, f"{entry} names no marker of this segment")
            elif (
                due is not None and due != entry and (exact_replay or not self._covers(entry, due))
            ):
                self._tell(TRANSACTION_INDEX, f"{entry} should be {due}")
            elif due is None and exact_replay:
                self._tell(TRANSACTION_INDEX, f"{entry} names a marker that aborts nothing")
            elif not 0 <= entry.first_offset <= entry.last_offset >= entry.last_stable_offset - 1:
                self._tell(TRANSACTION_INDEX, f"{entry} has offsets that cannot be")
        if exact_replay and self._rules.severity != Severity.INFO:
            for entry in expected.values():
                self._tell(TRANSACTION_INDEX, f"{entry} is missing: readers would see its records")

    def _covers(self, entry: AbortedEntry, due: AbortedEntry) -> bool:
        """Whether an entry is of this transaction.

        It may have begun with what compaction took; or with deleted records, and then the entry
        may have been made by who did not look at those.
        """
        deleted = due.first_offset < self._rules.log_start_offset
        return entry.producer_id == due.producer_id and (
            deleted or entry.first_offset <= due.first_offset
        )


class _Ahead:
    """An iterator whose next item can be looked at."""

    def __init__(self, entries: Iterator[tuple[int, int]]) -> None:
        self._entries = entries
        self.head = next(entries, None)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        while self.head is not None:
            yield self.pop()

    def pop(self) -> tuple[int, int]:
        """The next item, which there must be."""
        head = self.head
        assert head is not None
        self.head = next(self._entries, None)
        return head
