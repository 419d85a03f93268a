"""Cutting a log: what goes, what comes down with it."""

from config.topic_config import LogConfig
from storage.log.truncation import doubt_from
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import LOG_DIR, START_MS, LogHarness


def lived() -> LogHarness:
    harness = LogHarness(FaultDisk(), LogConfig(segment_bytes=300, file_delete_delay_ms=0))
    for number in range(4):
        harness.append([b"%d-%d" % (number, index) for index in range(3)], epoch=number)
    harness.flush()
    harness.log.update_high_watermark(12)
    return harness


def test_a_cut_inside_a_batch_takes_the_whole_batch() -> None:
    harness = lived()
    harness.run(harness.log.truncate_to(7, START_MS))
    assert harness.log.log_end_offset == 6
    assert [offset for offset, _ in harness.content()] == list(range(6))


def test_epochs_and_offsets_come_down_with_the_log_end() -> None:
    harness = lived()
    log, generation = harness.log, harness.log.generation
    log.truncate_to(6, START_MS)
    assert log.generation == generation + 1
    assert log.latest_epoch == 1
    assert (log.high_watermark, log.recovery_point, log.flushed_end_offset) == (6, 6, 6)


def test_a_cut_at_or_beyond_the_end_changes_nothing() -> None:
    log = lived().log
    generation = log.generation
    assert log.truncate_to(12, START_MS) == ()
    assert log.generation == generation


def test_a_cut_before_the_first_segment_empties_the_log() -> None:
    harness = lived()
    harness.run(harness.log.truncate_fully_and_start_at(30, START_MS, 28))
    assert (harness.log.log_start_offset, harness.log.log_end_offset) == (28, 30)
    harness.append([b"x"], epoch=5)
    harness.run(harness.log.truncate_to(10, START_MS))
    assert (harness.log.log_start_offset, harness.log.log_end_offset) == (10, 10)


def test_what_was_cut_stays_away_after_the_jobs_ran() -> None:
    harness = lived()
    harness.run(harness.log.truncate_to(3, START_MS))
    harness.checkpoint()
    assert isinstance(harness.disk, FaultDisk)
    harness.disk.power_cut()
    again = LogHarness(harness.disk, harness.config)
    assert [offset for offset, _ in again.content()] == [0, 1, 2]
    names = harness.disk.listdir(f"{LOG_DIR}/orders-0")
    assert not any(name.endswith(".deleted") for name in names)


def test_nothing_vouches_for_what_is_about_to_be_cut() -> None:
    harness = lived()
    work = harness.log.plan_flush(START_MS)
    assert work is None
    harness.append([b"more"])
    work = harness.log.plan_flush(START_MS)
    assert work is not None
    work.work()
    doubt_from(harness.log, 6)
    work.commit()
    assert (harness.log.recovery_point, harness.log.flushed_end_offset) == (6, 6)
    assert harness.log.log_end_offset == 13
