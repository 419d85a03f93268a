"""A newer request moves what is wanted; what was told stays told."""

from broker.replication.wanted_partition import WantedPartition
from protocol.model import ZERO_TOPIC_ID, TopicPartition

TP = TopicPartition("t", 0)


def test_adopting_takes_position_and_limits_and_keeps_what_was_sent() -> None:
    old = WantedPartition(None, b"i" * 16, 0, 1, 10)
    old.sent_high_watermark = 5
    newer = WantedPartition(TP, b"i" * 16, 0, 2, 20, 3)
    newer.last_fetched_epoch = 4
    newer.log_start_offset = 6
    old.adopt(newer)
    assert (old.topic_partition, old.fetch_offset, old.max_bytes) == (TP, 2, 20)
    assert (old.current_leader_epoch, old.last_fetched_epoch, old.log_start_offset) == (3, 4, 6)
    assert old.sent_high_watermark == 5


def test_it_shows_where_it_reads() -> None:
    assert "offset=7" in repr(WantedPartition(TP, ZERO_TOPIC_ID, 0, 7, 1))
