"""Opening a log: what is trusted, what is read through, where it ends."""

from config.topic_config import LogConfig
from storage.audit import audit_log_dir
from storage.filenames import BOOT_ID_FILE
from storage.moving.copying import roll_at
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import LOG_DIR, PARTITION, START_MS, LogHarness

CONFIG = LogConfig(segment_bytes=300, index_interval_bytes=100, file_delete_delay_ms=0)
PARTITION_DIR = f"{LOG_DIR}/orders-0"


def lived(flush: bool = False, **fields: int) -> FaultDisk:
    disk = FaultDisk()
    harness = LogHarness(disk, CONFIG)
    for number in range(12):
        if fields:
            fields["base_sequence"] = number
        data = [b"value-%02d" % number]
        harness.now_ms += 1
        harness.append(data, **fields)
    if flush:
        harness.flush()
    harness.log.update_high_watermark(11)
    harness.checkpoint()
    return disk


def logs(disk: FaultDisk) -> list[str]:
    return sorted(name for name in disk.listdir(PARTITION_DIR) if name.endswith(".log"))


def corrupt(disk: FaultDisk, name: str) -> None:
    data = bytearray(disk.read_file(f"{PARTITION_DIR}/{name}"))
    data[70] ^= 1
    disk.write_file(f"{PARTITION_DIR}/{name}", bytes(data))


def test_a_bad_batch_above_the_recovery_point_ends_the_log() -> None:
    disk = lived()
    disk.restart()
    disk.write_file(f"{LOG_DIR}/recovery-point-offset-checkpoint", b"0\n1\norders 0 0\n")
    second = logs(disk)[1]
    corrupt(disk, second)
    harness = LogHarness(disk, CONFIG)
    assert harness.log.log_end_offset == int(second[:20])
    assert logs(disk) == [logs(disk)[0], second]
    assert harness.log.high_watermark == harness.log.log_end_offset


def test_segments_below_the_recovery_point_are_trusted() -> None:
    disk = lived(flush=True)
    disk.restart()
    corrupt(disk, logs(disk)[0])
    assert LogHarness(disk, CONFIG).log.log_end_offset == 12


def test_a_missing_index_brings_recovery_forward() -> None:
    disk = lived(flush=True)
    disk.restart()
    disk.unlink(f"{PARTITION_DIR}/{0:020d}.index")
    harness = LogHarness(disk, CONFIG)
    assert harness.log.log_end_offset == 12
    assert harness.log.recovery_point == 0
    assert disk.exists(f"{PARTITION_DIR}/{0:020d}.index")


def test_a_log_that_ends_before_its_start_begins_anew_there() -> None:
    disk = lived(flush=True)
    disk.restart()
    disk.write_file(f"{LOG_DIR}/log-start-offset-checkpoint", b"0\n1\norders 0 50\n")
    log = LogHarness(disk, CONFIG).log
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (50, 50, 50)
    assert logs(disk) == [f"{50:020d}.log"]


def test_an_empty_directory_begins_at_the_log_start() -> None:
    disk = FaultDisk()
    LogHarness(disk, CONFIG).close()
    for name in logs(disk):
        disk.unlink(f"{PARTITION_DIR}/{name}")
    assert LogHarness(disk, CONFIG).log.log_end_offset == 0


def test_producers_come_back_by_snapshot_and_replay() -> None:
    disk = lived(producer_id=7, producer_epoch=1, base_sequence=0)
    disk.restart()
    (entry,) = LogHarness(disk, CONFIG).log.active_producers()
    assert (entry.producer_id, entry.last_sequence, entry.last_offset) == (7, 11, 11)


def test_producers_come_back_without_any_snapshot() -> None:
    disk = lived(flush=True, producer_id=7, producer_epoch=1, base_sequence=0)
    disk.restart()
    for name in disk.listdir(PARTITION_DIR):
        if name.endswith(".snapshot"):
            disk.unlink(f"{PARTITION_DIR}/{name}")
    (entry,) = LogHarness(disk, CONFIG).log.active_producers()
    assert entry.last_sequence == 11


def test_damaged_epochs_are_found_again_in_the_batches() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk, CONFIG)
    harness.append([b"x"], epoch=4)
    disk.restart()
    disk.write_file(f"{PARTITION_DIR}/leader-epoch-checkpoint", b"what")
    assert LogHarness(disk, CONFIG).log.latest_epoch == 4


def test_recovery_twice_is_recovery_once() -> None:
    disk = lived()
    disk.restart()
    first = LogHarness(disk, CONFIG).content()
    names = sorted(disk.listdir(PARTITION_DIR))
    disk.restart()
    assert LogHarness(disk, CONFIG).content() == first
    assert sorted(disk.listdir(PARTITION_DIR)) == names


def test_the_log_ends_where_its_last_batch_does_after_a_clean_close() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk, CONFIG)
    for _ in range(9):
        harness.append([b"x"])
    harness.close()
    harness = LogHarness(disk, CONFIG)
    assert (harness.report.recovered, harness.log.log_end_offset) == (0, 9)
    assert harness.manager.get(PARTITION) is harness.log
    assert harness.now_ms == START_MS


def test_a_snapshot_that_a_kill_left_unsynced_is_synced_by_the_next_flush() -> None:
    disk = FaultDisk()
    config = LogConfig(file_delete_delay_ms=0)
    harness = LogHarness(disk, config)
    harness.append([b"x"], producer_id=7, producer_epoch=0, base_sequence=0)
    harness.run(harness.log.roll(START_MS))
    harness.append([b"y"])
    harness.flush()
    harness.checkpoint()
    harness.log.update_high_watermark(2)
    harness.log.maybe_increment_log_start_offset(1, "client delete records request")
    harness.run(harness.log.delete_old_segments(START_MS)[1])
    harness.log.producers.map_end_offset = 2
    assert harness.log.producers.take_snapshot(sync=False) is not None
    harness.log.roll(START_MS)
    harness.append([b"z"])
    disk.restart()
    again = LogHarness(disk, config)
    again.flush()
    again.checkpoint()
    disk.power_cut()
    assert LogHarness(disk, config).log.producers.get(7) is not None


def sync(disk: FaultDisk, path: str) -> None:
    """The kernel writes one file back, name and all, before it comes to the others."""
    fd = disk.open(path)
    disk.fsync(fd)
    disk.close(fd)
    disk.fsync_dir(path.rpartition("/")[0])


def holed(config: LogConfig) -> LogHarness:
    """Two segments; a power cut kept the second, and of the first only what was flushed."""
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"kept"])
    harness.flush()
    harness.checkpoint()
    harness.append([b"lost"])
    harness.log.roll(START_MS)
    harness.append([b"left over"])
    sync(disk, f"{LOG_DIR}/orders-0/00000000000000000002.log")
    disk.power_cut()
    return LogHarness(disk, config)


def test_a_log_ends_before_records_that_a_power_cut_took_though_later_ones_survived() -> None:
    again = holed(LogConfig())
    assert again.content() == [(0, b"kept")]
    assert again.log.log_end_offset == 1


def test_offsets_that_compaction_may_have_taken_are_no_loss() -> None:
    again = holed(LogConfig(compact=True))
    assert again.content() == [(0, b"kept"), (2, b"left over")]


def test_segments_behind_a_gap_outlive_the_end_of_a_process() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"first"])
    roll_at(harness.log, 5, START_MS)
    harness.append([b"behind a gap"])
    disk.restart()
    kept = [(0, b"first"), (5, b"behind a gap")]
    assert LogHarness(disk).content() == kept
    disk.restart()
    assert LogHarness(disk).content() == kept


def test_no_power_cut_is_assumed_where_kafka_wrote_last() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"first"])
    roll_at(harness.log, 5, START_MS)
    harness.append([b"behind a gap"])
    disk.unlink(f"{LOG_DIR}/{BOOT_ID_FILE}")
    disk.sync_all()
    disk.power_cut()
    assert LogHarness(disk).content() == [(0, b"first"), (5, b"behind a gap")]


def rolled_after_a_flush() -> LogHarness:
    """All is durable and checkpointed, then the segment is rolled; power goes before its flush."""
    disk = FaultDisk()
    harness = LogHarness(disk)
    for _ in range(3):
        harness.now_ms += 1
        harness.append([b"x"])
    harness.flush()
    harness.log.roll(START_MS)
    sync(disk, f"{PARTITION_DIR}/{3:020d}.log")
    harness.checkpoint()
    disk.power_cut()
    return harness


def test_a_time_index_gets_the_closing_entry_that_a_power_cut_took() -> None:
    harness = rolled_after_a_flush()
    disk, latest = harness.disk, harness.now_ms
    again = LogHarness(disk)
    assert again.log.segments.first.time_index.last_entry == (latest, 2)
    assert again.log.segments.first.largest_timestamp() == latest
    again.append([b"y"])
    again.flush()
    again.checkpoint()
    again.close()
    assert audit_log_dir(disk, LOG_DIR) == []


def test_a_closed_segment_below_the_recovery_point_is_not_read() -> None:
    disk = rolled_after_a_flush().disk
    LogHarness(disk).checkpoint()
    assert isinstance(disk, FaultDisk)
    disk.restart()
    disk.write_file(f"{LOG_DIR}/recovery-point-offset-checkpoint", b"0\n1\norders 0 3\n")
    corrupt(disk, logs(disk)[0])
    assert LogHarness(disk).log.recovery_point == 3
