"""Which logs are cleaned when, and what becomes of those that cannot be."""

import errno
import logging

import pytest

from protocol.model import TopicPartition
from storage.cleaner.log_cleaner import (
    KEPT_WARM_MS,
    MOST_DEATHS,
    PUT_OFF_MS,
    SLICE,
    CleanerSettings,
    LogCleaner,
)
from storage.cleaner.order import CleaningInterrupted, CleaningOrder, Progress
from storage.cleaner.running import InLineRunner
from storage.errors import StorageError
from storage.filenames import CLEANED, CLEANER_CHECKPOINT, LOG, SWAP
from storage.jobs import Job
from storage.log.partition_log import PartitionLog
from storage.log_jobs import CLEANER_OFFSETS
from tests.support.cleaning import COMPACTED, CleaningHarness, LiveCleanerSettings
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import LOG_DIR, PARTITION, TOPIC_ID

OTHER = TopicPartition("orders", 1)


def filled(harness: CleaningHarness, batches: int = 20) -> CleaningHarness:
    for n in range(batches):
        harness.put([(b"%d" % (n % 4), b"value-%03d" % n), (b"n%d" % n, b"x")])
        harness.now_ms += 1
    return harness


def latest(harness: CleaningHarness) -> dict[bytes | None, tuple[int, bytes | None]]:
    return {key: (offset, value) for offset, key, value in harness.pairs()}


def test_a_cleaned_log_has_every_key_s_last_record_at_its_offset() -> None:
    harness = filled(CleaningHarness(FaultDisk()))
    before, end_offset = latest(harness), harness.log.log_end_offset
    count = len(harness.pairs())
    harness.clean()
    assert latest(harness) == before
    assert len(harness.pairs()) < count
    assert harness.log.log_end_offset == end_offset
    assert harness.log.first_dirty_offset == harness.log.segments.active.base_offset


def test_where_a_cleaning_ended_is_remembered_over_a_restart() -> None:
    disk = FaultDisk()
    harness = filled(CleaningHarness(disk))
    harness.clean()
    dirty = harness.log.first_dirty_offset
    assert disk.read_file(f"{LOG_DIR}/{CLEANER_CHECKPOINT}") == b"0\n1\norders 0 %d\n" % dirty
    disk.restart()
    again = CleaningHarness(disk)
    assert again.log.first_dirty_offset == dirty
    again.close()
    assert CleaningHarness(disk).log.first_dirty_offset == dirty


def test_a_truncation_lowers_it_and_a_deletion_forgets_it() -> None:
    disk = FaultDisk()
    harness = filled(CleaningHarness(disk))
    harness.clean()
    harness.run(harness.log.truncate_to(5, harness.now_ms))
    assert harness.log.first_dirty_offset <= 5
    harness.checkpoint()
    assert harness.directory.cleaner_offsets.read()[PARTITION] <= 5
    harness.run([harness.manager.delete_async(PARTITION, harness.now_ms)])
    harness.checkpoint()
    assert harness.directory.cleaner_offsets.read() == {}


def test_a_log_that_is_not_compacted_is_left_alone() -> None:
    harness = CleaningHarness(FaultDisk(), COMPACTED._replace(compact=False))
    count = len(filled(harness).pairs())
    harness.clean()
    assert len(harness.pairs()) == count


def test_a_log_becomes_due_by_its_ratio() -> None:
    harness = filled(
        CleaningHarness(FaultDisk(), COMPACTED._replace(min_cleanable_dirty_ratio=0.5))
    )
    harness.clean()
    assert harness.cleaner.facts.max_dirty_percent < 50
    dirty = harness.log.first_dirty_offset
    filled(harness, 3)
    harness.clean()
    assert harness.log.first_dirty_offset == dirty
    filled(harness, 30)
    harness.clean()
    assert harness.log.first_dirty_offset > dirty


def test_a_log_is_cleaned_after_its_longest_lag_whatever_its_ratio() -> None:
    config = COMPACTED._replace(min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=10_000)
    harness = filled(CleaningHarness(FaultDisk(), config))
    harness.clean()
    assert harness.log.first_dirty_offset == -1
    harness.now_ms += 11_000
    harness.clean()
    assert harness.log.first_dirty_offset > 0


def test_nothing_beyond_an_open_transaction_is_cleaned() -> None:
    harness = CleaningHarness(FaultDisk())
    filled(harness, 8)
    fields = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0}
    begin = harness.put([(b"0", b"open")], **fields, is_transactional=True)
    filled(harness, 20)
    harness.clean()
    assert harness.log.first_dirty_offset <= begin
    assert (begin, b"0", b"open") in harness.pairs()
    harness.end_transaction(5, commit=False)
    filled(harness, 10)
    harness.clean()
    assert (begin, b"0", b"open") not in harness.pairs()


def test_what_a_producer_once_aborted_says_nothing_of_what_it_commits_later() -> None:
    harness = CleaningHarness(FaultDisk())

    def put(sequence: int, value: bytes) -> int:
        return harness.put(
            [(b"k", value)],
            producer_id=5,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=True,
        )

    put(0, b"aborted")
    harness.end_transaction(5, commit=False)
    harness.roll()
    harness.clean()
    put(1, b"old")
    last = put(2, b"new")
    harness.end_transaction(5, commit=True)
    harness.roll()
    harness.clean()
    assert harness.pairs() == [(last, b"k", b"new")]


def test_tombstones_go_after_their_time() -> None:
    harness = CleaningHarness(FaultDisk())
    harness.put([(b"gone", b"x")])
    harness.put([(b"gone", None)])
    filled(harness)
    harness.clean()
    assert latest(harness)[b"gone"] == (1, None)
    harness.now_ms += 900
    filled(harness, 6)
    harness.clean()
    assert b"gone" in latest(harness)
    harness.now_ms += 2000
    filled(harness, 6)
    harness.clean()
    assert b"gone" not in latest(harness)


def test_a_pause_is_counted_and_ends_with_the_last_resume() -> None:
    harness = filled(CleaningHarness(FaultDisk()))
    harness.cleaner.abort_and_pause(PARTITION)
    harness.cleaner.abort_and_pause(PARTITION)
    harness.clean()
    harness.cleaner.resume(PARTITION)
    harness.clean()
    assert harness.log.first_dirty_offset == -1
    harness.cleaner.resume(PARTITION)
    harness.clean()
    assert harness.log.first_dirty_offset > 0


def flip(disk: FaultDisk, path: str, at: int = -1) -> None:
    data = bytearray(disk.read_file(path))
    data[at] ^= 1
    disk.write_file(path, bytes(data))


def test_a_damaged_log_is_uncleanable_until_restart_and_nothing_of_it_is_dropped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk = FaultDisk()
    harness = filled(CleaningHarness(disk))
    path = harness.log.segments[1].path(LOG)
    flip(disk, path)
    bases = harness.bases()
    harness.clean()
    harness.clean()
    assert harness.bases() == bases
    assert harness.cleaner.uncleanable(LOG_DIR) == {PARTITION}
    assert harness.cleaner.uncleanable_bytes(LOG_DIR, harness.now_ms) > 0
    assert not harness.directory.offline
    (line,) = [one for one in caplog.records if one.levelno == logging.ERROR]
    assert path in line.getMessage()
    assert "position" in line.getMessage()
    flip(disk, path)
    harness.close()
    again = CleaningHarness(disk)
    again.clean()
    assert again.cleaner.uncleanable(LOG_DIR) == set()
    assert again.log.first_dirty_offset > 0


@pytest.mark.parametrize("call", ["open", "pread", "pwrite", "fsync", "fsync_dir", "set_mtime"])
def test_a_disk_that_fails_takes_its_directory_offline(call: str) -> None:
    disk = FaultDisk()
    harness = filled(CleaningHarness(disk))
    disk.fail(call, errno.EIO)
    with pytest.raises(StorageError) as caught:
        harness.clean()
    assert caught.value.directory == LOG_DIR


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EMFILE, errno.ENOMEM])
def test_a_shortage_puts_the_cleaning_off_and_gives_back_what_it_took(code: int) -> None:
    disk = FaultDisk()
    harness = filled(CleaningHarness(disk))
    wanted = harness.pairs()
    disk.fail("pwrite", code, path_ends=CLEANED, times=2)
    harness.clean()
    assert not harness.directory.offline
    assert harness.pairs() == wanted
    assert not [name for name in disk.listdir(harness.log.directory) if name.endswith(CLEANED)]
    harness.clean()
    assert harness.log.first_dirty_offset < 0, "not again and again"
    disk.clear_failures()
    harness.now_ms += PUT_OFF_MS
    harness.clean()
    assert harness.log.first_dirty_offset > 0


def test_a_swap_that_fails_leaves_its_slot_to_logs_of_other_directories() -> None:
    disk = FaultDisk()
    harness = filled(CleaningHarness(disk))
    disk.fail("replace", errno.EIO, path_ends=SWAP)
    with pytest.raises(StorageError):
        harness.clean()
    assert len(list(harness.cleaner.plan(harness.now_ms))) == 1


def test_a_log_that_was_cut_during_a_survey_is_measured_again() -> None:
    harness = CleaningHarness(FaultDisk())
    filled(harness)
    for number in range(1, SLICE + 1):
        partition = TopicPartition("orders", number)
        harness.manager.get_or_create(partition, TOPIC_ID, COMPACTED, harness.now_ms)
    (first,) = harness.cleaner.plan(harness.now_ms)
    first.work()
    first.commit()
    harness.run(harness.log.truncate_to(3, harness.now_ms))
    harness.run(first.jobs)
    assert [key for _, key, _ in harness.pairs()]


def test_what_a_survey_found_is_cleaned_before_the_next_one_the_filthiest_first() -> None:
    harness = CleaningHarness(FaultDisk())
    less, later = harness.log, OTHER._replace(partition=2)
    filled(harness)
    harness.clean()
    filled(harness, 10)
    more, late = (
        harness.manager.get_or_create(partition, TOPIC_ID, COMPACTED, harness.now_ms)
        for partition in (OTHER, later)
    )
    harness.log = more
    filled(harness)
    starts = {log: log.first_dirty_offset for log in (less, more, late)}
    jobs = [Job("clean", 0, harness.cleaner.plan)]
    cleaned: list[PartitionLog] = []
    while jobs:
        for work in jobs.pop(0).plan(harness.now_ms):
            work.work()
            work.commit()
            jobs += work.jobs
        if not late.log_end_offset:
            harness.log = late
            filled(harness, 60)
        cleaned += [
            log
            for log, start in starts.items()
            if log.first_dirty_offset > start and log not in cleaned
        ]
    assert cleaned == [more, less, late]


def test_a_log_that_cannot_be_measured_is_no_reason_not_to_clean_others() -> None:
    disk = FaultDisk()
    config = COMPACTED._replace(max_compaction_lag_ms=1000)
    filled(CleaningHarness(disk, config)).close()
    harness = CleaningHarness(disk, config)
    harness.log, first = (
        harness.manager.get_or_create(OTHER, TOPIC_ID, config, harness.now_ms),
        harness.log,
    )
    filled(harness)
    disk.fail("pread", errno.EMFILE, path_ends=f"orders-0/{0:020d}.log")
    (survey,) = harness.cleaner.plan(harness.now_ms)
    survey.work()
    survey.commit()
    harness.run(survey.jobs)
    assert harness.log.first_dirty_offset > 0
    assert first.first_dirty_offset > 0, "by the next survey"


def test_cleanings_that_end_soon_after_each_other_are_written_down_together() -> None:
    harness = filled(CleaningHarness(FaultDisk()))
    harness.log = harness.manager.get_or_create(OTHER, TOPIC_ID, COMPACTED, harness.now_ms)
    filled(harness)
    jobs = [Job("clean", 0, harness.cleaner.plan)]
    writes: list[Job] = []
    while jobs:
        job = jobs.pop()
        if job.name == CLEANER_OFFSETS:
            assert job.delay_ms == 1000
            writes.append(job)
            continue
        for work in job.plan(harness.now_ms):
            work.work()
            work.commit()
            jobs += work.jobs
    assert len(writes) == 1
    harness.run(writes)
    text = harness.disk.read_file(f"{LOG_DIR}/{CLEANER_CHECKPOINT}").decode()
    assert text.splitlines()[1] == "2"


def test_a_survey_goes_on_beside_a_cleaning() -> None:
    harness = filled(CleaningHarness(FaultDisk()))
    harness.settings.threads = 2
    (work,) = harness.cleaner.plan(harness.now_ms)
    work.work()
    work.commit()
    (survey,) = harness.cleaner.periodic_jobs()
    assert survey.name not in [step.name for step in work.jobs]
    harness.run(work.jobs)


def test_processes_of_slots_that_are_no_more_are_let_go_too() -> None:
    disk = FaultDisk()
    runner = Remembering(disk)
    harness = filled(CleaningHarness(disk, runner=runner))
    harness.settings.threads = 2
    harness.log = harness.manager.get_or_create(OTHER, TOPIC_ID, COMPACTED, harness.now_ms)
    filled(harness)
    harness.clean()
    harness.settings.threads = 1
    runner.forgotten.clear()
    harness.now_ms += KEPT_WARM_MS
    harness.clean()
    assert sorted(runner.forgotten) == [0, 1]


def test_retention_that_takes_a_segment_meanwhile_voids_the_cleaning_only() -> None:
    config = COMPACTED._replace(delete=True, retention_bytes=1000, retention_ms=-1)
    harness = filled(CleaningHarness(FaultDisk(), config))
    (work,) = harness.cleaner.plan(harness.now_ms)
    work.work()
    work.commit()
    (step,) = work.jobs
    _, jobs = harness.log.delete_old_segments(harness.now_ms)
    harness.run([*jobs, step])
    assert not harness.directory.offline
    assert harness.cleaner.uncleanable(LOG_DIR) == set()
    assert harness.log.first_dirty_offset > 0


def test_a_truncation_meanwhile_voids_the_cleaning() -> None:
    harness = filled(CleaningHarness(FaultDisk()))
    (work,) = harness.cleaner.plan(harness.now_ms)
    work.work()
    work.commit()
    (step,) = work.jobs
    works = list(step.plan(harness.now_ms))
    for one in works:
        one.work()
    harness.run(harness.log.truncate_to(10, harness.now_ms))
    wanted = harness.pairs()
    for one in works:
        one.commit()
    assert harness.pairs() == wanted
    harness.run([job for one in works for job in one.jobs])
    assert not harness.directory.offline


class Dying:
    """A runner whose process is always gone."""

    def begin(self, slot: int, order: CleaningOrder, most_bytes: int) -> Progress:
        raise CleaningInterrupted

    def advance(self, slot: int, most_bytes: int) -> Progress:
        raise CleaningInterrupted

    def forget(self, slot: int) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing runs."""


def test_a_log_that_ends_its_cleaner_twice_is_not_tried_a_third_time() -> None:
    harness = filled(CleaningHarness(FaultDisk(), runner=Dying()))
    harness.clean()
    assert harness.cleaner.facts.dead_thread_count == 1
    assert MOST_DEATHS == 2
    assert harness.cleaner.uncleanable(LOG_DIR) == {PARTITION}


class Wrong(Dying):
    """A runner with a bug."""

    def begin(self, slot: int, order: CleaningOrder, most_bytes: int) -> Progress:
        raise ZeroDivisionError


def test_an_error_nobody_thought_of_costs_one_log_its_cleaning() -> None:
    harness = filled(CleaningHarness(FaultDisk(), runner=Wrong()))
    harness.clean()
    assert harness.cleaner.uncleanable(LOG_DIR) == {PARTITION}


def test_as_many_logs_are_cleaned_at_a_time_as_there_are_threads() -> None:
    harness = filled(CleaningHarness(FaultDisk()))
    first = harness.log
    harness.log = harness.manager.get_or_create(OTHER, TOPIC_ID, COMPACTED, harness.now_ms)
    filled(harness, 40)
    (work,) = harness.cleaner.plan(harness.now_ms)
    work.work()
    work.commit()
    assert len(work.jobs) == 1
    assert harness.cleaner.plan(harness.now_ms) == ()
    harness.settings.threads = 2
    (second,) = harness.cleaner.plan(harness.now_ms)
    second.work()
    second.commit()
    assert len(second.jobs) == 1
    harness.run([*work.jobs, *second.jobs])
    assert first.first_dirty_offset > 0
    assert harness.log.first_dirty_offset > 0


def test_many_logs_are_measured_in_slices() -> None:
    harness = CleaningHarness(FaultDisk())
    for number in range(1, 130):
        partition = TopicPartition("orders", number)
        harness.manager.get_or_create(partition, TOPIC_ID, COMPACTED, harness.now_ms)
    jobs: list[Job] = [Job("clean", 0, harness.cleaner.plan)]
    slices = 0
    while jobs:
        for work in jobs.pop().plan(harness.now_ms):
            work.work()
            work.commit()
            slices += 1
            jobs += work.jobs
    assert slices == 3


def test_a_cleaner_that_is_switched_off_has_no_jobs() -> None:
    harness = CleaningHarness(FaultDisk())
    settings = LiveCleanerSettings()
    off = LogCleaner(
        harness.manager,
        settings.live(enabled=False),
        InLineRunner(harness.disk),
        harness.jobs.plan_cleaner_offsets,
    )
    assert off.periodic_jobs() == []
    (job,) = harness.cleaner.periodic_jobs()
    assert (job.name, job.period_ms()) == ("kafka-log-cleaner", 1000)
    harness.settings.backoff_ms = 0
    assert job.period_ms() == 10


class Remembering(InLineRunner):
    """A runner that tells what it was told to forget."""

    def __init__(self, disk: FaultDisk) -> None:
        super().__init__(disk)
        self.forgotten: list[int] = []

    def forget(self, slot: int) -> None:
        self.forgotten.append(slot)
        super().forget(slot)


def test_a_process_without_work_is_let_go_after_a_while() -> None:
    disk = FaultDisk()
    runner = Remembering(disk)
    harness = filled(CleaningHarness(disk, runner=runner))
    harness.clean()
    runner.forgotten.clear()
    harness.now_ms += KEPT_WARM_MS - 1
    harness.clean()
    assert runner.forgotten == []
    harness.now_ms += 1
    harness.clean()
    harness.clean()
    assert runner.forgotten == [0]
    filled(harness)
    harness.clean()
    assert harness.log.first_dirty_offset == harness.log.segments.active.base_offset


def test_figures_are_those_of_the_last_cleanings() -> None:
    harness = filled(CleaningHarness(FaultDisk()))
    facts = harness.cleaner.facts
    assert (facts.recopy_percent, facts.max_clean_time_ms) == (0, 0)
    harness.clean()
    assert 0 < facts.recopy_percent < 100
    assert 0 < facts.max_buffer_utilization_percent <= 100
    assert facts.last_run_ms == harness.now_ms


def test_a_small_buffer_cleans_in_several_rounds() -> None:
    harness = CleaningHarness(FaultDisk())
    filled(harness)
    before = latest(harness)
    harness.settings.dedupe_buffer_bytes = 24 * 8
    for _ in range(20):
        harness.clean()
    assert latest(harness) == before
    assert harness.log.first_dirty_offset == harness.log.segments.active.base_offset


def test_settings_are_taken_live() -> None:
    settings: CleanerSettings = LiveCleanerSettings().live()
    assert settings.threads() == 1
