"""Reads a partition of an internal topic into a shard, a little at a time.

    worker   read ≤ CHUNK_BYTES of whole batches
    loop     apply their records, yielding often enough that a slice can be a few milliseconds

A batch that is damaged, or a record that cannot be applied, is left out with an error in the log:
one bad record must not take a whole coordinator with it. Source: CoordinatorLoaderImpl (4.3).
"""

import logging
from collections.abc import Iterator
from typing import Final

from broker.coordinator.shard import CoordinatorRecord, Shard, Writer
from protocol.errors import KafkaError
from protocol.model import TopicPartition
from protocol.records.batch import RecordBatch, iterate_batches
from protocol.records.control import parse_end_transaction_marker
from protocol.records.errors import MalformedRecords
from storage.log.partition_log import PartitionLog
from storage.log.results import ReadBound
from storage.segment.file_records import FileSlice

_logger = logging.getLogger(__name__)

CHUNK_BYTES: Final = 1 << 20
RECORDS_A_STEP: Final = 64
"""Some 200 µs of applying."""


class Replay:
    """The replay of one log, from its start to where it ended when the replay began."""

    __slots__ = ("_end_offset", "_log", "_shard", "next_offset", "records")

    def __init__(self, log: PartitionLog, shard: Shard) -> None:
        self._log = log
        self._shard = shard
        self._end_offset = log.log_end_offset
        self.next_offset = log.log_start_offset
        self.records = 0

    def next_slice(self) -> FileSlice | None:
        """What to read next, to be released by the caller; None when all was replayed."""
        if self.next_offset >= self._end_offset:
            return None
        found = self._log.read(self.next_offset, CHUNK_BYTES, ReadBound.LOG_END, True)
        return found.slice

    def steps(self, data: bytes) -> Iterator[None]:
        """Apply the whole batches of a chunk; each step is short."""
        before = self.next_offset
        for batch in iterate_batches(data):
            if batch.next_offset > self.next_offset:
                self.next_offset = batch.next_offset
                yield from self._apply_batch(batch)
        if self.next_offset == before:
            # Nothing whole was there: what the index promised is not in the file.
            self._left_out(before, "no batch could be read")
            self.next_offset = self._end_offset

    def _apply_batch(self, batch: RecordBatch) -> Iterator[None]:
        writer = Writer(batch.producer_id, batch.producer_epoch) if batch.is_transactional else None
        try:
            if not batch.crc_ok():
                self._left_out(batch.base_offset, "the checksum of its batch is wrong")
                return
            if batch.is_control:
                marker = parse_end_transaction_marker(batch)
                if marker is not None and writer is not None:
                    self._shard.apply_marker(writer, committed=marker.commit)
                return
            records = batch.records()
        except (KafkaError, MalformedRecords) as error:
            self._left_out(batch.base_offset, str(error))
            return
        apply = self._shard.apply
        for number, (offset, _, key, value, _) in enumerate(records, 1):
            if key is not None:
                self.records += 1
                try:
                    apply(CoordinatorRecord(key, value), offset, writer)
                except Exception:
                    # The last guard of a replay: what a broken writer left must not end it.
                    _logger.exception("%s", self._what(offset, "it cannot be understood"))
            if not number % RECORDS_A_STEP:
                yield
        yield

    def _left_out(self, offset: int, reason: str) -> None:
        _logger.error("%s", self._what(offset, reason))

    def _what(self, offset: int, reason: str) -> str:
        partition: TopicPartition = self._log.topic_partition
        return f"Left out of the coordinator of {partition}: what is at offset {offset}, {reason}"
