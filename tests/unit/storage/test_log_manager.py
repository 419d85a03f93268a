"""Logs over log directories: what Kafka wrote is served, what is unknown is left alone."""

import errno
import json
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from config.topic_config import LogConfig
from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicPartition
from protocol.records.batch import iterate_batches
from runtime.disk import OsDisk
from storage.audit import audit_log_dir
from storage.errors import StorageError
from storage.log.results import ReadBound
from storage.log_directory import DirectoryLocked, LogDirectory
from storage.log_manager import LogManager
from storage.partition_metadata import read_topic_id
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import (
    LOG_DIR,
    PARTITION,
    START_MS,
    TOPIC_ID,
    LogHarness,
    environment,
)

GOLDEN = Path(__file__).parents[2] / "golden" / "storage-dirs.tar.xz"
OTHER_ID = bytes(range(17, 33))
CONFIG = LogConfig(file_delete_delay_ms=0)


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directories that Kafka 4.3.1 wrote, one copy a module."""
    target = tmp_path_factory.mktemp("golden")
    with tarfile.open(GOLDEN) as archive:
        archive.extractall(target, filter="data")
    return target


def open_golden(path: Path) -> LogManager:
    disk = OsDisk()
    directory = LogDirectory(disk, str(path))
    directory.open()
    manager = LogManager([directory], environment())
    report = manager.load(
        START_MS, lambda _topic: CONFIG, lambda tp: read_topic_id(disk, f"{path}/{tp}")
    )
    assert (report.loaded, report.unserved, report.offline) == (20, [], [])
    return manager


def consumed(manager: LogManager, partition: TopicPartition, bound: ReadBound) -> list[Any]:
    """What a consumer gets, aborted transactions left out under read_committed."""
    log = manager.get(partition)
    assert log is not None
    found: list[Any] = []
    offset = log.log_start_offset
    while True:
        result = log.read(offset, 1 << 20, bound, True)
        if result.slice is None:
            return found
        data = result.slice.read()
        result.slice.release()
        aborted = list(result.aborted_transactions or [])
        gone: set[int] = set()
        for batch in iterate_batches(data):
            offset = batch.next_offset
            while aborted and aborted[0].first_offset <= batch.last_offset:
                gone.add(aborted.pop(0).producer_id)
            if batch.is_control:
                gone.discard(batch.producer_id)
            elif not (batch.is_transactional and batch.producer_id in gone):
                found += [
                    (r.offset, r.timestamp, r.key, r.value, batch.leader_epoch)
                    for r in batch.records()
                ]


def expected(entries: list[dict[str, Any]]) -> list[Any]:
    def unhex(text: str | None) -> bytes | None:
        return None if text is None else bytes.fromhex(text)

    return [
        (e["offset"], e["timestamp"], unhex(e["key"]), unhex(e["value"]), e["leader_epoch"])
        for e in entries
    ]


@pytest.mark.parametrize("kind", ["clean", "unclean"])
def test_every_record_that_kafka_wrote_is_read_back(golden: Path, kind: str) -> None:
    assert audit_log_dir(OsDisk(), str(golden / kind)) == []
    manager = open_golden(golden / kind)
    truth = json.loads((golden / "expect.json").read_text())
    for topic, facts in truth.items():
        partition = TopicPartition(topic, 0)
        log = manager.get(partition)
        assert log is not None
        assert log.log_start_offset == facts["log_start_offset"]
        assert log.high_watermark == facts["high_watermark"]
        for level, bound in (
            ("read_uncommitted", ReadBound.HIGH_WATERMARK),
            ("read_committed", ReadBound.LAST_STABLE),
        ):
            found = consumed(manager, partition, bound)
            if isinstance(facts[level], dict):
                assert len(found) == facts[level]["count"]
            else:
                assert found == expected(facts[level]), (topic, level)
    manager.close(START_MS, clean=True)
    assert audit_log_dir(OsDisk(), str(golden / kind)) == []


def test_opening_and_closing_what_kafka_closed_changes_no_log_file(
    golden: Path, tmp_path: Path
) -> None:
    with tarfile.open(GOLDEN) as archive:
        archive.extractall(tmp_path, filter="data")
    root = tmp_path / "clean"

    def content() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in root.glob("*-?/*")}

    before = content()
    open_golden(root).close(START_MS, clean=True)
    assert content() == before


def test_times_are_found_as_kafka_finds_them(golden: Path) -> None:
    manager = open_golden(golden / "clean")
    log = manager.get(TopicPartition("g-out-of-order-time", 0))
    assert log is not None
    at = [1700000000000 + 1000 * second for second in (5, 1, 9, 3, 12, 12, 2, 20, 7)]
    for target in (0, *at, at[7] + 1):
        found = log.offset_for_timestamp(target)
        first = next((offset for offset, time in enumerate(at) if time >= target), None)
        assert (None if found is None else found.offset) == first
    greatest = log.max_timestamp_offset()
    assert greatest is not None
    assert (greatest.offset, greatest.timestamp, greatest.leader_epoch) == (7, at[7], 0)
    manager.close(START_MS, clean=True)


def test_a_second_owner_of_a_directory_is_refused() -> None:
    disk = FaultDisk()
    LogHarness(disk)
    with pytest.raises(DirectoryLocked, match="Failed to acquire lock"):
        LogDirectory(disk, LOG_DIR).open()


def test_a_clean_shutdown_is_marked_once() -> None:
    disk = FaultDisk()
    LogHarness(disk).close()
    assert disk.exists(f"{LOG_DIR}/.kafka_cleanshutdown")
    harness = LogHarness(disk)
    assert not disk.exists(f"{LOG_DIR}/.kafka_cleanshutdown")
    assert harness.report.recovered == 0
    disk.restart()
    assert LogHarness(disk).report.recovered == 1


@pytest.mark.parametrize("clean", [True, False])
def test_an_interrupted_start_leaves_a_directory_as_clean_as_it_was(clean: bool) -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"x"])
    harness.manager.close(START_MS, clean=clean)
    for loads in (0, 1):
        directory = LogDirectory(disk, LOG_DIR)
        directory.open()
        manager = LogManager([directory], environment())
        tasks = manager.load_tasks(START_MS, lambda _topic: CONFIG, lambda _tp: TOPIC_ID)
        for task in tasks[:loads]:
            task()
        manager.abandon_load(tasks)
        assert disk.exists(f"{LOG_DIR}/.kafka_cleanshutdown") is clean
    again = LogHarness(disk)
    assert again.report.recovered == (not clean)
    assert again.content() == [(0, b"x")]


def test_an_interrupted_start_that_mended_a_log_leaves_no_clean_mark() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"x"])
    harness.close()
    disk.unlink(f"{LOG_DIR}/{PARTITION}/{0:020d}.index")
    directory = LogDirectory(disk, LOG_DIR)
    directory.open()
    manager = LogManager([directory], environment())
    tasks = manager.load_tasks(START_MS, lambda _topic: CONFIG, lambda _tp: TOPIC_ID)
    tasks[0]()
    manager.abandon_load(tasks)
    assert not disk.exists(f"{LOG_DIR}/.kafka_cleanshutdown")


def test_what_metadata_does_not_name_stays_and_keeps_its_checkpoints() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    stranger = TopicPartition("stranger", 3)
    log = harness.manager.get_or_create(stranger, OTHER_ID, CONFIG, START_MS)
    harness.append([b"x"])
    log.update_high_watermark(0)
    harness.close()
    harness = LogHarness(disk)
    report = harness.report
    assert [(at.path, at.topic_id) for at in report.unserved] == [
        (f"{LOG_DIR}/stranger-3", OTHER_ID)
    ]
    assert harness.manager.get(stranger) is None
    harness.close()
    assert disk.exists(f"{LOG_DIR}/stranger-3/00000000000000000000.log")
    assert b"stranger 3 0" in disk.read_file(f"{LOG_DIR}/recovery-point-offset-checkpoint")


def test_a_directory_of_another_incarnation_is_reported_then_set_aside() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"old"])
    harness.close()
    directory = LogDirectory(disk, LOG_DIR)
    directory.open()
    manager = LogManager([directory], environment())
    report = manager.load(START_MS, lambda _topic: CONFIG, lambda _partition: OTHER_ID)
    assert [at.topic_partition for at in report.unserved] == [PARTITION]
    log = manager.get_or_create(PARTITION, OTHER_ID, CONFIG, START_MS)
    assert log.log_end_offset == 0
    assert any(name.endswith("-stray") for name in disk.listdir(LOG_DIR))


def test_an_unserved_directory_of_the_same_id_is_not_overwritten() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.close()
    directory = LogDirectory(disk, LOG_DIR)
    directory.open()
    manager = LogManager([directory], environment())
    manager.load(START_MS, lambda _topic: CONFIG, lambda _partition: None)
    with pytest.raises(KafkaError, match="exists and is not served"):
        manager.get_or_create(PARTITION, TOPIC_ID, CONFIG, START_MS)


def test_an_identity_that_a_power_cut_took_is_written_anew() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.close()
    disk.write_file(f"{LOG_DIR}/orders-0/partition.metadata", b"")
    harness = LogHarness(disk)
    assert harness.report.unserved == []
    assert read_topic_id(disk, f"{LOG_DIR}/orders-0") == TOPIC_ID


def test_one_name_cannot_be_two_topics() -> None:
    harness = LogHarness(FaultDisk())
    with pytest.raises(KafkaError) as caught:
        harness.manager.get_or_create(PARTITION, OTHER_ID, CONFIG, START_MS)
    assert caught.value.code == ErrorCode.INCONSISTENT_TOPIC_ID


def test_deletion_renames_at_once_and_removes_after_the_delay() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"x"])
    job = harness.manager.delete_async(PARTITION, START_MS)
    assert harness.manager.get(PARTITION) is None
    names = [name for name in disk.listdir(LOG_DIR) if name.endswith("-delete")]
    assert len(names) == 1
    harness.run([job])
    assert not disk.exists(f"{LOG_DIR}/{names[0]}")
    again = harness.manager.get_or_create(PARTITION, OTHER_ID, CONFIG, START_MS)
    assert again.log_end_offset == 0


def test_what_a_crash_left_half_deleted_is_found_again() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.manager.delete_async(PARTITION, START_MS)
    disk.restart()
    harness = LogHarness(disk)
    assert harness.report.unserved == []
    for work in harness.manager.plan_deletions(START_MS):
        work.work()
        work.commit()
    assert [name for name in disk.listdir(LOG_DIR) if "delete" in name] == []


def test_new_logs_go_where_the_fewest_are() -> None:
    disk = FaultDisk()
    directories = [LogDirectory(disk, path) for path in ("/a", "/b")]
    for directory in directories:
        directory.open()
    manager = LogManager(directories, environment())
    manager.load(START_MS, lambda _topic: CONFIG, lambda _partition: None)
    for number in range(4):
        manager.get_or_create(TopicPartition("t", number), TOPIC_ID, CONFIG, START_MS)
    assert [log.log_dir for log in manager.all_logs()] == ["/a", "/b", "/a", "/b"]
    assert manager.fail_dir("/a") == [TopicPartition("t", 0), TopicPartition("t", 2)]
    nine = TopicPartition("t", 9)
    with pytest.raises(KafkaError, match="log directories /a are offline"):
        manager.get_or_create(nine, TOPIC_ID, CONFIG, START_MS)
    made = manager.get_or_create(nine, TOPIC_ID, CONFIG, START_MS, is_new=True)
    assert made.log_dir == "/b"
    assert [state.offline for state in manager.log_dir_states()] == [True, False]
    manager.fail_dir("/b")
    with pytest.raises(StorageError, match="No log directory is online"):
        manager.placement.choose(TopicPartition("t", 10))
    manager.close(START_MS, clean=True)
    assert not disk.exists("/a/.kafka_cleanshutdown")


def test_a_log_in_a_failed_directory_takes_no_more_appends() -> None:
    harness = LogHarness(FaultDisk())
    log, generation = harness.log, harness.log.generation
    harness.manager.fail_dir(LOG_DIR)
    assert log.generation > generation
    with pytest.raises(StorageError, match="offline"):
        harness.append([b"x"])
    assert log.plan_flush(START_MS) is None


def test_a_directory_that_fails_while_loading_goes_offline() -> None:
    disk = FaultDisk()
    LogHarness(disk).close()
    disk.fail("read_file", errno.EIO, path_ends="recovery-point-offset-checkpoint")
    directory = LogDirectory(disk, LOG_DIR)
    directory.open()
    manager = LogManager([directory], environment())
    report = manager.load(START_MS, lambda _topic: CONFIG, lambda _partition: TOPIC_ID)
    assert report.offline == [LOG_DIR]
    assert report.loaded == 0


def test_a_log_that_fails_while_loading_takes_its_directory_offline() -> None:
    disk = FaultDisk()
    LogHarness(disk).close()
    disk.fail("listdir", errno.EIO, path_ends="orders-0")
    directory = LogDirectory(disk, LOG_DIR)
    directory.open()
    manager = LogManager([directory], environment())
    report = manager.load(START_MS, lambda _topic: CONFIG, lambda _partition: TOPIC_ID)
    assert report.offline == [LOG_DIR]


def test_settings_reach_every_log_of_the_topic() -> None:
    harness = LogHarness(FaultDisk())
    harness.manager.update_topic_config("orders", LogConfig(max_message_bytes=50))
    with pytest.raises(KafkaError) as caught:
        harness.append([b"x"])
    assert caught.value.code == ErrorCode.MESSAGE_TOO_LARGE


Damage = Callable[[FaultDisk, str], None]


def tear(disk: FaultDisk, path: str) -> None:
    fd = disk.open(f"{path}/00000000000000000000.log")
    disk.pwrite(fd, b"\0\0\0\0\0\0\0\x09\0\0\1\0garbage", disk.size(fd))
    disk.close(fd)


def lose_index(disk: FaultDisk, path: str) -> None:
    for name in disk.listdir(path):
        if name.endswith("index"):
            disk.unlink(f"{path}/{name}")


def zero_index(disk: FaultDisk, path: str) -> None:
    for name in disk.listdir(path):
        if name.endswith("index"):
            disk.write_file(f"{path}/{name}", bytes(120))


def lose_checkpoints(disk: FaultDisk, _path: str) -> None:
    for name in disk.listdir(LOG_DIR):
        if name.endswith("checkpoint"):
            disk.unlink(f"{LOG_DIR}/{name}")


@pytest.mark.parametrize("damage", [tear, lose_index, zero_index, lose_checkpoints])
def test_damage_done_while_it_was_down_costs_no_record(damage: Damage) -> None:
    disk = FaultDisk()
    config = LogConfig(index_interval_bytes=100, file_delete_delay_ms=0)
    harness = LogHarness(disk, config)
    for number in range(20):
        harness.append([b"value-%d" % number])
    before = harness.content()
    harness.checkpoint()
    disk.restart()
    damage(disk, f"{LOG_DIR}/orders-0")
    harness = LogHarness(disk, config)
    assert harness.content() == before
    harness.close()
    assert audit_log_dir(disk, LOG_DIR) == []


def test_a_log_in_two_directories_is_refused() -> None:
    disk = FaultDisk()
    for path in ("/a", "/b"):
        LogHarness(disk, CONFIG, path).close()
    directories = [LogDirectory(disk, path) for path in ("/a", "/b")]
    for directory in directories:
        directory.open()
    manager = LogManager(directories, environment())
    with pytest.raises(KafkaError, match="Duplicate log directories found"):
        manager.load(START_MS, lambda _topic: CONFIG, lambda _partition: TOPIC_ID)


def test_a_directory_that_is_offline_from_the_start_is_left_alone() -> None:
    directory = LogDirectory(FaultDisk(), LOG_DIR)
    directory.offline = True
    manager = LogManager([directory], environment())
    report = manager.load(START_MS, lambda _topic: CONFIG, lambda _partition: TOPIC_ID)
    assert report.offline == [LOG_DIR]
    assert manager.log_dir_states() == [(LOG_DIR, -1, -1, True, False)]


def test_deletions_in_a_failed_directory_are_forgotten() -> None:
    harness = LogHarness(FaultDisk())
    harness.manager.delete_async(PARTITION, START_MS)
    harness.manager.fail_dir(LOG_DIR)
    assert list(harness.manager.plan_deletions(START_MS + 1)) == []


def test_a_directory_that_fails_at_the_end_gets_no_mark() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"x"])
    disk.fail("fsync", errno.EIO)
    harness.close()
    assert harness.directory.offline
    assert not disk.exists(f"{LOG_DIR}/.kafka_cleanshutdown")
    assert LogHarness(disk).content() == [(0, b"x")]


def test_a_close_in_haste_leaves_recovery_to_the_next_start() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"x"])
    harness.manager.close(START_MS, clean=False)
    assert disk.open_count == 0
    assert LogHarness(disk).report.recovered == 1


def test_flushes_of_a_close_may_run_elsewhere() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"x"])
    handed: list[int] = []

    def run_all(functions: Sequence[Callable[[], None]]) -> None:
        handed.append(len(functions))
        for function in functions:
            function()

    harness.manager.close(START_MS, clean=True, run_all=run_all)
    assert handed == [1]
    disk.power_cut()
    assert LogHarness(disk).content() == [(0, b"x")]


def test_topics_without_an_id_have_no_identity_file() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    plain = TopicPartition("plain", 0)
    log = harness.manager.get_or_create(plain, bytes(16), CONFIG, START_MS)
    assert harness.manager.get_or_create(plain, TOPIC_ID, CONFIG, START_MS) is log
    assert not disk.exists(f"{LOG_DIR}/plain-0/partition.metadata")
    harness.manager.update_topic_config("orders", LogConfig(max_message_bytes=9))
    assert log.config == CONFIG


def test_a_name_held_by_an_unreadable_identity_is_not_taken() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    disk.mkdir(f"{LOG_DIR}/torn-0")
    disk.write_file(f"{LOG_DIR}/torn-0/partition.metadata", b"")
    disk.write_file(f"{LOG_DIR}/torn-0/{0:020d}.log", b"x")
    with pytest.raises(KafkaError, match="exists and is not served"):
        harness.manager.get_or_create(TopicPartition("torn", 0), OTHER_ID, CONFIG, START_MS)


def test_a_log_start_is_kept_in_its_checkpoint_until_the_names_before_it_are_durably_gone() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk, LogConfig(segment_bytes=150, file_delete_delay_ms=0))
    for value in (b"a", b"b", b"c"):
        harness.append([value * 60])
    log = harness.log
    log.update_high_watermark(log.log_end_offset)
    harness.flush()
    log.maybe_increment_log_start_offset(1, "a test")
    deleted, _ = log.delete_old_segments(harness.now_ms)
    assert deleted == [0]
    assert harness.manager.log_starts(LOG_DIR)[PARTITION] == 1
    harness.append([b"d"])
    harness.flush()
    assert PARTITION not in harness.manager.log_starts(LOG_DIR)
