"""What must hold in `.log` files, from batch to batch and inside each.

    whole batches to the end, checksums right            all formats
    offsets ascend, none below its segment's base        within 2^31 of it
    a segment begins where the one before ends, or later
    leader epochs never go back
    records: as many as declared, their offsets ascending within the batch, no timestamp above the
    batch's (equal to the greatest, unless the broker's clock stamped them)

The last line is checked for batches without compression, for all in a deep audit. Offsets that are
missing between batches or inside one are right in a log that was compacted, and nowhere else.
"""

from collections.abc import Callable, Set

from protocol.errors import KafkaError
from protocol.records.batch import RecordBatch
from protocol.records.kernel import validate_records
from storage.invariants.finding import (
    MEND_BY_RECOVERY,
    MEND_BY_REPAIR,
    Finding,
    Findings,
    Promise,
    Severity,
)
from storage.segment.batch_scan import BatchHeader, Read
from storage.segment.salvage import Damaged, salvage
from storage.segment.sparse_index import MAX_RELATIVE_OFFSET

_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1
_ZERO_CHUNK = 1 << 20

Advance = Callable[[int], None]
"""Told how many bytes more were read."""
Take = Callable[[BatchHeader, RecordBatch | None], None]
"""Given each right batch, in order."""


class BatchAudit:
    """The walk over the segments of one log, in order."""

    def __init__(self, findings: Findings, promise: Promise, *, deep: bool) -> None:
        self._findings = findings
        self._promise = promise
        self._deep = deep
        self._path = ""
        self._base_offset = 0
        self.next_offset: int | None = None
        self.latest_epoch = -1
        self.damaged = False
        """Whether batches were passed over, so that state replayed from here on may lack them."""
        self.known_gaps: Set[tuple[int, int]] = frozenset()
        """Those that a repair left; they do not count."""
        self.gaps = 0
        self.first_gap = (0, 0)

    def begin_segment(self, path: str, base_offset: int) -> None:
        """The next segment, whose base offset must not lie before what was seen."""
        self._path, self._base_offset = path, base_offset
        expected = self.next_offset
        if expected is not None and base_offset < expected:
            self._tell(f"the segment before reaches to offset {expected - 1}", 0, base_offset)
        elif expected is not None and base_offset > expected:
            self._gap(expected, base_offset)
        self.next_offset = max(base_offset, expected or 0)

    def walk(self, read: Read, length: int, advance: Advance, take: Take, is_last: bool) -> int:
        """Look at a segment's bytes; where its last right batch ends."""
        end = 0
        for piece in salvage(read, length, self._base_offset):
            if isinstance(piece, Damaged):
                self._damage(piece, read, length, is_last)
                advance(piece.size)
                continue
            header, _, batch = piece
            advance(header.size)
            if self._in_order(header):
                if batch is not None:
                    self._records(batch, header.position)
                take(header, batch)
                end = header.position + header.size
        return end

    def _tell(self, problem: str, position: int, offset: int) -> None:
        severity = self._promise.of_content(offset)
        remedy = MEND_BY_REPAIR if severity == Severity.ERROR else MEND_BY_RECOVERY
        self._findings.add(Finding(self._path, problem, severity, position, offset, remedy))

    def _damage(self, piece: Damaged, read: Read, length: int, is_last: bool) -> None:
        ends_file = piece.position + piece.size == length
        expected = self.next_offset or 0
        if is_last and ends_file and not self._promise.clean:
            if self._promise.running:
                return
            if _only_zeros(read, piece.position, length):
                problem = f"{piece.size} zeros after the last batch: space reserved ahead"
                self._findings.add(Finding(self._path, problem, Severity.INFO, piece.position))
                return
        self.damaged = True
        self._tell(
            f"{piece.size} bytes are no whole batch: {piece.reason}", piece.position, expected
        )

    def _in_order(self, header: BatchHeader) -> bool:
        """Whether the batch can be where it is; one that cannot counts for nothing further."""
        first, last = header.base_offset, header.last_offset
        expected = self.next_offset or 0
        position = header.position
        if last < first:
            self._tell("the batch ends before it begins", position, first)
        elif first < expected:
            self._tell(f"offset {first} goes back: {expected} or more is due", position, expected)
        elif last - self._base_offset > MAX_RELATIVE_OFFSET:
            self._tell(f"offset {last} is out of the segment's range", position, expected)
        else:
            self._follow(header, expected)
            return True
        self.damaged = True
        return False

    def _follow(self, header: BatchHeader, expected: int) -> None:
        if header.base_offset > expected:
            self._gap(expected, header.base_offset)
        if header.leader_epoch < -1:
            problem = f"leader epoch {header.leader_epoch} cannot be"
            self._tell(problem, header.position, header.base_offset)
        elif 0 <= header.leader_epoch < self.latest_epoch:
            self._tell(
                f"leader epoch {header.leader_epoch} at offset {header.base_offset} goes back: "
                f"it was {self.latest_epoch} before",
                header.position,
                header.base_offset,
            )
        self.latest_epoch = max(self.latest_epoch, header.leader_epoch)
        self.next_offset = header.last_offset + 1

    def _gap(self, expected: int, found: int) -> None:
        if (expected, found) in self.known_gaps:
            return
        if not self.gaps:
            self.first_gap = expected, found
        self.gaps += 1

    def _records(self, batch: RecordBatch, position: int) -> None:
        """Look at the records inside, where that needs no unpacking or was asked for."""
        span = batch.last_offset_delta + 1
        if batch.record_count > span or batch.record_count < 0:
            problem = f"{batch.record_count} records cannot have {span} offsets"
            self._tell(problem, position, batch.base_offset)
            return
        if batch.record_count < span:
            self._gap(batch.base_offset, batch.base_offset + span)
        if batch.codec and not self._deep:
            return
        try:
            problem = self._inside(batch)
        except KafkaError as error:
            problem = f"the records cannot be read: {error.message}"
        if problem:
            self._tell(problem, position, batch.base_offset)

    def _inside(self, batch: RecordBatch) -> str:
        if not batch.record_count:
            return ""
        payload = batch.decompressed()
        scan = validate_records(
            payload, batch.record_count, batch.base_timestamp, False, _SMALLEST, _LARGEST
        )
        if not batch.is_log_append_time and scan.max_timestamp != batch.max_timestamp:
            return (
                f"the greatest timestamp of the records is {scan.max_timestamp}, "
                f"the batch says {batch.max_timestamp}"
            )
        if scan.consecutive:
            return ""
        before = batch.base_offset - 1
        for record in batch.records():
            if not before < record.offset <= batch.last_offset:
                return f"record offset {record.offset} does not ascend within the batch"
            before = record.offset
        return ""


def _only_zeros(read: Read, position: int, length: int) -> bool:
    while position < length:
        chunk = read(min(_ZERO_CHUNK, length - position), position)
        if not chunk or chunk.count(0) != len(chunk):
            return False
        position += len(chunk)
    return True
