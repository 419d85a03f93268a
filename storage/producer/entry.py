"""What a log remembers of one producer.

The last five batches tell a retry, which is answered with the old offsets, from a new batch. A new
epoch starts without them. Source: ProducerStateEntry.java, BatchMetadata.java (4.3), KIP-98.
"""

from typing import NamedTuple

from protocol.records.batch import RecordBatch

NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_OFFSET = -1
NO_TIMESTAMP = -1
NO_COORDINATOR_EPOCH = -1
NO_SLOT = -1
BATCHES_TO_RETAIN = 5
_SEQUENCE_MASK = 2**31 - 1


class BatchMetadata(NamedTuple):
    """One appended batch: its last sequence and offset, the offset delta, its max timestamp."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        """Sequence of its first record; sequences wrap from 2^31-1 to 0."""
        return (self.last_sequence - self.offset_delta) & _SEQUENCE_MASK

    @property
    def first_offset(self) -> int:
        """Offset of its first record."""
        return self.last_offset - self.offset_delta


class ProducerEntry:
    """The state of one producer id. `last_timestamp` is that of its last batch or marker, ms.

    `slot` says which row of the snapshot's image is its own (`storage.producer.snapshot`).
    """

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
        "slot",
        "transaction_first_offset",
    )

    def __init__(self, producer_id: int) -> None:
        """A producer of which nothing is known."""
        self.producer_id = producer_id
        self.producer_epoch = NO_PRODUCER_EPOCH
        self.batches: list[BatchMetadata] = []
        self.coordinator_epoch = NO_COORDINATOR_EPOCH
        self.last_timestamp = NO_TIMESTAMP
        self.transaction_first_offset = NO_OFFSET
        self.slot = NO_SLOT

    def __repr__(self) -> str:
        return (
            f"ProducerEntry({self.producer_id}, epoch {self.producer_epoch}, "
            f"batches {self.batches}, transaction {self.transaction_first_offset})"
        )

    @property
    def last_sequence(self) -> int:
        """Last sequence of the present epoch, -1 without one."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        """Last data offset of the present epoch, -1 without one."""
        return self.batches[-1].last_offset if self.batches else NO_OFFSET

    def is_in_transaction(self, producer_epoch: int) -> bool:
        """Whether a transaction of this epoch is open."""
        return self.transaction_first_offset != NO_OFFSET and self.producer_epoch == producer_epoch

    def duplicate_of(self, batch: RecordBatch) -> BatchMetadata | None:
        """The remembered batch this one repeats: same epoch, same first and last sequence."""
        if batch.producer_epoch != self.producer_epoch:
            return None
        last_sequence = batch.last_sequence
        for known in self.batches:
            if known.last_sequence == last_sequence and known.first_sequence == batch.base_sequence:
                return known
        return None

    def set_epoch(self, producer_epoch: int) -> None:
        """Take another epoch, which forgets the batches of the old one."""
        if producer_epoch != self.producer_epoch:
            self.batches = []
            self.producer_epoch = producer_epoch

    def add(self, batch: BatchMetadata) -> None:
        """Remember a batch, and only the last five."""
        if len(self.batches) == BATCHES_TO_RETAIN:
            del self.batches[0]
        self.batches.append(batch)
