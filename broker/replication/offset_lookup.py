"""ListOffsets of one partition: places by name or by time, bounded by what the asker may see.

A place by name is known at once. A time may have to be searched for in files: then the answer is
the search, to be run in a worker and handed back with the same question, asked anew: leadership and
bound are those of the answer, not of the moment the search began.

Rules: Partition.fetchOffsetForTimestamp of Kafka 3.9 with ListOffsets 9–11 of 4.3; nothing is
tiered here, so the tiered places do not exist.
"""

from typing import Final, NamedTuple

from broker.replication.partition import Partition
from protocol.errors import ErrorCode, KafkaError
from protocol.model import (
    NO_LEADER_EPOCH,
    NO_OFFSET,
    NO_TIMESTAMP,
    SpecialTimestamp,
    TopicPartition,
)
from storage.log.offsets import ALL, LogTimeSearch, greatest_timestamp, search_from
from storage.log.partition_log import PartitionLog
from storage.log.results import ReadBound
from storage.segment.time_search import FoundByTime, TooFar

NOT_FOUND: Final = (NO_TIMESTAMP, NO_OFFSET, NO_LEADER_EPOCH)

TimestampOffsetEpoch = tuple[int, int, int]


class OffsetQuestion(NamedTuple):
    """A place in a partition asked for; a leader epoch of -1 is not checked."""

    topic_partition: TopicPartition
    timestamp: int
    bound: ReadBound
    current_leader_epoch: int
    leader_only: bool


def look_up_offset(
    partition: Partition,
    log: PartitionLog,
    question: OffsetQuestion,
    searched: LogTimeSearch | None = None,
    *,
    at_once: bool = True,
) -> TimestampOffsetEpoch | LogTimeSearch:
    """(timestamp, offset, leader epoch) of the place; NOT_FOUND where there is none.

    Or the next search to run before that is known: `searched` is the one run last, if any, and
    `at_once` whether short ones may be run here. Whoever gets a search releases it.

    KafkaError OFFSET_NOT_AVAILABLE to a client while the high watermark is behind the start of the
    leader's epoch, for answers that could then go backwards.
    """
    timestamp, bound = question.timestamp, question.bound
    if timestamp in (SpecialTimestamp.EARLIEST, SpecialTimestamp.EARLIEST_LOCAL):
        start = log.log_start_offset
        return NO_TIMESTAMP, start, log.epochs.epoch_for_offset(start)
    if timestamp in (SpecialTimestamp.LATEST_TIERED, SpecialTimestamp.EARLIEST_PENDING_UPLOAD):
        return NOT_FOUND
    if timestamp == SpecialTimestamp.LATEST:
        _refuse_while_lagging(partition, log, bound)
        return NO_TIMESTAMP, bound_offset(log, bound), partition.leader_epoch
    found = _find(log, timestamp, searched, at_once)
    if isinstance(found, LogTimeSearch):
        return found
    if found is None or found[1] >= bound_offset(log, bound):
        _refuse_while_lagging(partition, log, bound)
        return NOT_FOUND
    return found


def bound_offset(log: PartitionLog, bound: ReadBound) -> int:
    """The first offset beyond the bound."""
    if bound is ReadBound.HIGH_WATERMARK:
        return log.high_watermark
    return log.last_stable_offset if bound is ReadBound.LAST_STABLE else log.log_end_offset


def _find(
    log: PartitionLog, timestamp: int, searched: LogTimeSearch | None, at_once: bool
) -> FoundByTime | LogTimeSearch | None:
    after_base_offset = ALL
    if searched is not None and searched.is_valid(log):
        if searched.found is not None:
            return searched.found
        timestamp, after_base_offset = searched.timestamp, searched.base_offset
    elif timestamp == SpecialTimestamp.MAX_TIMESTAMP:
        timestamp = greatest_timestamp(log)
        if timestamp < 0:
            return None
    while search := search_from(log, timestamp, after_base_offset):
        # Only what was written last is surely in memory.
        if not at_once or search.base_offset != log.segments.active.base_offset:
            return search
        try:
            search.run_at_once()
        except TooFar:
            return search
        except BaseException:
            search.release()
            raise
        search.release()
        if search.found is not None:
            return search.found
        after_base_offset = search.base_offset
    return None


def _refuse_while_lagging(partition: Partition, log: PartitionLog, bound: ReadBound) -> None:
    if bound is not ReadBound.LOG_END and partition.leader_epoch_start_offset > log.high_watermark:
        raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE)
