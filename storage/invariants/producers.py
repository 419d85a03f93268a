"""What must hold in `.snapshot` files, held against the producers that replay of the log finds.

A snapshot at an offset has each producer's state after the batches below it. Replay finds the same
only where it saw them all: from the first offset of the log, or from a readable snapshot at the
first segment's base, without gaps by compaction or damage. Elsewhere a snapshot has only to be
readable. A producer may be missing: producers expire, and nothing on disk says when.
"""

from collections.abc import Iterable

from protocol.errors import KafkaError
from protocol.model import TopicPartition
from protocol.records.batch import RecordBatch
from runtime.disk import Disk
from storage.errors import CorruptFileError
from storage.filenames import SNAPSHOT, segment_path
from storage.invariants.finding import (
    MEND_BY_START,
    Finding,
    Findings,
    Promise,
    Severity,
)
from storage.producer.entry import NO_COORDINATOR_EPOCH, NO_OFFSET, ProducerEntry
from storage.producer.snapshot import read_snapshot
from storage.producer.state import ProducerState
from storage.segment.recovery import replay_batch
from storage.segment.transaction_index import AbortedEntry

_MEND_SNAPSHOT = "stop the broker and delete the file: a start replays from the snapshot before it"


class ProducerAudit:
    """The replay of one log, and its snapshots as their offsets are passed."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        snapshots: Iterable[int],
        findings: Findings,
        promise: Promise,
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._findings = findings
        self._promise = promise
        self._waiting = sorted(snapshots, reverse=True)
        self._producers = ProducerState(disk, directory, TopicPartition("", 0))
        self.exact = False
        """Whether replay knows every producer of the log so far."""

    def begin(self, first_base_offset: int, log_start_offset: int) -> None:
        """The log's first segment has this base offset."""
        whole = first_base_offset == 0
        if self._waiting and self._waiting[-1] == first_base_offset:
            entries = self._read(self._waiting.pop())
            if entries is not None:
                self._producers.restore(entries, first_base_offset)
                whole = True
        self.exact = whole and log_start_offset <= first_base_offset

    def reach(self, offset: int) -> None:
        """All batches below an offset were replayed: compare the snapshots up to there."""
        while self._waiting and self._waiting[-1] <= offset:
            at = self._waiting.pop()
            entries = self._read(at)
            if entries is not None and self.exact:
                self._compare(at, entries)

    def take(self, batch: RecordBatch) -> AbortedEntry | None:
        """Replay a batch; the aborted transaction that it ends."""
        try:
            return replay_batch(self._producers, batch)
        except (KafkaError, KeyError):
            # A marker that cannot be read is told by whoever looks at records.
            self.exact = False
            return None

    def finish(self, log_end_offset: int) -> None:
        """The log ends at an offset; snapshots beyond it say what is not so."""
        self.reach(log_end_offset)
        while self._waiting:
            at = self._waiting.pop()
            self._read(at)
            severity = Severity.INFO if self._promise.running else Severity.WARNING
            problem = f"beyond the log end, {log_end_offset}: a start deletes it"
            self._tell(at, problem, severity, MEND_BY_START)

    def _tell(self, at: int, problem: str, severity: Severity, remedy: str) -> None:
        path = segment_path(self._directory, at, SNAPSHOT)
        self._findings.add(Finding(path, problem, severity, offset=at, remedy=remedy))

    def _read(self, at: int) -> list[ProducerEntry] | None:
        path = segment_path(self._directory, at, SNAPSHOT)
        try:
            return read_snapshot(self._disk, path)
        except CorruptFileError as error:
            problem = f"{error.reason}; a start uses the snapshot before it"
            trusted = self._promise.strict or self._promise.holds_at(at)
            severity = Severity.WARNING if trusted else Severity.INFO
            self._tell(at, problem, severity, _MEND_SNAPSHOT)
        except FileNotFoundError:
            pass  # deleted by the broker while this looked on
        return None

    def _compare(self, at: int, entries: list[ProducerEntry]) -> None:
        severity = self._promise.of_content(at)
        found = {entry.producer_id for entry in entries}
        for entry in entries:
            known = self._producers.get(entry.producer_id)
            if known is None:
                problem = f"producer {entry.producer_id} wrote nothing before"
                self._tell(at, problem, severity, _MEND_SNAPSHOT)
            elif _state(entry) != _state(known) or _contradicts(entry, known):
                problem = f"says {entry}, the log says {known}"
                self._tell(at, problem, severity, _MEND_SNAPSHOT)
        for known in self._producers.entries():
            if known.producer_id not in found and known.transaction_first_offset != NO_OFFSET:
                problem = f"producer {known.producer_id}, with a transaction open, is missing"
                self._tell(at, problem, severity, _MEND_SNAPSHOT)


def _state(entry: ProducerEntry) -> tuple[object, ...]:
    """What a snapshot keeps; of the last batch it has no timestamp but the producer's."""
    return (
        entry.producer_epoch,
        [batch[:3] for batch in entry.batches[-1:]],
        entry.last_timestamp,
        entry.transaction_first_offset,
    )


def _contradicts(entry: ProducerEntry, known: ProducerEntry) -> bool:
    """Whether the coordinator epochs differ; a producer that expired and came back has none."""
    unknown = NO_COORDINATOR_EPOCH
    return entry.coordinator_epoch not in (unknown, known.coordinator_epoch)
