"""What is remembered of one producer."""

from storage.producer.entry import BatchMetadata, ProducerEntry
from tests.support.record_batches import batch_at


def test_five_batches_are_remembered() -> None:
    entry = ProducerEntry(1)
    assert (entry.last_sequence, entry.last_offset) == (-1, -1)
    entry.set_epoch(0)
    for number in range(7):
        entry.add(BatchMetadata(number, number + 100, 0, 0))
    assert [batch.last_sequence for batch in entry.batches] == [2, 3, 4, 5, 6]
    assert (entry.last_sequence, entry.last_offset) == (6, 106)
    assert "ProducerEntry(1, epoch 0" in repr(entry)


def test_a_duplicate_has_the_same_epoch_and_both_sequences() -> None:
    entry = ProducerEntry(1)
    entry.set_epoch(0)
    entry.add(BatchMetadata(4, 104, 4, 7))

    def known(base_sequence: int, count: int, epoch: int = 0) -> bool:
        batch = batch_at(0, count, producer_id=1, producer_epoch=epoch, base_sequence=base_sequence)
        return entry.duplicate_of(batch) is not None

    assert known(0, 5)
    assert not known(1, 4)
    assert not known(0, 4)
    assert not known(0, 5, epoch=1)


def test_sequences_wrap_inside_a_batch() -> None:
    assert BatchMetadata(1, 10, 3, 0).first_sequence == 2**31 - 2
    assert BatchMetadata(1, 10, 3, 0).first_offset == 7


def test_another_epoch_forgets_the_batches() -> None:
    entry = ProducerEntry(1)
    entry.set_epoch(0)
    entry.add(BatchMetadata(4, 104, 4, 7))
    entry.set_epoch(0)
    assert entry.batches
    entry.set_epoch(1)
    assert not entry.batches
