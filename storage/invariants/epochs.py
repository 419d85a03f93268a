"""What must hold in `leader-epoch-checkpoint`, held against the epochs in the batches.

    epochs and start offsets ascend; none starts beyond the log end
    the entry that covers a batch's offset, or the first one before that, names the batch's epoch

The file is behind memory while a broker runs and after a crash: what it lacks beyond the recovery
point is found again in the batches. The epoch in a batch lies outside its checksum, so that this
comparison is what notices a wrong one.
"""

from runtime.disk import Disk
from storage.checkpoints import decode_lines
from storage.errors import CorruptFileError
from storage.filenames import LEADER_EPOCH_CHECKPOINT
from storage.invariants.finding import (
    MEND_BY_RECOVERY,
    Finding,
    Findings,
    Promise,
    Severity,
)
from storage.segment.batch_scan import BatchHeader

_REMEDY = (
    "stop the broker and delete the file: a start after it was killed makes it anew from the "
    "batches, if the recovery point is taken back; until then followers may cut off too much"
)


class EpochAudit:
    """The epochs of one log while its batches pass."""

    def __init__(self, disk: Disk, directory: str, findings: Findings, promise: Promise) -> None:
        self._disk = disk
        self._path = f"{directory}/{LEADER_EPOCH_CHECKPOINT}"
        self._findings = findings
        self._promise = promise
        self._start_offset = 0
        self._told: set[tuple[int, int]] = set()
        self._entries: list[tuple[int, int]] = []
        self._slot = -1
        self._known = False
        self._exists = disk.exists(self._path)

    def begin(self, log_start_offset: int) -> None:
        """Read the file; batches below the log start may be older than its first entry."""
        self._start_offset = log_start_offset
        try:
            self._entries = self._read()
            self._known = True
        except CorruptFileError as error:
            problem = f"{error.reason}; a start then knows no epochs below the recovery point"
            self._tell(problem, Severity.ERROR)

    def take(self, header: BatchHeader) -> None:
        """Hold a batch against the entry that covers it."""
        offset = max(header.base_offset, self._start_offset)
        if not self._known or header.leader_epoch < 0 or header.last_offset < self._start_offset:
            return
        entries = self._entries
        while self._slot + 1 < len(entries) and entries[self._slot + 1][1] <= offset:
            self._slot += 1
        covered = entries[self._slot][0] if self._slot >= 0 else -1
        if covered == header.leader_epoch or (covered, header.leader_epoch) in self._told:
            return
        self._told.add((covered, header.leader_epoch))
        severity = Severity.ERROR if self._promise.holds_at(offset) else Severity.INFO
        if covered < 0 and self._exists:
            # The first entry was cut to a log start that no checkpoint kept when the broker died.
            severity = Severity.INFO
        here = "no epoch covers" if covered < 0 else f"epoch {covered} covers"
        self._tell(
            f"{here} offset {offset}, whose batch has {header.leader_epoch}", severity, offset
        )

    def finish(self, log_end_offset: int) -> None:
        """The log ends here."""
        for epoch, start_offset in self._entries:
            if start_offset > log_end_offset:
                severity = Severity.ERROR if self._promise.clean else Severity.INFO
                problem = f"epoch {epoch} starts at {start_offset}, beyond the log end"
                self._tell(problem, severity, log_end_offset)

    def _tell(self, problem: str, severity: Severity, offset: int | None = None) -> None:
        if severity == Severity.INFO and self._promise.running:
            return
        remedy = MEND_BY_RECOVERY if severity == Severity.INFO else _REMEDY
        self._findings.add(Finding(self._path, problem, severity, offset=offset, remedy=remedy))

    def _read(self) -> list[tuple[int, int]]:
        if not self._exists:
            return []
        entries: list[tuple[int, int]] = []
        for fields in decode_lines(self._path, self._disk.read_file(self._path)):
            try:
                epoch, start_offset = map(int, fields)
            except ValueError as error:
                reason = f"malformed line {' '.join(fields)!r}"
                raise CorruptFileError(self._path, reason) from error
            if epoch < 0 or start_offset < 0:
                raise CorruptFileError(self._path, f"impossible line {' '.join(fields)!r}")
            if entries and (epoch <= entries[-1][0] or start_offset <= entries[-1][1]):
                self._tell(f"epoch {epoch} does not ascend", Severity.ERROR, start_offset)
            entries.append((epoch, start_offset))
        return entries
