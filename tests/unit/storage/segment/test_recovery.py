"""After a crash a segment holds its valid batches, and its indexes just those."""

import random

import pytest

from protocol.crc32c import crc32c
from protocol.model import TopicPartition
from storage.epochs import LeaderEpochCache
from storage.errors import DamagedLog
from storage.producer.state import ProducerState
from storage.segment.file_records import FilePool
from storage.segment.file_set import SegmentFiles, SegmentSettings
from storage.segment.recovery import (
    CHUNK_BYTES,
    NOTHING_PROMISED,
    Promise,
    Recovery,
    SegmentOverflow,
    Watch,
    recover_segment,
    unwatched,
)
from storage.segment.segment import Segment
from tests.support.fault_disk import Crash, FaultDisk
from tests.support.record_batches import batch_at, marker_at

SETTINGS = SegmentSettings(100, 4000)
LOG = "/d/00000000000000000000.log"
INDEX = "/d/00000000000000000000.index"
BATCHES = [
    batch_at(0, 2, leader_epoch=1),
    batch_at(2, 1, leader_epoch=1),
    batch_at(3, 3, leader_epoch=4),
    batch_at(6, 1, leader_epoch=4),
]


def recover(
    disk: FaultDisk, promise: Promise = NOTHING_PROMISED, watch: Watch = unwatched
) -> tuple[Recovery, Segment, ProducerState, LeaderEpochCache]:
    segment = Segment.open(SegmentFiles(disk, FilePool(4)), "/d", 0, SETTINGS, 0, existing=True)
    producers = ProducerState(disk, "/d", TopicPartition("t", 0))
    epochs = LeaderEpochCache(disk, "/d")
    recovery = recover_segment(disk, segment, producers, epochs, promise, watch)
    return recovery, segment, producers, epochs


def disk_with(content: bytes) -> FaultDisk:
    disk = FaultDisk()
    disk.mkdir("/d")
    disk.write_file(LOG, content)
    return disk


DATA = b"".join(bytes(batch.view) for batch in BATCHES)

GOOD = sum(batch.size for batch in BATCHES[:2])


def test_an_intact_segment_is_kept_whole() -> None:
    recovery, segment, producers, epochs = recover(disk_with(DATA))
    assert recovery == Recovery(len(DATA), 0, 7, 4, None)
    assert epochs.entries() == [(1, 0), (4, 3)]
    assert producers.map_end_offset == 7
    assert segment.next_offset == 7
    segment.sanity_check()


def corrupt_crc(data: bytearray) -> None:
    data[GOOD + 70] ^= 1


def cut_short(data: bytearray) -> None:
    del data[GOOD + 30 :]


def offset_back(data: bytearray) -> None:
    data[GOOD : GOOD + 8] = bytes(8)


def offset_far(data: bytearray) -> None:
    data[GOOD : GOOD + 8] = (2**31).to_bytes(8, "big")


@pytest.mark.parametrize("damage", [corrupt_crc, cut_short, offset_back, offset_far])
def test_the_first_bad_batch_and_all_after_are_cut_off(damage: object) -> None:
    data = bytearray(DATA)
    assert callable(damage)
    damage(data)
    disk = disk_with(bytes(data))
    recovery, segment, _, epochs = recover(disk)
    assert recovery.valid_bytes == segment.size == disk.file_size(LOG) == GOOD
    assert recovery.truncated_bytes == len(data) - GOOD
    assert recovery.next_offset == 3
    assert recovery.reason is not None
    assert epochs.entries() == [(1, 0)]
    segment.append(BATCHES[2].view, 5, 1000, 5)
    assert [batch.base_offset for batch in segment.scan_batches(0)] == [0, 2, 3]


def test_what_indexes_held_before_does_not_matter() -> None:
    disk = disk_with(DATA)
    for kind in (".index", ".timeindex", ".txnindex"):
        disk.write_file(f"/d/00000000000000000000{kind}", b"\x55" * 1111)
    recovery, segment, _, _ = recover(disk)
    assert recovery.truncated_bytes == 0
    for batch in BATCHES:
        found = segment.translate_offset(batch.last_offset)
        assert found is not None
        assert found[1] == batch.size
    assert segment.transaction_index.entries() == []


def test_transactions_are_followed_and_aborted_ones_indexed() -> None:
    batches = [
        batch_at(0, 2, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True),
        batch_at(2, 1, producer_id=8, producer_epoch=0, base_sequence=0, is_transactional=True),
        marker_at(3, producer_id=7, commit=False),
        marker_at(4, producer_id=8, commit=True),
        batch_at(5, 1, producer_id=7, producer_epoch=0, base_sequence=2, is_transactional=True),
    ]
    disk = disk_with(b"".join(bytes(batch.view) for batch in batches))
    _, segment, producers, _ = recover(disk)
    assert segment.transaction_index.entries() == [(7, 0, 3, 2)]
    assert producers.first_undecided_offset == 5
    assert producers.first_unstable_offset == 0


def test_a_control_record_that_makes_no_sense_is_cut_off() -> None:
    bad = batch_at(2, 1, producer_id=7, producer_epoch=0, base_sequence=-1, is_transactional=True)
    data = bytearray(bad.view)  # its key is none of a control record, which have four bytes or more
    data[22] |= 0x20
    data[17:21] = crc32c(bytes(data[21:])).to_bytes(4, "big")
    recovery, _, producers, _ = recover(disk_with(bytes(BATCHES[0].view) + bytes(data)))
    assert recovery.valid_bytes == BATCHES[0].size
    assert recovery.truncated_bytes == len(data)
    assert len(producers) == 0


def test_recovery_that_is_killed_can_be_done_again() -> None:
    damaged = DATA + b"\0" * 100
    for change in range(1, 30):
        disk = disk_with(damaged)
        disk.crash_at(change)
        try:
            recover(disk)
        except Crash:
            disk.power_cut(random.Random(change))
            if not disk.exists(LOG):
                continue
            disk.restart()
            recovery, segment, _, _ = recover(disk)
            assert segment.size == recovery.valid_bytes <= len(DATA)
        else:
            return
    raise AssertionError("recovery never ended")


def test_zeros_at_the_end_are_preallocated_space_and_no_corruption() -> None:
    disk = disk_with(DATA[:GOOD] + bytes(3 << 20))
    recovery, _, _, _ = recover(disk)
    assert recovery == Recovery(GOOD, 0, 3, 2, None)
    assert disk.read_file(LOG) == DATA[:GOOD]


def test_a_file_of_zeros_is_an_empty_segment() -> None:
    disk = disk_with(bytes(4096))
    assert recover(disk)[0] == Recovery(0, 0, 0, 0, None)
    assert disk.file_size(LOG) == 0


def files(disk: FaultDisk) -> dict[str, bytes]:
    return {name: disk.read_file(f"/d/{name}") for name in disk.listdir("/d")}


@pytest.mark.parametrize("promise", [Promise(True, 0), Promise(False, 4)])
@pytest.mark.parametrize("damage", [corrupt_crc, cut_short, offset_back])
def test_nothing_that_was_promised_is_cut_off(damage: object, promise: Promise) -> None:
    data = bytearray(DATA)
    assert callable(damage)
    damage(data)
    disk = disk_with(bytes(data))
    for kind in (".index", ".timeindex"):
        disk.write_file(LOG.replace(".log", kind), b"what there was")
    before = files(disk)
    with pytest.raises(DamagedLog) as caught:
        recover(disk, promise)
    assert (caught.value.path, caught.value.position) == (LOG, GOOD)
    assert files(disk) == before


def test_zeros_in_place_of_promised_records_are_damage() -> None:
    disk = disk_with(DATA[:GOOD] + bytes(4096))
    assert recover(disk, Promise(True, 3))[0].next_offset == 3
    disk = disk_with(DATA[:GOOD] + bytes(4096))
    with pytest.raises(DamagedLog):
        recover(disk, Promise(True, 4))


def test_a_bad_batch_beyond_what_was_promised_is_cut_off() -> None:
    disk = disk_with(DATA[:-1])
    assert recover(disk, Promise(False, 6))[0].next_offset == 6


def test_offsets_out_of_range_split_a_segment_only_where_the_log_is_known_to_go_on() -> None:
    data = bytearray(DATA)
    offset_far(data)
    disk = disk_with(bytes(data))
    with pytest.raises(SegmentOverflow):
        recover(disk, Promise(False, 0, reached=2**32))
    assert disk.read_file(LOG) == bytes(data)


def test_a_recovery_that_is_given_up_has_changed_nothing() -> None:
    disk = disk_with(DATA + b"half")
    before = files(disk)

    def stop(_nbytes: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        recover(disk, watch=stop)
    assert files(disk) == before


def test_the_watch_is_told_of_every_byte() -> None:
    seen: list[int] = []
    recover(disk_with(DATA), watch=seen.append)
    assert sum(seen) == len(DATA)


def test_a_batch_larger_than_a_chunk_is_read_whole() -> None:
    large = batch_at(0, 1, value=bytes(3 * CHUNK_BYTES))
    disk = disk_with(bytes(large.view) + bytes(batch_at(1, 1).view))
    assert recover(disk)[0].batches == 2


def test_indexes_that_a_start_will_trust_are_replaced_in_one_step() -> None:
    """The recovery point is beyond the segment: nobody looks whether a crash left them whole."""
    disk = disk_with(DATA)
    recover(disk)
    whole = disk.read_file(INDEX)
    for change in range(1, 30):
        disk = disk_with(DATA)
        for kind in (".index", ".timeindex"):
            disk.write_file(LOG.replace(".log", kind), b"damaged")
        disk.sync_all()
        disk.crash_at(change)
        try:
            recover(disk, Promise(False, 100, 100, is_last=False))
        except Crash:
            disk.power_cut(random.Random(change))
            assert disk.read_file(INDEX) in (b"damaged", whole), change
        else:
            disk.power_cut()
            assert disk.read_file(INDEX) == whole
            return
    raise AssertionError("never came to its end")
