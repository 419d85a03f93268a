"""Group commit of one log."""

import errno

import pytest

from config.topic_config import LogConfig
from storage.errors import StorageError
from storage.filenames import CLEAN_SHUTDOWN_FILE
from storage.log.flushing import FLUSH_LOG
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import LOG_DIR, START_MS, TOPIC_ID, LogHarness
from tests.support.record_batches import batch_at
from tests.support.transactional_log import TransactionalProducer, read_committed


def test_a_first_flush_makes_everything_durable_names_included() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"x"], epoch=2)
    harness.flush()
    disk.power_cut()
    again = LogHarness(disk)
    assert again.report.unserved == []
    assert again.content() == [(0, b"x")]
    assert again.log.topic_id == TOPIC_ID
    assert disk.exists(f"{LOG_DIR}/orders-0/leader-epoch-checkpoint")


def test_a_failed_sync_vouches_for_nothing() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"x"])
    disk.fail("fsync", errno.EIO)
    work = harness.log.plan_flush(START_MS)
    assert work is not None
    with pytest.raises(StorageError):
        work.work()
    assert harness.log.flushed_end_offset == 0


def test_wants_that_come_while_one_runs_become_one_more() -> None:
    harness = LogHarness(FaultDisk())
    log = harness.log
    harness.append([b"x"])
    work = log.plan_flush(START_MS)
    assert work is not None
    harness.append([b"y"])
    assert log.flusher.want(2) == ()
    assert log.flusher.want(2) == ()
    work.work()
    work.commit()
    assert [job.name for job in work.jobs] == [FLUSH_LOG]
    harness.run(work.jobs)
    assert log.flushed_end_offset == 2


def test_a_flush_that_runs_out_of_descriptors_is_owed_and_done_later() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    log = harness.log
    harness.append([b"x"])
    disk.fail("fsync_dir", errno.EMFILE)
    work = log.plan_flush(START_MS)
    assert work is not None
    work.work()
    assert work.commit() == ()
    assert log.flushed_end_offset == 0
    harness.run(work.jobs)
    assert log.flushed_end_offset == 1
    disk.power_cut()
    assert LogHarness(disk).content() == [(0, b"x")]


def test_a_flush_that_cannot_even_be_planned_hinders_no_later_one() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"x"])
    disk.fail("open", errno.EMFILE, path_ends=".index", times=3)
    with pytest.raises(OSError, match="injected"):
        harness.log.plan_flush(START_MS)
    disk.clear_failures()
    harness.flush()
    assert harness.log.flushed_end_offset == 1


def test_a_plan_that_finds_too_few_descriptors_gives_back_those_it_had() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk, LogConfig(segment_bytes=150))
    for _ in range(3):  # one a segment; the flushes that rolling asks for are not run
        record = batch_at(0, value=b"x" * 60)
        harness.log.append_as_leader(memoryview(record.view), 0, START_MS)
    assert harness.log.segment_count == 3
    before = disk.open_count
    last = f"{2:020}.index"
    disk.fail("open", errno.EMFILE, path_ends=last, times=9)
    with pytest.raises(OSError, match="injected"):
        harness.log.plan_flush(START_MS)
    assert disk.open_count <= before


def test_closing_does_what_a_put_off_flush_owes() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"x"])
    disk.fail("fsync_dir", errno.EMFILE)
    work = harness.log.plan_flush(START_MS)
    assert work is not None
    work.work()
    work.commit()
    last = harness.log.seal(START_MS)
    assert last is not None
    last.work()
    last.commit()
    disk.power_cut()
    assert LogHarness(disk).content() == [(0, b"x")]


def test_closing_syncs_its_snapshot_though_every_record_is_flushed() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"x"], producer_id=7, producer_epoch=0, base_sequence=0)
    harness.flush()
    harness.close()
    disk.power_cut()
    entry = LogHarness(disk).log.producers.get(7)
    assert entry is not None
    assert entry.last_sequence == 0


def test_a_segment_sealed_after_all_its_records_were_flushed_is_synced_as_sealed() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"x"])
    harness.flush()
    harness.run(harness.log.roll(START_MS))
    harness.checkpoint()
    disk.power_cut()
    again = LogHarness(disk)
    assert again.log.segments.first.largest_timestamp() == START_MS
    assert again.log.offset_for_timestamp(START_MS) is not None


def test_a_sealed_segment_that_is_gone_again_is_not_synced() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"x"])
    later = harness.log.roll(START_MS)
    cut = harness.log.truncate_fully_and_start_at(7, START_MS)
    harness.run([*later, *cut])
    assert harness.log.flushed_end_offset == harness.log.log_end_offset == 7
    assert disk.open_count == 1


def test_the_first_aborted_transaction_of_a_segment_survives_a_power_cut() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"x"])
    harness.flush()
    producer = TransactionalProducer(7)
    producer.append(harness, [b"never"])
    producer.end(harness, commit=False)
    harness.flush()
    harness.checkpoint()
    harness.log.update_high_watermark(3)
    harness.checkpoint()
    disk.power_cut()
    again = LogHarness(disk)
    assert again.log.segments.first.transaction_index.entries()
    assert read_committed(again.log, 0) == [(0, b"x")]


def test_a_clean_shutdown_vouches_for_its_snapshot() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    TransactionalProducer(7).append(harness, [b"open"])
    harness.flush()
    harness.log.update_high_watermark(1)
    harness.close()
    disk.power_cut()
    again = LogHarness(disk)
    assert again.report.recovered == 0
    assert again.log.last_stable_offset == 0
    assert [entry.producer_id for entry in again.log.active_producers()] == [7]


def test_a_roll_that_dies_before_its_snapshot_is_written_forgets_no_producer() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    TransactionalProducer(7).append(harness, [b"open"])
    harness.flush()
    harness.checkpoint()
    harness.log.roll(START_MS)
    assert not disk.exists(harness.log.producers.snapshot_path(1))
    disk.restart()
    again = LogHarness(disk)
    assert [entry.transaction_first_offset for entry in again.log.active_producers()] == [0]


def test_a_snapshot_without_a_descriptor_is_written_by_a_later_flush() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    TransactionalProducer(7).append(harness, [b"open"])
    jobs = harness.log.roll(START_MS)
    disk.fail("open", errno.EMFILE, path_ends=".snapshot")
    harness.run(jobs)
    assert harness.log.flushed_end_offset == 1
    path = harness.log.producers.snapshot_path(1)
    assert not disk.exists(path)
    harness.flush()
    assert disk.exists(path)


def test_what_a_failed_flush_still_held_is_given_back() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk, LogConfig(segment_bytes=150))
    for _ in range(3):
        record = batch_at(0, value=b"x" * 60)
        harness.log.append_as_leader(memoryview(record.view), 0, START_MS)
    before = disk.open_count
    work = harness.log.plan_flush(START_MS)
    assert work is not None
    disk.fail("fsync", errno.EIO)
    with pytest.raises(StorageError):
        work.work()
    assert disk.open_count <= before


@pytest.mark.parametrize(("call", "path"), [("fsync_dir", ""), ("open", ".index")])
def test_closing_without_descriptors_leaves_no_clean_mark(call: str, path: str) -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"x"])
    disk.fail(call, errno.EMFILE, path_ends=path, times=9)
    harness.close()
    assert not disk.exists(f"{LOG_DIR}/{CLEAN_SHUTDOWN_FILE}")
    disk.clear_failures()
    assert disk.open_count == 0
    disk.restart()
    assert LogHarness(disk).content() == [(0, b"x")]


def test_a_held_log_flushes_nothing_and_makes_up_for_it() -> None:
    harness = LogHarness(FaultDisk())
    log = harness.log
    harness.append([b"x"])
    running = log.plan_flush(START_MS)
    assert running is not None
    log.flusher.hold()
    assert not log.flusher.is_still
    harness.append([b"y"])
    assert log.flusher.want(2) == ()
    running.work()
    running.commit()
    assert list(running.jobs) == []
    flusher = log.flusher
    assert flusher.is_still
    assert log.plan_flush(START_MS) is None
    assert log.flushed_end_offset == 1
    harness.run(log.flusher.release())
    assert log.flushed_end_offset == 2


def test_a_log_deleted_under_its_flush_is_no_failed_disk() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"x"])
    work = harness.log.plan_flush(START_MS)
    assert work is not None
    opened = disk.open_count
    harness.manager.delete_async(harness.log.topic_partition, START_MS)
    work.work()
    assert work.commit() == ()
    assert disk.open_count < opened


def test_closing_puts_no_epoch_file_at_risk() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"x"], epoch=2)
    harness.flush()
    harness.log.assign_epoch(3, 1)
    harness.close()
    disk.fsync_dir(f"{LOG_DIR}/orders-0")
    disk.power_cut()
    assert LogHarness(disk).log.epochs.entries() == [(2, 0)]


def test_a_clean_shutdown_vouches_for_what_recovery_cut_off_an_empty_log() -> None:
    disk = FaultDisk()
    LogHarness(disk)
    disk.write_file(f"{LOG_DIR}/orders-0/00000000000000000000.log", b"half a batch")
    disk.sync_all()
    disk.restart()
    LogHarness(disk).close()
    disk.power_cut()
    assert LogHarness(disk).content() == []
    assert disk.file_size(f"{LOG_DIR}/orders-0/00000000000000000000.log") == 0
