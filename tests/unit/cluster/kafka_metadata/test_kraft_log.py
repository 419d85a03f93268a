"""Snapshots and logs of real controllers; what is torn, cut off or missing."""

import pytest

from cluster.kafka_metadata.kraft_log import read_records, segment_bases, snapshots
from protocol.internal.cluster_metadata import NoOpRecord, encode_record
from protocol.records.builder import build_batch
from protocol.records.record import Record
from storage.errors import CorruptFileError
from storage.filenames import LOG, segment_path
from tests.support.fault_disk import FaultDisk
from tests.support.kafka_directories import KRAFT, ROOT, golden_disk

DIRECTORY = f"{ROOT}/__cluster_metadata-0"
LOG_FILE = segment_path(DIRECTORY, 0, LOG)


def batch(offset: int, count: int = 1) -> bytes:
    value = encode_record(NoOpRecord(), 0)
    records = [Record(index, 0, None, value, []) for index in range(count)]
    return bytes(build_batch(records, base_offset=offset, leader_epoch=1))


def disk_with(files: dict[str, bytes]) -> FaultDisk:
    disk = FaultDisk()
    disk.makedirs(DIRECTORY)
    for name, data in files.items():
        disk.write_file(f"{DIRECTORY}/{name}", data)
    return disk


def offsets(disk: FaultDisk) -> list[int]:
    return [placed.offset for placed in read_records(disk, DIRECTORY)]


@pytest.mark.parametrize("version", KRAFT)
def test_the_newest_whole_snapshot_counts_and_the_log_from_its_end(version: str) -> None:
    disk = golden_disk(version)
    newest = snapshots(disk, DIRECTORY)[0]
    found = offsets(disk)
    assert found[0] == -1
    behind = [offset for offset in found if offset >= 0]
    assert behind[0] >= newest.end_offset
    assert behind == sorted(behind)


@pytest.mark.parametrize("version", KRAFT)
def test_a_snapshot_that_was_cut_off_is_passed_over(version: str) -> None:
    disk = golden_disk(version)
    newest, second = snapshots(disk, DIRECTORY)[:2]
    for size in (0, 40, disk.file_size(newest.path) - 1):
        disk.write_file(newest.path, disk.read_file(newest.path)[:size])
        behind = [offset for offset in offsets(disk) if offset >= 0]
        assert second.end_offset <= behind[0] < newest.end_offset


def test_a_torn_end_was_told_to_nobody() -> None:
    whole = batch(0) + batch(1, 3)
    for cut in range(1, len(batch(1, 3))):
        assert offsets(disk_with({"00000000000000000000.log": whole[:-cut]})) == [0]


def test_a_flipped_bit_before_the_end_is_a_damaged_file() -> None:
    first = bytearray(batch(0, 2))
    first[-1] ^= 1
    disk = disk_with(
        {"00000000000000000000.log": bytes(first), "00000000000000000002.log": batch(2)}
    )
    with pytest.raises(CorruptFileError, match="no whole batch at position 0"):
        offsets(disk)


def test_a_log_without_its_beginning_needs_the_snapshot_of_it() -> None:
    disk = disk_with({"00000000000000000005.log": batch(5)})
    with pytest.raises(CorruptFileError, match="before offset 5"):
        offsets(disk)


def test_segments_follow_one_another() -> None:
    disk = disk_with(
        {
            "00000000000000000003.log": batch(3),
            "00000000000000000000.log": batch(0, 3),
            "00000000000000000009.log.deleted": b"",
            "00000000000000000000.index": b"",
        }
    )
    assert segment_bases(disk, DIRECTORY) == [0, 3]
    assert offsets(disk) == [0, 1, 2, 3]


def test_a_record_that_cannot_be_read_names_file_and_offset() -> None:
    unreadable = bytes(build_batch([Record(0, 0, None, b"\x09", [])], base_offset=7))
    disk = disk_with({"00000000000000000000.log": batch(0, 7) + unreadable})
    with pytest.raises(CorruptFileError, match=r"000\.log: batch at offset 7"):
        offsets(disk)


@pytest.mark.parametrize("data", [b"rubbish" * 40, batch(0)])
def test_a_snapshot_that_is_none_is_passed_over(data: bytes) -> None:
    disk = disk_with(
        {"00000000000000000000.log": batch(0, 2), f"{1:020d}-{1:010d}.checkpoint": data}
    )
    assert offsets(disk) == [0, 1]


def test_a_segment_that_lies_before_the_snapshot_is_not_read() -> None:
    disk = golden_disk(KRAFT[0])
    newest = snapshots(disk, DIRECTORY)[0]
    disk.write_file(LOG_FILE, b"rubbish")
    disk.write_file(segment_path(DIRECTORY, newest.end_offset, LOG), batch(newest.end_offset))
    assert offsets(disk)[-1] == newest.end_offset
