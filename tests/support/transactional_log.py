"""Transactions written to a log as producers and their coordinator write them, and read as a
consumer reads them.

    producer = TransactionalProducer(producer_id=7)
    producer.append(harness, [b"a", b"b"])      opens a transaction, or goes on with it
    producer.end(harness, commit=True)          the coordinator's marker
    read_committed(harness.log, 0)              what a consumer of committed data is shown

Epoch and sequence are what the log expects next, so that a producer goes on after its log was cut
or started again, as a client does that was told of it.
"""

import heapq
from collections.abc import Sequence

from protocol.records.batch import RecordBatch, iterate_batches
from protocol.records.builder import build_batch
from protocol.records.control import (
    EndTransactionMarker,
    build_end_transaction_marker,
    parse_end_transaction_marker,
)
from storage.log.partition_log import PartitionLog
from storage.log.results import AbortedTransaction, AppendResult, Origin, ReadBound
from tests.support.log_harness import LogHarness, records


class TransactionalProducer:
    """One producer id; `coordinator_epoch` is what its markers say."""

    def __init__(self, producer_id: int, coordinator_epoch: int = 0) -> None:
        self.producer_id = producer_id
        self.coordinator_epoch = coordinator_epoch

    def batch(
        self, log: PartitionLog, values: Sequence[bytes], timestamp: int, *, plain: bool = False
    ) -> bytearray:
        """The next batch, as it is sent."""
        epoch, sequence = self.expected(log)
        return build_batch(
            records(values, timestamp),
            producer_id=self.producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=not plain,
        )

    def expected(self, log: PartitionLog) -> tuple[int, int]:
        """(epoch, sequence) that the log takes next."""
        entry = log.producers.get(self.producer_id)
        if entry is None or entry.producer_epoch < 0:
            return 0, 0
        return entry.producer_epoch, (entry.last_sequence + 1) & 0x7FFFFFFF

    def append(
        self, harness: LogHarness, values: Sequence[bytes], *, plain: bool = False
    ) -> AppendResult:
        """Send the next batch; `plain` outside of transactions. The jobs are run."""
        data = self.batch(harness.log, values, harness.now_ms, plain=plain)
        return _append(harness, data, Origin.CLIENT)

    def marker(
        self, log: PartitionLog, timestamp: int, *, commit: bool, bump: bool = False
    ) -> bytearray:
        """What ends the transaction, as the coordinator writes it; `bump` raises the epoch."""
        epoch, _ = self.expected(log)
        return build_end_transaction_marker(
            EndTransactionMarker(commit, self.coordinator_epoch),
            producer_id=self.producer_id,
            producer_epoch=epoch + bump,
            timestamp=timestamp,
        )

    def end(self, harness: LogHarness, *, commit: bool, bump: bool = False) -> AppendResult:
        """Have the coordinator end the transaction; `bump` as transactions v2 do (KIP-890)."""
        data = self.marker(harness.log, harness.now_ms, commit=commit, bump=bump)
        return _append(harness, data, Origin.COORDINATOR)


def _append(harness: LogHarness, data: bytearray, origin: Origin) -> AppendResult:
    log = harness.log
    epoch = max(log.latest_epoch, 0)
    result = log.append_as_leader(memoryview(data), epoch, harness.now_ms, origin=origin)
    harness.run(result.jobs)
    return result


def read_committed(
    log: PartitionLog, offset: int, max_bytes: int = 1 << 20
) -> list[tuple[int, bytes | None]]:
    """(offset, value) of what a consumer under read_committed shows its user from an offset on."""
    shown: list[tuple[int, bytes | None]] = []
    while True:
        result = log.read(offset, max_bytes, ReadBound.LAST_STABLE, True)
        assert result.aborted_transactions is not None
        if result.slice is None:
            return shown
        data = result.slice.read()
        result.slice.release()
        for batch in without_aborted(data, result.aborted_transactions):
            shown += [(one.offset, one.value) for one in batch.records() if one.offset >= offset]
        for batch in iterate_batches(data):
            offset = batch.next_offset


def without_aborted(data: bytes, aborted: Sequence[AbortedTransaction]) -> list[RecordBatch]:
    """The batches of data that a consumer keeps of one answer (`CompletedFetch.java`)."""
    ahead = [(one.first_offset, one.producer_id) for one in aborted]
    heapq.heapify(ahead)
    dropped: set[int] = set()
    kept: list[RecordBatch] = []
    for batch in iterate_batches(data):
        while ahead and ahead[0][0] <= batch.last_offset:
            dropped.add(heapq.heappop(ahead)[1])
        if batch.is_control:
            marker = parse_end_transaction_marker(batch)
            if marker is not None and not marker.commit:
                dropped.discard(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in dropped):
            kept.append(batch)
    return kept
