"""What a partition log answers: results of its operations, and how an append is refused."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING

from protocol.errors import ErrorCode, KafkaError
from storage.jobs import NO_JOBS, Job

if TYPE_CHECKING:
    from storage.segment.file_records import FileSlice


class Origin(enum.IntEnum):
    """Who appends: decides which checks apply (kafka AppendOrigin)."""

    CLIENT = 0
    COORDINATOR = 1
    REPLICATION = 2


class ReadBound(enum.IntEnum):
    """How far a read may go."""

    LOG_END = 0
    HIGH_WATERMARK = 1
    LAST_STABLE = 2


class InvalidRecords(KafkaError):
    """A batch with records that break a rule; `record_errors` = (index in the batch, reason) of
    each bad one.
    """

    def __init__(
        self, code: ErrorCode, message: str, record_errors: Sequence[tuple[int, str]]
    ) -> None:
        super().__init__(code, message)
        self.record_errors = record_errors


class AppendResult:
    """Where the records went.

    Offsets are inclusive. `log_append_time_ms` is -1 under CreateTime, except for a duplicate,
    which carries the timestamp of the batch it repeats. `jobs` is what the append leaves to be done
    (a flush of the rolled segment).
    """

    __slots__ = (
        "base_offset",
        "duplicate",
        "jobs",
        "last_offset",
        "log_append_time_ms",
        "log_start_offset",
        "record_count",
        "size",
    )

    def __init__(
        self,
        base_offset: int,
        last_offset: int,
        log_append_time_ms: int,
        log_start_offset: int,
        record_count: int,
        size: int,
    ) -> None:
        self.base_offset = base_offset
        self.last_offset = last_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.record_count = record_count
        self.size = size
        self.duplicate = False
        self.jobs: Sequence[Job] = NO_JOBS

    def __repr__(self) -> str:
        return (
            f"AppendResult({self.base_offset}..{self.last_offset}, size={self.size},"
            f" duplicate={self.duplicate})"
        )


class AbortedTransaction:
    """One aborted transaction that overlaps a read: the reader drops this producer's records from
    `first_offset` on.
    """

    __slots__ = ("first_offset", "producer_id")

    def __init__(self, producer_id: int, first_offset: int) -> None:
        self.producer_id = producer_id
        self.first_offset = first_offset

    def __repr__(self) -> str:
        return (
            f"AbortedTransaction(producer_id={self.producer_id}, first_offset={self.first_offset})"
        )


class ReadResult:
    """What a read found.

    `slice` is None when nothing lies between the offset and the bound; otherwise the receiver must
    release it. `first_batch_offset` is the base offset of the batch found (the fetch offset where
    none was), `segment_base_offset` and `position` say where it lies (-1 where nothing was found).
    `aborted_transactions` is None unless the read was bounded by the last stable offset.
    `first_entry_incomplete` = the first batch is cut short.
    """

    __slots__ = (
        "aborted_transactions",
        "first_batch_offset",
        "position",
        "segment_base_offset",
        "slice",
    )

    def __init__(
        self,
        slice_: FileSlice | None,
        first_batch_offset: int,
        segment_base_offset: int,
        position: int,
        aborted_transactions: list[AbortedTransaction] | None,
    ) -> None:
        self.slice = slice_
        self.first_batch_offset = first_batch_offset
        self.segment_base_offset = segment_base_offset
        self.position = position
        self.aborted_transactions = aborted_transactions


class TimestampOffset:
    """A record found by time: its timestamp, its offset and the leader epoch of its batch (-1
    unknown).
    """

    __slots__ = ("leader_epoch", "offset", "timestamp")

    def __init__(self, timestamp: int, offset: int, leader_epoch: int) -> None:
        self.timestamp = timestamp
        self.offset = offset
        self.leader_epoch = leader_epoch

    def __repr__(self) -> str:
        return f"TimestampOffset({self.timestamp}, {self.offset}, epoch={self.leader_epoch})"
