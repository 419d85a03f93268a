"""Snapshot files: Kafka's bytes, and nothing else is believed."""

import pytest

from protocol.crc32c import crc32c
from storage.errors import CorruptFileError
from storage.producer.entry import BatchMetadata, ProducerEntry
from storage.producer.snapshot import (
    MOST_SORTED,
    SnapshotImage,
    SnapshotWrite,
    decode_snapshot,
    encode_rows,
    encode_snapshot,
    read_snapshot,
    sync_snapshot,
    write_snapshot,
)
from tests.support.fault_disk import FaultDisk
from tests.support.storage_golden import golden_files

SNAPSHOTS = {
    path: content for path, content in golden_files().items() if path.endswith(".snapshot")
}


@pytest.mark.parametrize("path", SNAPSHOTS)
def test_kafka_s_snapshots_are_read_and_written_alike(path: str) -> None:
    assert encode_snapshot(decode_snapshot(path, SNAPSHOTS[path])) == SNAPSHOTS[path]


def test_only_the_last_batch_is_kept() -> None:
    entry = ProducerEntry(2**40)
    entry.producer_epoch, entry.coordinator_epoch = 7, 3
    entry.last_timestamp, entry.transaction_first_offset = 99, 40
    entry.add(BatchMetadata(3, 43, 3, 98))
    entry.add(BatchMetadata(5, 45, 1, 99))
    (again,) = decode_snapshot("", encode_snapshot([entry]))
    assert again.batches == entry.batches[-1:]
    for name in ("producer_id", "producer_epoch", "coordinator_epoch", "last_timestamp"):
        assert getattr(again, name) == getattr(entry, name)
    assert again.transaction_first_offset == 40


def rows_of(*entries: ProducerEntry) -> bytes:
    image = SnapshotImage()
    for entry in entries:
        image.put(entry)
    return image.copy()


def ids(data: bytes) -> list[int]:
    return [entry.producer_id for entry in decode_snapshot("", data)]


def test_an_image_follows_its_producers() -> None:
    image = SnapshotImage()
    entries = [ProducerEntry(number) for number in (3, 1, 2)]
    for entry in entries:
        image.put(entry)
    entries[1].add(BatchMetadata(5, 45, 1, 99))
    image.put(entries[1])
    assert encode_rows(image.copy()) == encode_snapshot(entries)
    image.drop(entries[0])
    assert encode_rows(image.copy()) == encode_snapshot(entries[1:])
    image.drop(entries[2])
    image.drop(entries[1])
    assert ids(encode_rows(image.copy())) == []
    image.put(entries[2])
    assert ids(encode_rows(image.copy())) == [2]


def test_many_rows_are_not_sorted_again() -> None:
    few = [ProducerEntry(number) for number in range(MOST_SORTED, 0, -1)]
    assert ids(encode_rows(rows_of(*few))) == list(range(1, MOST_SORTED + 1))
    many = [ProducerEntry(number) for number in range(MOST_SORTED + 1, 0, -1)]
    assert ids(encode_rows(rows_of(*many))) == list(range(MOST_SORTED + 1, 0, -1))


def test_a_worker_writes_whatever_the_file_held_before() -> None:
    disk = FaultDisk()
    disk.write_file("/s", b"x" * 1000)
    write = SnapshotWrite(disk, "/s", rows_of(ProducerEntry(4)))
    write()
    write.discard()
    disk.fsync_dir("/")
    disk.power_cut()
    assert [entry.producer_id for entry in read_snapshot(disk, "/s")] == [4]


def test_a_snapshot_removed_while_it_is_written_harms_no_later_one() -> None:
    disk = FaultDisk()
    late = SnapshotWrite(disk, "/s", rows_of(ProducerEntry(4)))
    disk.unlink("/s")
    disk.write_file("/s", encode_snapshot([ProducerEntry(5)]))
    late()
    assert [entry.producer_id for entry in read_snapshot(disk, "/s")] == [5]
    assert disk.open_count == 0


def test_what_was_written_is_read_back_after_a_sync() -> None:
    disk = FaultDisk()
    write_snapshot(disk, "/s", rows_of(ProducerEntry(1)), sync=False)
    disk.fsync_dir("/")
    sync_snapshot(disk, "/s")
    disk.power_cut()
    assert [entry.producer_id for entry in read_snapshot(disk, "/s")] == [1]
    disk.unlink("/s")
    sync_snapshot(disk, "/s")


GOOD = encode_snapshot([ProducerEntry(1)])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        GOOD[:9],
        GOOD[:-1],
        GOOD + b"\0",
        b"\0\2" + GOOD[2:],
        GOOD[:-1] + b"\0",
        GOOD[:9] + b"\2" + GOOD[10:],
    ],
)
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(CorruptFileError):
        decode_snapshot("/s", data)


def test_a_count_that_does_not_fit_is_refused() -> None:
    body = b"\0\0\0\2" + GOOD[10:]
    data = b"\0\1" + crc32c(body).to_bytes(4, "big") + body
    with pytest.raises(CorruptFileError, match="do not fit"):
        decode_snapshot("/s", data)
