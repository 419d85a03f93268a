"""Batches for tests of storage, placed where the log would place them."""

import struct
import zlib

from protocol.records.batch import RecordBatch, parse_batch
from protocol.records.builder import build_batch
from protocol.records.control import EndTransactionMarker, build_end_transaction_marker
from protocol.records.record import Record


def batch_at(
    base_offset: int,
    count: int = 1,
    *,
    timestamp: int = 1000,
    timestamps: list[int] | None = None,
    value: bytes | None = b"value",
    leader_epoch: int = 0,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
) -> RecordBatch:
    """A batch of count records with this base offset; all have one timestamp unless given each."""
    times = timestamps or [timestamp] * count
    records = [Record(0, time, b"key", value, []) for time in times]
    return parse_batch(
        build_batch(
            records,
            base_offset=base_offset,
            leader_epoch=leader_epoch,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            is_transactional=is_transactional,
        )
    )


def marker_at(
    base_offset: int,
    *,
    producer_id: int,
    producer_epoch: int = 0,
    commit: bool = True,
    coordinator_epoch: int = 0,
    timestamp: int = 1000,
) -> RecordBatch:
    """The marker that ends a transaction."""
    return parse_batch(
        build_end_transaction_marker(
            EndTransactionMarker(commit, coordinator_epoch),
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            timestamp=timestamp,
            base_offset=base_offset,
            leader_epoch=0,
        )
    )


def legacy(offset: int, magic: int, timestamp: int = 77, value: bytes = b"v") -> bytes:
    """A message of format 0 or 1, which old segments may still hold."""
    time = struct.pack(">q", timestamp) if magic else b""
    body = struct.pack(">bb", magic, 0) + time + struct.pack(">ii", -1, len(value)) + value
    message = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", offset, len(message)) + message
