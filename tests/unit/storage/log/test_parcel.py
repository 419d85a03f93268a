"""A log that was loaded elsewhere is the same log, over the receiver's own disk and pool."""

from config.topic_config import LogConfig
from storage.log.environment import LogIdentity
from storage.log.parcel import pack, unpack
from storage.log.partition_log import PartitionLog
from storage.log.recovery import Checkpoints, LoadClock, load_log
from storage.log.results import ReadBound
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import START_MS, LogHarness, environment, read_all

CONFIG = LogConfig(segment_bytes=300, index_interval_bytes=100)


def killed() -> LogHarness:
    harness = LogHarness(FaultDisk(), CONFIG)
    for sequence in range(7):
        harness.append(
            [b"x" * 50, b"y"], 2, producer_id=9, producer_epoch=0, base_sequence=2 * sequence
        )
    harness.disk.restart()  # type: ignore[attr-defined]
    return harness


def test_what_was_packed_is_the_log_again() -> None:
    harness = killed()
    log, disk = harness.log, harness.directory.disk
    identity = LogIdentity(log.topic_partition, log.topic_id, log.directory, log.log_dir)
    there, here = environment(3), environment(4)
    unknown = Checkpoints(False, 0, 0, 0)
    loaded = load_log(disk, identity, CONFIG, there, unknown, LoadClock(START_MS))
    data = pack(loaded, disk, there.pool)
    assert there.pool.open_count == 0
    arrived = unpack(data, disk, here.pool)
    again = PartitionLog(disk, identity, CONFIG, here, arrived, START_MS)
    assert (again.log_end_offset, again.latest_epoch, again.recovery_point) == (14, 2, 0)
    assert [segment.size for segment in again.segments] == [
        segment.size for segment in loaded.segments
    ]
    (entry,) = again.active_producers()
    assert [batch.last_offset for batch in entry.batches] == [5, 7, 9, 11, 13]
    assert len(read_all(again, 0, ReadBound.LOG_END)) == 14
    assert here.pool.open_count > 0
    assert again.epochs.dirty == loaded.epochs.dirty
