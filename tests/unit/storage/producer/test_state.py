"""The producers of a log: changes, transactions, expiry, snapshots."""

import pytest

from protocol.errors import KafkaError
from protocol.model import TopicPartition
from protocol.records.batch import RecordBatch, parse_batch
from protocol.records.builder import build_batch
from storage.log.results import Origin
from storage.producer.append_check import CompletedTransaction
from storage.producer.state import ProducerState
from storage.producer.verification import Verification
from tests.support.fault_disk import FaultDisk
from tests.support.record_batches import batch_at, marker_at

TP = TopicPartition("t", 0)
FOREVER = 1 << 60


def state(disk: FaultDisk | None = None, snapshots: tuple[int, ...] = ()) -> ProducerState:
    disk = disk or FaultDisk()
    if not disk.exists("/d"):
        disk.mkdir("/d")
    return ProducerState(disk, "/d", TP, snapshots)


def data(
    producer_id: int, offset: int, sequence: int, *, txn: bool = False, timestamp: int = 1000
) -> RecordBatch:
    return batch_at(
        offset,
        timestamp=timestamp,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
        is_transactional=txn,
    )


def append(
    producers: ProducerState, batch: RecordBatch, origin: Origin = Origin.CLIENT
) -> CompletedTransaction | None:
    update = producers.check(batch, origin)
    producers.apply(update)
    producers.map_end_offset = batch.next_offset
    return update.completed


def unstable(producers: ProducerState) -> tuple[int | None, int | None]:
    return producers.first_undecided_offset, producers.first_unstable_offset


def test_nothing_changes_before_it_is_applied() -> None:
    producers = state()
    producers.check(data(1, 0, 0), Origin.CLIENT)
    assert len(producers) == 0
    assert producers.get(1) is None
    append(producers, data(1, 0, 0))
    assert [entry.producer_id for entry in producers.entries()] == [1]


def test_the_last_five_batches_are_recognised_again() -> None:
    producers = state()
    batches = [data(1, number, number) for number in range(6)]
    for batch in batches:
        assert producers.duplicate_of(batch) is None
        append(producers, batch)
    assert producers.duplicate_of(batches[0]) is None
    for batch in batches[1:]:
        known = producers.duplicate_of(batch)
        assert known is not None
        assert known.first_offset == batch.base_offset
    with pytest.raises(KafkaError, match="OUT_OF_ORDER"):
        producers.check(batches[0], Origin.CLIENT)


def test_open_transactions_hold_back_the_stable_offset() -> None:
    assert state().first_unstable_offset is None
    producers = state()
    append(producers, data(1, 0, 0, txn=True))
    append(producers, data(2, 1, 0, txn=True))
    append(producers, data(1, 2, 1, txn=True))
    assert producers.first_undecided_offset == producers.first_unstable_offset == 0
    completed = append(producers, marker_at(3, producer_id=1), Origin.COORDINATOR)
    assert completed == CompletedTransaction(1, 0, 3, False)
    assert producers.last_stable_offset(completed) == 1
    producers.complete_transaction(completed)
    assert producers.first_undecided_offset == 1
    assert producers.first_unstable_offset == 0
    producers.on_high_watermark(3)
    assert producers.first_unstable_offset == 0
    producers.on_high_watermark(4)
    assert producers.first_unstable_offset == 1
    completed = append(producers, marker_at(4, producer_id=2, commit=False), Origin.COORDINATOR)
    assert completed is not None
    assert completed.is_aborted
    assert producers.last_stable_offset(completed) == 5
    producers.complete_transaction(completed)
    assert unstable(producers) == (None, 1)


def test_a_marker_frees_the_producer_for_plain_batches() -> None:
    producers = state()
    append(producers, data(1, 0, 0, txn=True))
    with pytest.raises(KafkaError, match="INVALID_TXN_STATE"):
        producers.check(data(1, 1, 1), Origin.CLIENT)
    completed = append(producers, marker_at(1, producer_id=1), Origin.COORDINATOR)
    assert completed is not None
    producers.complete_transaction(completed)
    append(producers, data(1, 2, 1))


@pytest.mark.parametrize("known", [True, False])
def test_an_emptied_marker_changes_nothing(known: bool) -> None:
    producers = state()
    if known:
        append(producers, data(1, 0, 5))
    empty = parse_batch(
        build_batch(
            [],
            base_offset=1,
            producer_id=1,
            producer_epoch=3,
            is_transactional=True,
            is_control=True,
            last_offset_delta=0,
        )
    )
    append(producers, empty)
    entry = producers.get(1)
    assert entry is not None
    assert (entry.producer_epoch, entry.last_sequence) == ((0, 5) if known else (-1, -1))


def test_idle_producers_are_forgotten_by_their_own_time() -> None:
    producers = state()
    append(producers, data(1, 0, 0, timestamp=1000))
    append(producers, data(2, 1, 0, timestamp=1500))
    append(producers, data(3, 2, 0, timestamp=1000, txn=True))
    assert producers.remove_expired(1999, 1000) == 0
    assert producers.remove_expired(2000, 1000) == 1
    assert sorted(entry.producer_id for entry in producers.entries()) == [2, 3]


def test_a_snapshot_brings_back_the_state_at_its_offset() -> None:
    disk = FaultDisk()
    producers = state(disk)
    assert producers.take_snapshot(sync=True) is None
    append(producers, data(2, 0, 0, txn=True))
    append(producers, data(1, 1, 0, txn=True))
    path = producers.take_snapshot(sync=True)
    assert path == producers.snapshot_path(2) == "/d/00000000000000000002.snapshot"
    assert producers.take_snapshot(sync=True) is None
    append(producers, data(1, 2, 1, txn=True))
    again = state(disk, (2,))
    again.truncate_and_reload(0, 3, 0, FOREVER)
    assert again.map_end_offset == again.last_snapshot_offset == 2
    assert again.first_undecided_offset == 0
    append(again, data(1, 2, 1, txn=True))
    assert len(again) == 2


def test_a_snapshot_that_is_there_already_is_written_over() -> None:
    disk = FaultDisk()
    disk.mkdir("/d")
    producers = snapshots_at(disk, 1)
    append(producers, data(1, 0, 0))
    assert producers.take_snapshot(sync=False) == producers.snapshot_path(1)
    assert producers.snapshot_offsets == [1]
    assert disk.file_size(producers.snapshot_path(1)) > 10
    producers.delete_snapshot(7)
    assert producers.snapshot_offsets == [1]


def test_expired_producers_are_not_loaded() -> None:
    disk = FaultDisk()
    producers = state(disk)
    append(producers, data(1, 0, 0, timestamp=1000))
    producers.take_snapshot(sync=False)
    again = state(disk, (1,))
    again.truncate_and_reload(0, 1, 5000, 4000)
    assert len(again) == 0
    assert again.map_end_offset == 1


def test_an_unreadable_snapshot_is_deleted_and_an_older_one_used() -> None:
    disk = FaultDisk()
    producers = state(disk)
    for offset in range(2):
        append(producers, data(1, offset, offset))
        producers.take_snapshot(sync=False)
    disk.write_file("/d/00000000000000000002.snapshot", b"torn")
    again = state(disk, (1, 2))
    again.truncate_and_reload(0, 2, 0, FOREVER)
    assert again.map_end_offset == 1
    assert again.snapshot_offsets == [1]
    assert not disk.exists("/d/00000000000000000002.snapshot")


def test_truncation_drops_snapshots_outside_the_log() -> None:
    disk = FaultDisk()
    producers = state(disk)
    for offset in range(5):
        append(producers, data(1, offset, offset))
        producers.take_snapshot(sync=False)
    producers.truncate_and_reload(1, 4, 0, FOREVER)
    assert producers.snapshot_offsets == [2, 3, 4]
    assert producers.map_end_offset == 4
    producers.truncate_and_reload(2, 4, 0, FOREVER)
    assert producers.snapshot_offsets == [3, 4]
    producers.truncate_and_reload(2, 2, 0, FOREVER)
    assert producers.snapshot_offsets == []
    assert producers.map_end_offset == producers.last_snapshot_offset == 2
    assert len(producers) == 0


def test_starting_anew_leaves_nothing() -> None:
    disk = FaultDisk()
    producers = state(disk)
    append(producers, data(1, 0, 0, txn=True))
    producers.take_snapshot(sync=False)
    producers.truncate_fully_and_start_at(100)
    assert disk.listdir("/d") == []
    assert producers.first_unstable_offset is None
    assert (producers.map_end_offset, producers.last_snapshot_offset) == (100, 0)


def test_a_later_log_start_moves_the_state_along() -> None:
    producers = state()
    append(producers, data(1, 0, 0))
    producers.on_log_start_incremented(10)
    assert (producers.map_end_offset, producers.last_snapshot_offset) == (10, 10)


def snapshots_at(disk: FaultDisk, *offsets: int) -> ProducerState:
    producers = state(disk, offsets)
    for offset in offsets:
        disk.write_file(producers.snapshot_path(offset), b"")
    return producers


def test_snapshots_go_with_their_segments() -> None:
    disk = FaultDisk()
    producers = snapshots_at(disk, 5, 10, 15)
    producers.delete_snapshots_before(10)
    assert producers.snapshot_offsets == [10, 15]
    disk.unlink(producers.snapshot_path(15))
    producers.delete_snapshot(15)
    assert disk.listdir("/d") == ["00000000000000000010.snapshot"]


@pytest.mark.parametrize(
    ("bases", "left"),
    [
        ([0, 5, 10], [5, 10, 20]),
        ([0, 10], [10, 20]),
        ([0, 30], []),
        ([20], [20]),
        ([], [20]),
    ],
)
def test_strays_go_but_for_the_one_written_at_the_end(bases: list[int], left: list[int]) -> None:
    producers = snapshots_at(FaultDisk(), 5, 7, 10, 20)
    producers.remove_stray_snapshots(bases)
    assert producers.snapshot_offsets == left


def test_snapshots_follow_the_directory() -> None:
    producers = state()
    producers.moved_to("/e")
    assert producers.snapshot_path(1) == "/e/00000000000000000001.snapshot"


def test_what_the_coordinator_is_being_asked_goes_along_to_another_copy_of_the_log() -> None:
    producers, copy = state(), state()
    asked = producers.start_verification(7, Verification(0, 3, False, 0))
    copy.adopt(producers)
    assert asked is not None
    assert copy.start_verification(7, Verification(0, 3, False, 0)) is asked
