"""What transaction coordinators write to `__transaction_state`, as Kafka 3.9 and 4.3 do.

One record type, 0: the state of one transactional id, the last record counting. Value version 1,
flexible, is written where transaction.version is at least 1; its tags say which producer id the
last transaction had, which one is handed out next while ids are rotated, and what the client
speaks (KIP-890, KIP-939). A tombstone forgets the id.

    Empty → Ongoing → PrepareCommit → CompleteCommit
                    → PrepareAbort  → CompleteAbort       any of Empty and Complete → Ongoing

Source: transaction-coordinator/src/main/resources/common/message (4.3), TransactionState.java.
"""

import enum
from typing import Final

from protocol.internal.coordinator_record import RecordKind, RecordKinds
from protocol.schema.fields import array, int8, int16, int32, int64, string
from protocol.schema.message import Message


class TransactionStatus(enum.IntEnum):
    """Where a transaction is. Kafka has written no 7, PREPARE_EPOCH_FENCE, to the log."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7


class TransactionLogKey(Message, versions="0"):
    """A transactional id."""

    transactional_id: str = string()


class TransactionTopic(Message):
    """Partitions of one topic that a transaction wrote to."""

    topic: str = string()
    partition_ids: list[int] = array(int32)


class TransactionLogValue(Message, versions="0-1", flexible="1+"):
    """The state of a transactional id; times are ms, partitions are null while it is empty."""

    producer_id: int = int64()
    previous_producer_id: int = int64("1+", tag=0, default=-1)
    next_producer_id: int = int64("1+", tag=1, default=-1)
    producer_epoch: int = int16()
    next_producer_epoch: int = int16("1+", tag=3, default=-1)
    transaction_timeout_ms: int = int32()
    transaction_status: int = int8()
    transaction_partitions: list[TransactionTopic] | None = array(
        TransactionTopic, nullable="0+", default=None
    )
    transaction_last_update_timestamp_ms: int = int64()
    transaction_start_timestamp_ms: int = int64()
    client_transaction_version: int = int16("1+", tag=2)


RECORDS: Final = RecordKinds({0: RecordKind(TransactionLogKey, TransactionLogValue)}, {})
