"""A session tells a reader only what is new to it, and is fair among its partitions."""

from broker.replication.fetch_session import (
    FetchContext,
    FetchSession,
    IncrementalFetchContext,
    Reads,
    next_epoch,
)
from broker.replication.partition_read import PartitionRead, failed_read
from broker.replication.wanted_partition import WantedPartition
from protocol.errors import ErrorCode
from protocol.model import ZERO_TOPIC_ID, TopicPartition
from tests.support.slices import slice_of


def wanted(index: int, offset: int = 0, max_bytes: int = 100) -> WantedPartition:
    tp = TopicPartition("t", index)
    return WantedPartition(tp, ZERO_TOPIC_ID, index, offset, max_bytes)


def read(high_watermark: int = 5, log_start: int = 0, nbytes: int = 0) -> PartitionRead:
    result = PartitionRead(ErrorCode.NONE, high_watermark, high_watermark, log_start)
    if nbytes:
        result.records = slice_of(nbytes)
    return result


def session(*partitions: WantedPartition) -> FetchSession:
    made = FetchSession(7, False, False, 0)
    made.update({made.key(one): one for one in partitions}, [])
    return made


def indexes(news: Reads) -> list[int]:
    return [one.partition for one, _ in news]


def test_epochs_wrap_to_one() -> None:
    assert next_epoch(0) == 1
    assert next_epoch(2**31 - 1) == 1


def test_what_was_told_is_not_told_again() -> None:
    one, two = wanted(0), wanted(1)
    made = session(one, two)
    assert indexes(made.news([(one, read()), (two, read())])) == [0, 1]
    assert indexes(made.news([(one, read()), (two, read())])) == []


def test_a_moved_high_watermark_or_log_start_is_news() -> None:
    one = wanted(0)
    made = session(one)
    made.news([(one, read(5))])
    assert indexes(made.news([(one, read(6))])) == [0]
    assert indexes(made.news([(one, read(6, log_start=1))])) == [0]
    assert indexes(made.news([(one, read(6, log_start=1))])) == []


def test_an_error_is_told_every_time_and_the_recovery_too() -> None:
    one = wanted(0)
    made = session(one)
    made.news([(one, read())])
    broken = failed_read(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert indexes(made.news([(one, broken)])) == [0]
    assert indexes(made.news([(one, broken)])) == [0]
    assert indexes(made.news([(one, read())])) == [0]


def test_a_divergence_is_always_news() -> None:
    one = wanted(0)
    made = session(one)
    made.news([(one, read())])
    diverged = read()
    diverged.diverging_epoch = (1, 2)
    assert indexes(made.news([(one, diverged)])) == [0]


def test_partitions_that_gave_records_move_behind_the_others() -> None:
    partitions = [wanted(0), wanted(1), wanted(2)]
    made = session(*partitions)
    reads = [(partitions[0], read(nbytes=10)), (partitions[1], read()), (partitions[2], read())]
    made.news(reads)
    assert [one.partition for one in made.partitions.values()] == [1, 2, 0]


def test_an_update_adds_changes_and_forgets() -> None:
    one, two = wanted(0), wanted(1)
    made = session(one, two)
    made.news([(one, read())])
    made.update(
        {made.key(one): wanted(0, offset=9), TopicPartition("t", 2): wanted(2)}, [made.key(two)]
    )
    assert [(w.partition, w.fetch_offset) for w in made.partitions.values()] == [(0, 9), (2, 0)]
    assert made.partitions[made.key(one)].sent_high_watermark == 5


def test_sessions_by_id_hold_partitions_by_id() -> None:
    one = WantedPartition(TopicPartition("t", 3), b"i" * 16, 3, 0, 100)
    unknown = WantedPartition(None, b"j" * 16, 4, 0, 100)
    made = FetchSession(7, False, True, 0)
    assert made.key(one) == (b"i" * 16, 3)
    assert made.key(unknown) == (b"j" * 16, 4)


def test_without_a_session_everything_is_answered() -> None:
    one = wanted(0)
    reads = [(one, read())]
    assert FetchContext([one]).finish(reads) == (ErrorCode.NONE, 0, reads)


def test_an_answer_for_a_session_that_went_on_is_refused() -> None:
    one = wanted(0)
    made = session(one)
    context = IncrementalFetchContext(made)
    made.epoch = next_epoch(made.epoch)
    error, session_id, news = context.finish([(one, read())])
    assert (error, session_id, news) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 7, [])
