"""A log that lost what was durable stays as it is, unserved, and nothing takes its place."""

from collections.abc import Callable

import pytest

from config.topic_config import LogConfig
from protocol.errors import ErrorCode, KafkaError
from storage.log_directory import LogDirectory
from storage.log_manager import LogManager
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import (
    LOG_DIR,
    PARTITION,
    START_MS,
    TOPIC_ID,
    LogHarness,
    environment,
)

CONFIG = LogConfig(segment_bytes=300, index_interval_bytes=100)
DIRECTORY = f"{LOG_DIR}/orders-0"
LOG = f"{DIRECTORY}/{0:020d}.log"
MARK = f"{LOG_DIR}/.kafka_cleanshutdown"


def closed() -> FaultDisk:
    """Three records in one segment, closed cleanly."""
    disk = FaultDisk()
    harness = LogHarness(disk, CONFIG)
    for value in (b"a", b"b", b"c"):
        harness.append([value])
    harness.close()
    return disk


def cut_short(disk: FaultDisk) -> None:
    disk.write_file(LOG, disk.read_file(LOG)[:-1])


def at_a_batch_s_end(disk: FaultDisk) -> None:
    data = disk.read_file(LOG)
    disk.write_file(LOG, data[: len(data) // 3])


def garbage_behind(disk: FaultDisk) -> None:
    disk.write_file(LOG, disk.read_file(LOG) + b"\xff" * 100)


def flipped_without_index(disk: FaultDisk) -> None:
    data = bytearray(disk.read_file(LOG))
    data[65] ^= 1
    disk.write_file(LOG, bytes(data))
    disk.unlink(LOG.replace(".log", ".index"))


def no_log_at_all(disk: FaultDisk) -> None:
    disk.unlink(LOG)


def loaded(disk: FaultDisk) -> LogManager:
    directory = LogDirectory(disk, LOG_DIR)
    directory.open()
    manager = LogManager([directory], environment())
    manager.load(START_MS, lambda _topic: CONFIG, lambda _partition: TOPIC_ID)
    return manager


def files(disk: FaultDisk) -> dict[str, bytes]:
    """All but what is made of the others: producer snapshots."""
    return {
        name: disk.read_file(f"{DIRECTORY}/{name}")
        for name in disk.listdir(DIRECTORY)
        if not name.endswith(".snapshot")
    }


@pytest.mark.parametrize(
    "damage", [cut_short, at_a_batch_s_end, garbage_behind, flipped_without_index, no_log_at_all]
)
def test_damage_after_a_clean_shutdown_is_told_and_left(
    damage: Callable[[FaultDisk], None], caplog: pytest.LogCaptureFixture
) -> None:
    disk = closed()
    damage(disk)
    before = files(disk)
    manager = loaded(disk)
    assert manager.get(PARTITION) is None
    (found,) = manager.damaged.all()
    assert found.identity.topic_partition == PARTITION
    assert manager.damaged.lie_in(LOG_DIR) == len(manager.damaged) == 1
    (line,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert DIRECTORY in line.message
    assert f"tidelog log repair {DIRECTORY}" in line.message
    with pytest.raises(KafkaError) as caught:
        manager.get_or_create(PARTITION, TOPIC_ID, CONFIG, START_MS)
    assert caught.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    if damage is not no_log_at_all:  # there its indexes are without a log
        assert files(disk) == before


def test_a_start_after_a_start_finds_the_same() -> None:
    disk = closed()
    cut_short(disk)
    manager = loaded(disk)
    manager.write_checkpoints(manager.directories[LOG_DIR])
    manager.close(START_MS, clean=True)
    assert not disk.exists(MARK)
    again = loaded(disk)
    assert len(again.damaged) == 1
    assert again.recovery_points(LOG_DIR) == {PARTITION: 3}


def test_an_abandoned_start_leaves_the_mark_that_the_log_is_damaged_by() -> None:
    disk = closed()
    cut_short(disk)
    directory = LogDirectory(disk, LOG_DIR)
    directory.open()
    manager = LogManager([directory], environment())
    tasks = manager.load_tasks(START_MS, lambda _topic: CONFIG, lambda _partition: TOPIC_ID)
    for task in tasks:
        task()
    manager.abandon_load(tasks)
    assert disk.exists(MARK)


def test_a_bad_batch_below_the_recovery_point_is_damage_after_a_kill_too() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk, CONFIG)
    for value in (b"a", b"b"):
        harness.append([value])
    harness.flush()
    harness.checkpoint()
    harness.append([b"c"])
    disk.restart()
    data = bytearray(disk.read_file(LOG))
    size = len(data) // 3
    data[size + 65] ^= 1
    disk.write_file(LOG, bytes(data))
    (found,) = loaded(disk).damaged.all()
    assert (found.cause.path, found.cause.position) == (LOG, size)
    assert disk.read_file(LOG) == bytes(data)


def test_a_bad_batch_above_it_is_cut_off_and_told_as_an_error_below_the_high_watermark(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for mark, level in ((2, "WARNING"), (3, "ERROR")):
        disk = FaultDisk()
        harness = LogHarness(disk, CONFIG)
        for value in (b"a", b"b"):
            harness.append([value])
        harness.flush()
        harness.append([b"c"])
        harness.log.update_high_watermark(mark)
        harness.checkpoint()
        disk.restart()
        disk.write_file(LOG, disk.read_file(LOG)[:-1])
        caplog.clear()
        assert loaded(disk).get(PARTITION).log_end_offset == 2  # type: ignore[union-attr]
        (line,) = [record for record in caplog.records if "Corruption found" in record.message]
        assert line.levelname == level
        assert "truncating to offset 2: 68 bytes after 2 batches" in line.message


def test_a_damaged_log_s_directory_serves_its_others() -> None:
    disk = closed()
    cut_short(disk)
    manager = loaded(disk)
    other = PARTITION._replace(partition=1)
    log = manager.get_or_create(other, TOPIC_ID, CONFIG, START_MS)
    assert manager.get(other) is log
