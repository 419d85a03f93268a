"""Snapshot files: Kafka's bytes, and nothing else is believed."""

import pytest

from protocol.crc32c import crc32c
from storage.errors import CorruptFileError
from storage.producer.entry import BatchMetadata, ProducerEntry
from storage.producer.snapshot import (
    decode_snapshot,
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


def test_what_was_written_is_read_back_after_a_sync() -> None:
    disk = FaultDisk()
    write_snapshot(disk, "/s", [ProducerEntry(1)], sync=False)
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
