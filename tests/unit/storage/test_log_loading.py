"""What a start finds, one task a log."""

from config.topic_config import LogConfig
from storage.log_directory import LogDirectory
from storage.log_loading import Survey, survey
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import (
    LOG_DIR,
    PARTITION,
    START_MS,
    TOPIC_ID,
    LogHarness,
    environment,
)


def surveyed(disk: FaultDisk, topic_id: bytes | None) -> Survey:
    directory = LogDirectory(disk, LOG_DIR)
    directory.open()
    return survey(directory, environment(), lambda _t: LogConfig(), lambda _p: topic_id, START_MS)


def test_each_known_log_is_a_task_of_its_own() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"x"])
    harness.close()
    found = surveyed(disk, TOPIC_ID)
    (task,) = found.tasks
    assert task.identity.topic_partition == PARTITION
    assert not task.recovers
    task()
    assert task.error is None
    assert task.log().log_end_offset == 1
    assert found.unserved == []


def test_an_unknown_log_is_reported_with_its_offsets_kept() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.append([b"x"])
    harness.close()
    found = surveyed(disk, None)
    assert found.tasks == []
    assert [stranger.reason for stranger in found.unserved] == ["metadata does not know it"]
    assert found.kept_offsets[0] == {PARTITION: 1}
