"""What must hold in the offset checkpoints of a log directory, held against the logs in it.

    recovery-point-offset-checkpoint   ≤ log end, and after a clean shutdown just that
    log-start-offset-checkpoint        ≤ log end                   else a start drops every record
    replication-offset-checkpoint      within [log start, log end] (high watermark)
    cleaner-offset-checkpoint          within [log start, log end] (first dirty offset)

They are written every few seconds or minutes, so that after a crash they may be behind or speak of
what a power cut took: only a clean shutdown leaves them exact. A file that cannot be read counts as
empty at a start, which then reads every log through.
"""

from collections.abc import Mapping
from typing import Final

from protocol.model import TopicPartition
from runtime.disk import Disk
from storage.checkpoints import decode_lines
from storage.errors import CorruptFileError
from storage.filenames import (
    CLEANER_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
)
from storage.invariants.finding import MEND_BY_START, Finding, Findings, Severity
from storage.invariants.partition import Extent

CHECKPOINTS: Final = (
    RECOVERY_POINT_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    CLEANER_CHECKPOINT,
)
_READ_AGAIN = "none needed: the next start counts it as empty, reads the logs through and writes it"

Offsets = dict[TopicPartition, int]


class CheckpointAudit:
    """The checkpoints of one log directory: read first, compared once the logs are known."""

    def __init__(self, disk: Disk, log_dir: str, findings: Findings) -> None:
        self._disk = disk
        self._log_dir = log_dir
        self._findings = findings
        self.offsets: dict[str, Offsets] = {name: self._read(name) for name in CHECKPOINTS}

    def compare(self, extents: Mapping[TopicPartition, Extent], *, clean: bool) -> None:
        """Hold every entry against the log of its partition."""
        starts = self.offsets[LOG_START_OFFSET_CHECKPOINT]
        for name, offsets in self.offsets.items():
            for partition, offset in offsets.items():
                extent = extents.get(partition)
                if extent is None:
                    problem = f"speaks of {partition}, which is not here"
                    exact = clean and name != CLEANER_CHECKPOINT
                    severity = Severity.WARNING if exact else Severity.INFO
                    self._tell(name, problem, severity, MEND_BY_START)
                    continue
                start = max(extent.first_offset, starts.get(partition, 0))
                self._compare(name, partition, offset, (start, extent.log_end_offset), clean)

        if clean:
            self._tell_absent(extents)

    def _tell_absent(self, extents: Mapping[TopicPartition, Extent]) -> None:
        """After a clean shutdown two of the files speak of every log."""
        for name in (RECOVERY_POINT_CHECKPOINT, HIGH_WATERMARK_CHECKPOINT):
            known = self.offsets[name]
            for partition in extents.keys() - known.keys() if known else ():
                problem = f"says nothing of {partition}"
                self._tell(name, problem, Severity.WARNING, MEND_BY_START)

    def _compare(
        self,
        name: str,
        partition: TopicPartition,
        offset: int,
        bounds: tuple[int, int],
        clean: bool,
    ) -> None:
        start, end = bounds
        severity = Severity.ERROR if clean else Severity.INFO
        if offset > end:
            if name == LOG_START_OFFSET_CHECKPOINT:
                severity = max(severity, Severity.WARNING)
            problem = f"{partition}: {offset} is beyond the log end, {end}"
            self._tell(name, problem, severity, _remedy(name), offset)
        elif clean and offset < end and name == RECOVERY_POINT_CHECKPOINT:
            problem = f"{partition}: {offset}, but the log was closed cleanly at {end}"
            self._tell(name, problem, Severity.WARNING, _remedy(name), offset)
        elif offset < start and name in (HIGH_WATERMARK_CHECKPOINT, CLEANER_CHECKPOINT):
            problem = f"{partition}: {offset} is below the log start, {start}"
            self._tell(name, problem, min(severity, Severity.WARNING), _remedy(name), offset)

    def _tell(
        self, name: str, problem: str, severity: Severity, remedy: str, offset: int | None = None
    ) -> None:
        path = f"{self._log_dir}/{name}"
        self._findings.add(Finding(path, problem, severity, offset=offset, remedy=remedy))

    def _read(self, name: str) -> Offsets:
        path = f"{self._log_dir}/{name}"
        found: Offsets = {}
        try:
            if not self._disk.exists(path):
                return {}
            for fields in decode_lines(path, self._disk.read_file(path)):
                partition, offset = _entry(path, fields)
                if partition in found:
                    self._tell(name, f"{partition} has two lines", Severity.WARNING, MEND_BY_START)
                found[partition] = offset
        except CorruptFileError as error:
            self._tell(name, error.reason, Severity.WARNING, _READ_AGAIN)
        except OSError as error:
            self._tell(name, f"cannot be read: {error.strerror}", Severity.ERROR, _READ_AGAIN)
        return found


def _entry(path: str, fields: list[str]) -> tuple[TopicPartition, int]:
    try:
        topic, number, text = fields
        partition, offset = TopicPartition(topic, int(number)), int(text)
    except ValueError as error:
        raise CorruptFileError(path, f"malformed line {' '.join(fields)!r}") from error
    if offset < 0 or partition.partition < 0:
        raise CorruptFileError(path, f"impossible line {' '.join(fields)!r}")
    return partition, offset


def _remedy(name: str) -> str:
    if name == LOG_START_OFFSET_CHECKPOINT:
        return "take its line out before the next start, which would drop every record of the log"
    return "none needed: the next start takes the nearest offset that can be"
