"""One transactional id: who produces under it, and the transaction it is in; how it is written.

    key     __transaction_state, type 0: the id
    value   version 0 while the cluster speaks transactions v1, 1 from transaction.version 1

A `Transaction` is a value, equal to what its record says; each of the functions below is one
transition and gives the next value. With transactions v2 each end raises the epoch, so that its
markers fence whatever is still on its way (KIP-890); when epochs are used up the id that follows is
chosen with the decision and taken over with the completion.
Source: TransactionMetadata.java, TransactionLog.java (4.3).
"""

from collections.abc import Collection, Iterable
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple

from broker.coordinator.shard import CoordinatorRecord
from broker.coordinator.transaction.states import (
    COMES_FROM,
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
)
from protocol.internal.coordinator_record import encode_value
from protocol.internal.transaction_state import (
    RECORDS,
    TransactionLogKey,
    TransactionLogValue,
    TransactionStatus,
    TransactionTopic,
)
from protocol.model import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_TIMESTAMP, TopicPartition

LAST_EPOCH: Final = 2**15 - 1
EXHAUSTED_EPOCH: Final = LAST_EPOCH - 1
"""From here on a producer that begins anew gets another id: the last epoch is for fencing it."""
TRANSACTIONS_V2: Final = 2
"""transaction.version from which each end raises the epoch."""

NO_PARTITIONS: Final[frozenset[TopicPartition]] = frozenset()


class Transaction(NamedTuple):
    """What a record says of a transactional id; times in ms, -1 where there is none.

    `client_version` is the transaction.version that the producer speaks.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionStatus = EMPTY
    partitions: frozenset[TopicPartition] = NO_PARTITIONS
    started_ms: int = NO_TIMESTAMP
    updated_ms: int = NO_TIMESTAMP
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    client_version: int = 0

    @property
    def epoch_is_exhausted(self) -> bool:
        """Whether the producer that comes next needs another id."""
        return self.producer_epoch >= EXHAUSTED_EPOCH

    def is_overdue(self, now_ms: int) -> bool:
        """Whether an ongoing transaction is open for longer than its producer wanted."""
        return self.state is ONGOING and self.started_ms + self.timeout_ms < now_ms


def is_exhausted(producer_epoch: int) -> bool:
    """Whether no producer is ever told an epoch above this one."""
    return producer_epoch >= EXHAUSTED_EPOCH


def created(transactional_id: str, producer_id: int, timeout_ms: int, now_ms: int) -> Transaction:
    """An id nobody used yet: no epoch was given out."""
    return Transaction(
        transactional_id, producer_id, NO_PRODUCER_EPOCH, timeout_ms, updated_ms=now_ms
    )


def reopened(
    before: Transaction, producer_id: int, producer_epoch: int, timeout_ms: int, now_ms: int
) -> Transaction:
    """A producer has this id and epoch from now on, and no transaction."""
    return _follows(
        before,
        state=EMPTY,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        timeout_ms=timeout_ms,
        partitions=NO_PARTITIONS,
        started_ms=NO_TIMESTAMP,
        updated_ms=now_ms,
    )


def joined(
    before: Transaction, partitions: Collection[TopicPartition], client_version: int, now_ms: int
) -> Transaction:
    """These partitions are part of the transaction too; it begins if there was none."""
    return _follows(
        before,
        state=ONGOING,
        partitions=before.partitions.union(partitions),
        started_ms=before.started_ms if before.state is ONGOING else now_ms,
        updated_ms=now_ms,
        client_version=client_version,
    )


def decided(
    before: Transaction, commit: bool, client_version: int, next_producer_id: int, now_ms: int
) -> Transaction:
    """The transaction will be committed, or aborted; by the rules of v2 at the next epoch.

    `next_producer_id` replaces the producer's own once the end is complete; -1: it keeps it.
    """
    epoch = before.producer_epoch
    return _follows(
        before,
        state=PREPARE_COMMIT if commit else PREPARE_ABORT,
        producer_epoch=min(epoch + 1, LAST_EPOCH) if client_version >= TRANSACTIONS_V2 else epoch,
        next_producer_id=next_producer_id,
        started_ms=before.started_ms if before.state is ONGOING else now_ms,
        updated_ms=now_ms,
        client_version=client_version,
    )


def fenced(
    before: Transaction, next_producer_id: int, server_version: int, now_ms: int
) -> Transaction:
    """Aborted without its producer, whose epoch is taken from it."""
    aborted = decided(before, False, server_version, next_producer_id, now_ms)
    return aborted._replace(producer_epoch=min(before.producer_epoch + 1, LAST_EPOCH))


def completed(before: Transaction, now_ms: int) -> Transaction:
    """All markers are written; the producer may have got another id with it."""
    rotates = before.next_producer_id != NO_PRODUCER_ID
    return _follows(
        before,
        state=COMPLETE_COMMIT if before.state is PREPARE_COMMIT else COMPLETE_ABORT,
        producer_id=before.next_producer_id if rotates else before.producer_id,
        producer_epoch=0 if rotates else before.producer_epoch,
        next_producer_id=NO_PRODUCER_ID,
        partitions=NO_PARTITIONS,
        updated_ms=now_ms,
    )


def _follows(before: Transaction, **changes: Any) -> Transaction:
    after = before._replace(previous_producer_id=before.producer_id, **changes)
    assert before.state in COMES_FROM[after.state], f"{after.state!r} after {before.state!r}"
    return after


# Records.


def record_of(transaction: Transaction, value_version: int) -> CoordinatorRecord:
    """The record that says this."""
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        previous_producer_id=transaction.previous_producer_id,
        next_producer_id=transaction.next_producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state,
        transaction_partitions=_by_topic(transaction),
        transaction_last_update_timestamp_ms=transaction.updated_ms,
        transaction_start_timestamp_ms=transaction.started_ms,
        client_transaction_version=transaction.client_version,
    )
    encoded = encode_value(value, value_version)
    return CoordinatorRecord(key_of(transaction.transactional_id), encoded)


def tombstone_of(transactional_id: str) -> CoordinatorRecord:
    """The record that forgets an id."""
    return CoordinatorRecord(key_of(transactional_id), None)


def key_of(transactional_id: str) -> bytes:
    """The key of all records about an id."""
    return RECORDS.encode_key(TransactionLogKey(transactional_id=transactional_id))


def decode_record(record: CoordinatorRecord) -> tuple[str, Transaction | None]:
    """(transactional id, what is said of it; None: it is forgotten). Raises UndecodableRecord."""
    decoded = RECORDS.decode(record.key, record.value)
    assert isinstance(decoded.key, TransactionLogKey)
    transactional_id = decoded.key.transactional_id
    value = decoded.value
    if value is None:
        return transactional_id, None
    assert isinstance(value, TransactionLogValue)
    partitions = (
        TopicPartition(topic.topic, index)
        for topic in value.transaction_partitions or ()
        for index in topic.partition_ids
    )
    return transactional_id, Transaction(
        transactional_id,
        value.producer_id,
        value.producer_epoch,
        value.transaction_timeout_ms,
        TransactionStatus(value.transaction_status),
        frozenset(partitions),
        value.transaction_start_timestamp_ms,
        value.transaction_last_update_timestamp_ms,
        value.previous_producer_id,
        value.next_producer_id,
        value.client_transaction_version,
    )


def by_topic(partitions: Iterable[TopicPartition]) -> list[tuple[str, list[int]]]:
    """Partitions as topics with their numbers, in order."""
    return [
        (topic, [index for _, index in some])
        for topic, some in groupby(sorted(partitions), itemgetter(0))
    ]


def _by_topic(transaction: Transaction) -> list[TransactionTopic] | None:
    if transaction.state is EMPTY:
        return None
    return [
        TransactionTopic(topic=topic, partition_ids=indexes)
        for topic, indexes in by_topic(transaction.partitions)
    ]
