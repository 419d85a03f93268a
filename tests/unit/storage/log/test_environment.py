"""What logs share."""

from config.topic_config import LogConfig
from protocol.model import TopicPartition
from storage.log.environment import LogIdentity
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import PARTITION, START_MS, TOPIC_ID, LogHarness, environment


def test_an_identity_says_which_log_and_where() -> None:
    log = LogHarness(FaultDisk()).log
    identity = LogIdentity(PARTITION, TOPIC_ID, "/data/orders-0", "/data")
    assert identity == (log.topic_partition, log.topic_id, log.directory, log.log_dir)


def test_jitter_is_drawn_from_the_outside_world() -> None:
    bounds: list[int] = []
    harness = LogHarness(FaultDisk())

    def draw(bound: int) -> int:
        bounds.append(bound)
        return bound - 1

    outside = environment()._replace(random_below=draw)
    harness.manager._environment = outside
    config = LogConfig(segment_ms=100, segment_jitter_ms=40)
    log = harness.manager.get_or_create(TopicPartition("j", 0), TOPIC_ID, config, START_MS)
    assert bounds == [40]
    assert log.roll_limits.jitter_ms == 39
