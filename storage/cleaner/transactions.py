"""Which transactions a pass over a log has met, and what of them may go.

    aborted data             goes, whatever its keys
    marker                   stays while a batch of its transaction was met in this pass: readers of
                             what older passes left, and the index, still need it
    .txnindex entry          stays with its marker, for the same time

A transaction is known to be aborted by the index entry of its marker, which may lie in a later
segment than its data. Source: CleanedTransactionMetadata.java (4.3).
"""

from collections.abc import Iterable
from heapq import heapify, heappop

from protocol.records.batch import RecordBatch
from protocol.records.control import ControlType, control_type
from storage.segment.transaction_index import AbortedEntry


class _Aborted:
    """An aborted transaction whose marker was not met yet."""

    __slots__ = ("entry", "has_data")

    def __init__(self, entry: AbortedEntry) -> None:
        self.entry = entry
        self.has_data = False


class CleanedTransactions:
    """The transactions of one pass; its batches are shown to it in the order of the log."""

    __slots__ = ("_aborted", "_committed", "_kept", "_waiting")

    def __init__(self, aborted: Iterable[AbortedEntry]) -> None:
        """All transactions known to be aborted that may have data in what is passed over."""
        self._waiting = [(entry.first_offset, entry) for entry in aborted]
        heapify(self._waiting)
        self._aborted: dict[int, _Aborted] = {}
        self._committed: set[int] = set()
        self._kept: list[AbortedEntry] = []

    def data_may_go(self, batch: RecordBatch) -> bool:
        """Whether a batch of data belongs to an aborted transaction."""
        self._reach(batch.last_offset)
        if not batch.is_transactional:
            return False
        aborted = self._aborted.get(batch.producer_id)
        if aborted is None:
            self._committed.add(batch.producer_id)
            return False
        aborted.has_data = True
        return True

    def marker_may_go(self, batch: RecordBatch) -> bool:
        """Whether no batch was met of the transaction that this control batch ends."""
        self._reach(batch.last_offset)
        records = batch.records()
        if not records:
            return True
        kind = control_type(records[0].key)
        if kind == ControlType.ABORT:
            aborted = self._aborted.pop(batch.producer_id, None)
            if aborted is None or not aborted.has_data:
                return True
            self._kept.append(aborted.entry)
            return False
        if kind == ControlType.COMMIT:
            if batch.producer_id not in self._committed:
                return True
            self._committed.discard(batch.producer_id)
        return False

    def take_kept(self) -> list[AbortedEntry]:
        """Index entries of the abort markers that stay, met since this was last asked."""
        kept, self._kept = self._kept, []
        return kept

    def _reach(self, offset: int) -> None:
        """Transactions that began up to here are under way."""
        waiting = self._waiting
        while waiting and waiting[0][0] <= offset:
            _, entry = heappop(waiting)
            self._aborted.setdefault(entry.producer_id, _Aborted(entry))
