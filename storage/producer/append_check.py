"""Whether a producer may append a batch, and what its state is after it: decisions over values.

```text
epoch < known                                     INVALID_PRODUCER_EPOCH
epoch > known, first sequence not 0               OUT_OF_ORDER_SEQUENCE_NUMBER
same epoch, first sequence not last + 1           OUT_OF_ORDER_SEQUENCE_NUMBER (0 follows 2^31-1)
producer unknown, or known without an epoch       any sequence
plain batch while a transaction is open           INVALID_TXN_STATE
marker of an older coordinator                    TRANSACTION_COORDINATOR_FENCED
```
Clients pass all of them, coordinators all but those about sequences; of what is replicated or read
back from the log nothing is questioned (Kafka questions a plain batch in a transaction even there,
and then cannot open the log).
Source: ProducerAppendInfo.java (4.3), KIP-98, KIP-360, KIP-890.
"""

from typing import NamedTuple

from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicPartition
from protocol.records.batch import RecordBatch
from protocol.records.control import EndTransactionMarker
from storage.log.results import Origin
from storage.producer.entry import NO_OFFSET, NO_PRODUCER_EPOCH, BatchMetadata, ProducerEntry
from storage.producer.verification import Verification

_LARGEST_SEQUENCE = 2**31 - 1
_LARGEST_EPOCH = 2**15 - 1
TRANSACTION_VERSION_2 = 2


class CompletedTransaction(NamedTuple):
    """A transaction and the marker that ended it: last_offset is the marker's."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class ProducerUpdate(NamedTuple):
    """What an append changes in a producer's state, once it is written.

    A data batch has `batch`, and `started_offset` ≥ 0 if it opens a transaction; a marker has a
    `coordinator_epoch`, and `completed` if there was a transaction to end.
    """

    producer_id: int
    producer_epoch: int
    timestamp: int
    batch: BatchMetadata | None
    started_offset: int
    coordinator_epoch: int | None
    completed: CompletedTransaction | None


class AppendContext(NamedTuple):
    """Where a batch is appended, by whom, and with what known of its producer."""

    topic_partition: TopicPartition
    origin: Origin
    entry: ProducerEntry | None
    verification: Verification | None = None
    transaction_version: int = 0


def check_verified(
    context: AppendContext, batch: RecordBatch, presented: Verification | None
) -> None:
    """Refuse a batch that would open a transaction nobody was asked about.

    `context.verification` is the question under way; what the append presents must be that one.
    Codes: INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE.
    """
    entry = context.entry
    if not batch.is_transactional or batch.is_control or context.origin == Origin.REPLICATION:
        return
    if entry is not None and entry.is_in_transaction(batch.producer_epoch):
        return
    if presented is not None and presented is context.verification:
        return
    _check_epoch(context, batch.producer_id, batch.producer_epoch, batch.base_offset)
    raise KafkaError(
        ErrorCode.INVALID_TXN_STATE,
        f"Record was not part of an ongoing transaction of producer {batch.producer_id} in "
        f"partition {context.topic_partition}",
    )


def check_data(context: AppendContext, batch: RecordBatch) -> ProducerUpdate:
    """State after a data batch, whose offsets are assigned; KafkaError if it may not be appended.

    Codes: INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_TXN_STATE.
    """
    _, origin, entry, verification, _ = context
    if origin != Origin.REPLICATION:
        _check_epoch(context, batch.producer_id, batch.producer_epoch, batch.base_offset)
        if origin == Origin.CLIENT:
            if verification is not None:
                _check_verification(context, verification, batch)
            if entry is not None and entry.producer_epoch != NO_PRODUCER_EPOCH:
                _check_sequence(context, entry, batch)
    is_transactional = batch.is_transactional
    open_offset = NO_OFFSET if entry is None else entry.transaction_first_offset
    if open_offset != NO_OFFSET and not is_transactional and origin != Origin.REPLICATION:
        raise KafkaError(
            ErrorCode.INVALID_TXN_STATE,
            f"Expected transactional write from producer {batch.producer_id} at offset "
            f"{batch.base_offset} in partition {context.topic_partition}",
        )
    last_offset = batch.last_offset
    return ProducerUpdate(
        batch.producer_id,
        batch.producer_epoch,
        batch.max_timestamp,
        BatchMetadata(
            batch.last_sequence, last_offset, last_offset - batch.base_offset, batch.max_timestamp
        ),
        batch.base_offset if is_transactional and open_offset == NO_OFFSET else NO_OFFSET,
        None,
        None,
    )


def check_marker(
    context: AppendContext, batch: RecordBatch, marker: EndTransactionMarker
) -> ProducerUpdate:
    """State after a marker; KafkaError if it may not be appended.

    Codes: INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED. A marker without a transaction to
    end counts, but completes nothing.
    """
    entry = context.entry
    if context.origin != Origin.REPLICATION:
        if context.transaction_version >= TRANSACTION_VERSION_2:
            _check_bumped_epoch(context, batch)
        else:
            _check_epoch(context, batch.producer_id, batch.producer_epoch, batch.base_offset)
        if entry is not None and entry.coordinator_epoch > marker.coordinator_epoch:
            raise KafkaError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"Invalid coordinator epoch for producerId {batch.producer_id} at offset "
                f"{batch.base_offset} in partition {context.topic_partition}: "
                f"{marker.coordinator_epoch} (zombie), {entry.coordinator_epoch} (current)",
            )
    completed = None
    if entry is not None and entry.transaction_first_offset != NO_OFFSET:
        completed = CompletedTransaction(
            batch.producer_id,
            entry.transaction_first_offset,
            batch.base_offset,
            not marker.commit,
        )
    return ProducerUpdate(
        batch.producer_id,
        batch.producer_epoch,
        batch.max_timestamp,
        None,
        NO_OFFSET,
        marker.coordinator_epoch,
        completed,
    )


def follows(last_sequence: int, first_sequence: int) -> bool:
    """Whether a batch that begins with first_sequence continues one that ended with the other."""
    return first_sequence == last_sequence + 1 or (
        first_sequence == 0 and last_sequence == _LARGEST_SEQUENCE
    )


def _check_epoch(
    context: AppendContext, producer_id: int, producer_epoch: int, offset: int
) -> None:
    entry = context.entry
    if entry is not None and producer_epoch < entry.producer_epoch:
        raise KafkaError(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"Epoch of producer {producer_id} at offset {offset} in {context.topic_partition} is "
            f"{producer_epoch}, which is smaller than the last seen epoch {entry.producer_epoch}",
        )


def _check_bumped_epoch(context: AppendContext, batch: RecordBatch) -> None:
    """The coordinator of transactions v2 raises the epoch with each end: a marker shows it.

    An equal epoch is a retry where no transaction is open, or all there is at the last epoch.
    """
    entry = context.entry
    if entry is None or batch.producer_epoch > entry.producer_epoch:
        return
    is_retry = entry.transaction_first_offset == NO_OFFSET
    if batch.producer_epoch == entry.producer_epoch and (
        is_retry or batch.producer_epoch == _LARGEST_EPOCH
    ):
        return
    raise KafkaError(
        ErrorCode.INVALID_PRODUCER_EPOCH,
        f"Epoch of producer {batch.producer_id} at offset {batch.base_offset} in "
        f"{context.topic_partition} is {batch.producer_epoch}, which must be greater than the last "
        f"seen epoch {entry.producer_epoch}",
    )


def _check_verification(
    context: AppendContext, verification: Verification, batch: RecordBatch
) -> None:
    if batch.base_sequence > verification.lowest_sequence:
        raise KafkaError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"Out of order sequence number for producer {batch.producer_id} at offset "
            f"{batch.base_offset} in partition {context.topic_partition}: {batch.base_sequence} "
            f"(incoming seq. number), {verification.lowest_sequence} (earliest seen sequence)",
        )
    if verification.supports_epoch_bump and context.entry is None and batch.base_sequence != 0:
        raise KafkaError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"Invalid sequence number for producer {batch.producer_id} at offset "
            f"{batch.base_offset} in partition {context.topic_partition}: {batch.base_sequence} "
            "(incoming seq. number). Expected sequence 0 for transactions v2 with no state",
        )


def _check_sequence(context: AppendContext, entry: ProducerEntry, batch: RecordBatch) -> None:
    first_sequence = batch.base_sequence
    if batch.producer_epoch != entry.producer_epoch:
        if first_sequence != 0:
            raise KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Invalid sequence number for new epoch of producer {batch.producer_id} at offset "
                f"{batch.base_offset} in partition {context.topic_partition}: "
                f"{batch.producer_epoch} (request epoch), {first_sequence} (seq. number), "
                f"{entry.producer_epoch} (current producer epoch)",
            )
    elif not follows(entry.last_sequence, first_sequence):
        raise KafkaError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"Out of order sequence number for producer {batch.producer_id} at offset "
            f"{batch.base_offset} in partition {context.topic_partition}: {first_sequence} "
            f"(incoming seq. number), {entry.last_sequence} (current end sequence number)",
        )
