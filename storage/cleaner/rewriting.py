"""What becomes of one batch when its log is cleaned.

```text
record   stays   at or after the end of the map
                 or without a later offset of its key, and with a value, or a tombstone whose
                 horizon has not come
batch    as it is         all records stay, and no horizon is to be set
         rebuilt          some stay: offsets, sequence, producer, epochs as they were
         empty header     none stays, but a live producer or the end of the round needs it
         nothing          else
```
The first pass that meets a tombstone, or the marker of a transaction without data, writes into its
batch when it may go: bit 6 of the attributes, and now + delete.retention.ms in place of the base
timestamp, to which the timestamp deltas are moved. Kept by every rewrite: base offset, last offset
delta and base sequence, so that a producer's sequence is still found; the codec.
Source: MemoryRecords.filterTo, Cleaner.cleanInto (4.3), KIP-534.
"""

from struct import Struct
from typing import NamedTuple

from protocol.crc32c import crc32c
from protocol.records.batch import (
    CODEC_MASK,
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    HEADER,
    HEADER_SIZE,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC,
    TRANSACTIONAL_FLAG,
    RecordBatch,
)
from protocol.records.compaction import OffsetMap, Retention, copy_records
from protocol.records.compression import compress
from storage.cleaner.order import LastRecord
from storage.cleaner.transactions import CleanedTransactions

_CRC = Struct(">I")
_CRC_POSITION = 17
_CHECKED_POSITION = 21
_NO_TIMESTAMP = -1
_KEPT_FLAGS = LOG_APPEND_TIME_FLAG | TRANSACTIONAL_FLAG | CONTROL_FLAG


class CleaningRules(NamedTuple):
    """What decides, for all batches of a cleaning.

    The map knows the keys below `map_end_offset`; `round_end_offset` is where the round ends.
    """

    offsets: OffsetMap
    map_end_offset: int
    round_end_offset: int
    producers: dict[int, LastRecord]
    now_ms: int
    delete_retention_ms: int


class BatchCleaner:
    """Cleans batch after batch of a log, in its order."""

    __slots__ = ("_horizon_ms", "_rules", "messages_read", "messages_written", "transactions")

    def __init__(self, rules: CleaningRules, transactions: CleanedTransactions) -> None:
        self._rules = rules
        self._horizon_ms = rules.now_ms + rules.delete_retention_ms
        self.transactions = transactions
        self.messages_read = 0
        self.messages_written = 0

    def clean(self, batch: RecordBatch) -> RecordBatch | None:
        """The batch, one in its place, or nothing. MalformedRecords, CorruptBatch, KafkaError for
        records that cannot be read.
        """
        marker_goes = False
        if batch.is_control:
            marker_goes = self.transactions.marker_may_go(batch)
            drop = marker_goes and batch.has_delete_horizon and self._horizon_has_come(batch)
        else:
            drop = self.transactions.data_may_go(batch)
        if not drop and batch.record_count:
            kept = self._retain(batch, marker_goes=marker_goes)
            if kept is not None:
                return kept
        elif drop:
            self.messages_read += batch.record_count
        return _emptied(batch) if self._is_needed(batch) else None

    def _retain(self, batch: RecordBatch, *, marker_goes: bool) -> RecordBatch | None:
        """The batch with the records that stay; None if none does."""
        payload = batch.decompressed()
        count = batch.record_count
        if batch.is_control:
            # Never by key, and never without its record: no map ends below offset 0.
            selected = self._select(batch, payload, map_end_offset=0)
        else:
            selected = self._select(batch, payload, self._rules.map_end_offset)
        self.messages_read += count
        self.messages_written += selected.kept
        if not selected.kept:
            return None
        is_new = (selected.tombstones or marker_goes) and not batch.has_delete_horizon
        if selected.kept == count and not is_new:
            return batch
        return _rebuilt(batch, payload, selected, self._horizon_ms if is_new else None)

    def _select(
        self, batch: RecordBatch, payload: bytes | bytearray | memoryview, map_end_offset: int
    ) -> Retention:
        return self._rules.offsets.select(
            payload,
            batch.record_count,
            batch.base_offset,
            batch.base_timestamp,
            map_end_offset,
            batch.has_delete_horizon and self._horizon_has_come(batch),
        )

    def _horizon_has_come(self, batch: RecordBatch) -> bool:
        return batch.base_timestamp <= self._rules.now_ms

    def _is_needed(self, batch: RecordBatch) -> bool:
        """Whether the batch, emptied, tells a start what nothing else would.

        The last sequence of a live producer, its last epoch where that is only in a marker, or up
        to where the round has come.
        """
        if batch.next_offset == self._rules.round_end_offset:
            return True
        last = self._rules.producers.get(batch.producer_id) if batch.producer_id >= 0 else None
        if last is None:
            return False
        if last.last_data_offset >= 0:
            return batch.last_offset == last.last_data_offset
        return batch.is_control and batch.producer_epoch == last.producer_epoch


def _rebuilt(
    batch: RecordBatch,
    payload: bytes | bytearray | memoryview,
    selected: Retention,
    new_horizon_ms: int | None,
) -> RecordBatch:
    """The batch with the selected records only, under a new horizon if one is given."""
    stamped = batch.is_log_append_time
    first, largest = selected.first_timestamp, selected.max_timestamp
    if stamped:
        first = largest = batch.max_timestamp
    base_timestamp = first
    if new_horizon_ms is not None:
        base_timestamp = new_horizon_ms
    elif batch.has_delete_horizon:
        base_timestamp = batch.base_timestamp
    shift = (largest if stamped else batch.base_timestamp) - base_timestamp
    has_horizon = new_horizon_ms is not None or batch.has_delete_horizon
    return _with_records(
        batch,
        compress(batch.codec, copy_records(payload, selected.flags, shift, stamped)),
        batch.codec | (DELETE_HORIZON_FLAG if has_horizon else 0),
        (base_timestamp, largest),
        selected.kept,
    )


def _emptied(batch: RecordBatch) -> RecordBatch:
    """The header alone."""
    return _with_records(batch, b"", 0, (_NO_TIMESTAMP, batch.max_timestamp), 0)


def _with_records(
    batch: RecordBatch, data: bytes, attributes: int, timestamps: tuple[int, int], count: int
) -> RecordBatch:
    """The batch with other records; timestamps are the base and the greatest."""
    result = bytearray(HEADER_SIZE)
    HEADER.pack_into(
        result,
        0,
        batch.base_offset,
        HEADER_SIZE - LOG_OVERHEAD + len(data),
        batch.leader_epoch,
        MAGIC,
        0,
        attributes & (CODEC_MASK | DELETE_HORIZON_FLAG) | batch.attributes & _KEPT_FLAGS,
        batch.last_offset_delta,
        *timestamps,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        count,
    )
    result += data
    view = memoryview(result)
    _CRC.pack_into(result, _CRC_POSITION, crc32c(view[_CHECKED_POSITION:]))
    return RecordBatch(view, 0, len(view))
