"""Checks data directories against everything that must hold in them, without changing a byte.

    directory     meta.properties, clean-shutdown mark, names                 invariants.identity
    checkpoints   readable, and true of the logs                              invariants.checkpoints
    partition     topic id; then in one pass over its segments                invariants.partition
        .log                     batches, checksums, offsets, records         invariants.batches
        .index .timeindex .txnindex    against the batches                    invariants.indexes
        .snapshot                against replay                               invariants.producers
        leader-epoch-checkpoint  against the batches                          invariants.epochs

Findings have a severity (`storage.invariants.finding`). After a clean shutdown everything must be
right. After any other end, what lies beyond the recovery point may be torn: a start reads it again,
so faults there are told as INFO. Directories that wait for deletion, are filled by a move, or were
set aside are named and not looked into. Used by `tidelog log verify` and the crash tests.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from protocol.model import TopicPartition
from runtime.disk import Disk
from storage.filenames import (
    BOOT_ID_FILE,
    CLEAN_SHUTDOWN_FILE,
    CLEANER_CHECKPOINT,
    DELETE,
    FUTURE,
    LIVE,
    LOCK_FILE,
    LOG,
    LOG_START_OFFSET_CHECKPOINT,
    META_PROPERTIES_FILE,
    METADATA_STORE_FILE,
    RECOVERY_POINT_CHECKPOINT,
    STRAY,
    TEMPORARY,
    parse_partition_directory_name,
    parse_segment_file_name,
)
from storage.invariants.checkpoints import CHECKPOINTS, CheckpointAudit
from storage.invariants.finding import Finding, Findings, Promise, Severity
from storage.invariants.identity import audit_identity, audit_kinship, audit_mark
from storage.invariants.partition import Expected, Extent, audit_partition_directory
from storage.log_dirs import MetaProperties
from storage.reused_names import is_newer_than_checkpoints

_KNOWN = frozenset(
    (LOCK_FILE, BOOT_ID_FILE, CLEAN_SHUTDOWN_FILE, META_PROPERTIES_FILE, *CHECKPOINTS)
)
_STATES = {
    DELETE: "waits for its removal by the next start",
    FUTURE: "is being filled from another log directory; a start goes on with that or drops it",
    STRAY: "was set aside because metadata did not know it; nobody serves or removes it",
}

Advance = Callable[[int], None]


class Question(NamedTuple):
    """What an audit is told and asked.

    `topic_ids` and `compacted` are what metadata says by topic, where there is metadata to ask.
    `deep` unpacks compressed batches. `strict` trusts nothing to a later recovery.
    """

    running: bool = False
    deep: bool = False
    strict: bool = False
    topic_ids: Mapping[str, bytes] = {}
    compacted: Mapping[str, bool] = {}


AS_IT_LIES = Question()


def audit_log_dir(disk: Disk, log_dir: str) -> list[Finding]:
    """Every fault in a log directory and its live partitions, as after a start: strictly."""
    found = audit_log_dirs(disk, [log_dir], Question(strict=True))
    return [finding for finding in found if finding.severity >= Severity.WARNING]


def audit_log_dirs(
    disk: Disk,
    log_dirs: Sequence[str],
    question: Question = AS_IT_LIES,
    advance: Advance = lambda _nbytes: None,
) -> list[Finding]:
    """Everything to be said of the log directories of one broker; `advance` counts bytes read."""
    findings = Findings()
    identities: list[tuple[str, MetaProperties | None]] = []
    for log_dir in log_dirs:
        audit = _DirectoryAudit(disk, log_dir, question, findings, advance)
        identities.append((log_dir, audit.run()))
    audit_kinship(identities, findings)
    return findings.result()


def audit_partition(
    disk: Disk,
    directory: str,
    question: Question = AS_IT_LIES,
    advance: Advance = lambda _nbytes: None,
) -> list[Finding]:
    """Everything to be said of one partition directory; what its log directory says counts."""
    findings, ignored = Findings(), Findings()
    log_dir, _, name = directory.rstrip("/").rpartition("/")
    audit = _DirectoryAudit(disk, log_dir or ".", question, findings, advance)
    audit.clean = audit_mark(disk, log_dir or ".", ignored)
    audit.partition(directory.rstrip("/"), name)
    return findings.result()


def log_bytes(disk: Disk, directory: str) -> int:
    """Bytes of the `.log` files in a partition directory: how much an audit will read."""
    total = 0
    for name in disk.listdir(directory):
        file = parse_segment_file_name(name)
        if file is not None and file.kind == LOG and not file.suffix:
            total += disk.file_size(f"{directory}/{name}")
    return total


def live_partitions(disk: Disk, log_dir: str) -> list[str]:
    """Paths of the live partition directories of a log directory, sorted."""
    found = []
    for name in sorted(disk.listdir(log_dir)):
        parsed = parse_partition_directory_name(name)
        path = f"{log_dir}/{name}"
        if parsed is not None and parsed.state == LIVE and disk.isdir(path):
            found.append(path)
    return found


class _DirectoryAudit:
    """The audit of one log directory."""

    def __init__(
        self, disk: Disk, log_dir: str, question: Question, findings: Findings, advance: Advance
    ) -> None:
        self._disk = disk
        self._log_dir = log_dir
        self._question = question
        self._findings = findings
        self._advance = advance
        self._checkpoints = CheckpointAudit(disk, log_dir, findings)
        self._doubted: set[TopicPartition] = set()
        self.clean = False

    def run(self) -> MetaProperties | None:
        """Look at everything; whose the directory is."""
        disk, log_dir = self._disk, self._log_dir
        identity = audit_identity(disk, log_dir, self._findings)
        self.clean = audit_mark(disk, log_dir, self._findings) and not self._question.running
        extents: dict[TopicPartition, Extent] = {}
        for name in sorted(disk.listdir(log_dir)):
            parsed = parse_partition_directory_name(name)
            path = f"{log_dir}/{name}"
            if parsed is None or not disk.isdir(path):
                self._tell_name(path, name)
            elif parsed.state != LIVE:
                self._findings.add(Finding(path, _STATES[parsed.state], Severity.INFO))
            else:
                extent = self.partition(path, name)
                if extent is not None:
                    extents[TopicPartition(parsed.topic, parsed.partition)] = extent
        if not self._question.running:
            for partition in self._doubted:
                extents.pop(partition, None)
            self._checkpoints.compare(extents, clean=self.clean)
        return identity

    def partition(self, path: str, name: str) -> Extent | None:
        """Look at one partition directory; an error of the disk is told and ends it."""
        try:
            expected = self._expected(path, name)
            return audit_partition_directory(
                self._disk, path, expected, self._findings, self._advance
            )
        except OSError as error:
            problem = f"cannot be read: {error.strerror}"
            remedy = "look at the disk and at the rights of the file"
            self._findings.add(Finding(error.filename or path, problem, remedy=remedy))
            return None

    def _expected(self, path: str, name: str) -> Expected:
        question, offsets = self._question, self._checkpoints.offsets
        parsed = parse_partition_directory_name(name)
        topic = parsed.topic if parsed is not None else ""
        partition = TopicPartition(topic, parsed.partition if parsed is not None else 0)
        recovery_point = offsets[RECOVERY_POINT_CHECKPOINT].get(partition, 0)
        start_offset = offsets[LOG_START_OFFSET_CHECKPOINT].get(partition, 0)
        if not self.clean and is_newer_than_checkpoints(self._disk, path):
            recovery_point = start_offset = 0
            self._doubted.add(partition)
        promise = Promise(self.clean, recovery_point, question.strict, question.running)
        was_cleaned = partition in offsets[CLEANER_CHECKPOINT]
        return Expected(
            promise,
            start_offset,
            question.topic_ids.get(topic),
            True if was_cleaned else question.compacted.get(topic),
            question.deep,
        )

    def _tell_name(self, path: str, name: str) -> None:
        if name in _KNOWN or name.startswith(METADATA_STORE_FILE):
            return
        problem = "not a file of a log directory: passed over"
        if name.endswith(TEMPORARY) and name.removesuffix(TEMPORARY) in _KNOWN:
            problem = "a file that was being written: a leftover"
        self._findings.add(Finding(path, problem, Severity.INFO))
