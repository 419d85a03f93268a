"""Segments written by us equal those Kafka wrote from the same appends, byte for byte."""

import pytest

from protocol.model import TopicPartition
from protocol.records.batch import RecordBatch
from storage.epochs import LeaderEpochCache
from storage.producer.state import ProducerState
from storage.segment.file_records import FilePool
from storage.segment.file_set import SegmentFiles
from storage.segment.recovery import recover_segment, replay_batch
from storage.segment.segment import Segment
from tests.support.fault_disk import FaultDisk
from tests.support.storage_golden import (
    PARTITIONS,
    contents,
    disk_with,
    golden_batches,
    golden_partition,
    golden_settings,
    topic_partition,
)

NOW = 1_700_000_000_000
SEGMENT_SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")


def expected_files(name: str) -> dict[str, bytes]:
    return {
        path: content
        for path, content in golden_partition(name).items()
        if path.endswith(SEGMENT_SUFFIXES)
    }


def append(segment: Segment, batch: RecordBatch, producers: ProducerState) -> None:
    segment.append(batch.view, batch.last_offset, batch.max_timestamp, batch.last_offset)
    aborted = replay_batch(producers, batch)
    if aborted is not None:
        segment.append_aborted(aborted)


@pytest.mark.parametrize("name", PARTITIONS)
def test_appending_the_same_batches_writes_the_same_files(name: str) -> None:
    disk = FaultDisk()
    disk.makedirs(name)
    files = SegmentFiles(disk, FilePool(4))
    producers = ProducerState(disk, name, topic_partition(name))
    segment = None
    for base_offset, batches in golden_batches(name).items():
        if segment is not None:
            segment.on_become_inactive()
            producers.take_snapshot(sync=False)
        segment = Segment.open(files, name, base_offset, golden_settings(name), NOW, existing=False)
        for batch in batches:
            append(segment, batch, producers)
    assert segment is not None
    segment.close()
    producers.take_snapshot(sync=True)
    assert contents(disk, name) == expected_files(name)


@pytest.mark.parametrize("name", PARTITIONS)
def test_a_follower_writes_the_same_files_from_whole_sets(name: str) -> None:
    disk = FaultDisk()
    disk.makedirs(name)
    files = SegmentFiles(disk, FilePool(4))
    for base_offset, batches in golden_batches(name).items():
        segment = Segment.open(files, name, base_offset, golden_settings(name), NOW, existing=False)
        data = b"".join(bytes(batch.view) for batch in batches)
        segment.append_many(batches, memoryview(data))
        segment.close()
    expected = {
        path: content
        for path, content in expected_files(name).items()
        if not path.endswith((".snapshot", ".txnindex"))
    }
    assert contents(disk, name) == expected


@pytest.mark.parametrize("name", PARTITIONS)
def test_recovery_rebuilds_the_same_files_from_the_logs_alone(name: str) -> None:
    disk = disk_with(name, ".log")
    files = SegmentFiles(disk, FilePool(4))
    producers = ProducerState(disk, name, topic_partition(name))
    epochs = LeaderEpochCache(disk, name)
    for index, base_offset in enumerate(golden_batches(name)):
        if index:
            producers.take_snapshot(sync=False)
        segment = Segment.open(files, name, base_offset, golden_settings(name), NOW, existing=True)
        recovery = recover_segment(disk, segment, producers, epochs)
        assert recovery.truncated_bytes == 0
        assert recovery.reason is None
    producers.take_snapshot(sync=False)
    expected = expected_files(name)
    rebuilt = contents(disk, name)
    for path in expected:
        assert rebuilt[path] == expected[path], path


def test_reading_kafka_s_files_finds_every_batch() -> None:
    name = "g-index-0"
    disk = disk_with(name)
    files = SegmentFiles(disk, FilePool(4))
    segment = Segment.open(files, name, 0, golden_settings(name), NOW, existing=True)
    for batch in golden_batches(name)[0]:
        for offset in range(batch.base_offset, batch.next_offset):
            found = segment.read(offset, 1, segment.size, True)
            assert found is not None
            file_slice, base_offset, _ = found
            assert base_offset == batch.base_offset
            assert file_slice is not None
            assert file_slice.read() == bytes(batch.view)
            file_slice.release()
    assert segment.read_next_offset() == 120
    assert segment.read(120, 100, segment.size, True) is None


def test_the_producers_of_kafka_s_snapshot_are_read_back() -> None:
    name = "g-txn-0"
    disk = disk_with(name)
    producers = ProducerState(disk, name, TopicPartition("g-txn", 0), [5, 19])
    producers.truncate_and_reload(0, 19, NOW, 1 << 60)
    assert producers.map_end_offset == 19
    assert {entry.producer_id for entry in producers.entries()} == {1, 2, 3}
    assert producers.first_unstable_offset is None
    producers = ProducerState(disk, name, TopicPartition("g-txn", 0), [5, 19])
    producers.truncate_and_reload(0, 12, NOW, 1 << 60)
    assert producers.map_end_offset == 5
    assert producers.first_unstable_offset == 0
    assert not disk.exists(f"{name}/00000000000000000019.snapshot")
