"""ListOffsets of one partition: places by name or by time, bounded by what the asker may see.

Rules: Partition.fetchOffsetForTimestamp of Kafka 3.9 with ListOffsets 9–11 of 4.3; nothing is
tiered here, so the tiered places do not exist.
"""

from typing import Final

from broker.replication.partition import Partition
from protocol.errors import ErrorCode, KafkaError
from protocol.model import NO_LEADER_EPOCH, NO_OFFSET, NO_TIMESTAMP, SpecialTimestamp
from storage.log.partition_log import PartitionLog
from storage.log.results import ReadBound, TimestampOffset

NOT_FOUND: Final = (NO_TIMESTAMP, NO_OFFSET, NO_LEADER_EPOCH)

TimestampOffsetEpoch = tuple[int, int, int]


def look_up_offset(
    partition: Partition,
    log: PartitionLog,
    timestamp: int,
    bound: ReadBound,
) -> TimestampOffsetEpoch:
    """(timestamp, offset, leader epoch) of the place; NOT_FOUND where there is none.

    KafkaError OFFSET_NOT_AVAILABLE to a client while the high watermark is behind the start of the
    leader's epoch, for answers that could then go backwards.
    """
    if timestamp in (SpecialTimestamp.EARLIEST, SpecialTimestamp.EARLIEST_LOCAL):
        start = log.log_start_offset
        return NO_TIMESTAMP, start, log.epochs.epoch_for_offset(start)
    if timestamp in (SpecialTimestamp.LATEST_TIERED, SpecialTimestamp.EARLIEST_PENDING_UPLOAD):
        return NOT_FOUND
    if timestamp == SpecialTimestamp.LATEST:
        _refuse_while_lagging(partition, log, bound)
        return NO_TIMESTAMP, bound_offset(log, bound), partition.leader_epoch
    found = _find(log, timestamp)
    if found is None or found.offset >= bound_offset(log, bound):
        _refuse_while_lagging(partition, log, bound)
        return NOT_FOUND
    return found.timestamp, found.offset, found.leader_epoch


def bound_offset(log: PartitionLog, bound: ReadBound) -> int:
    """The first offset beyond the bound."""
    if bound is ReadBound.HIGH_WATERMARK:
        return log.high_watermark
    return log.last_stable_offset if bound is ReadBound.LAST_STABLE else log.log_end_offset


def _find(log: PartitionLog, timestamp: int) -> TimestampOffset | None:
    if timestamp == SpecialTimestamp.MAX_TIMESTAMP:
        return log.max_timestamp_offset()
    return log.offset_for_timestamp(timestamp)


def _refuse_while_lagging(partition: Partition, log: PartitionLog, bound: ReadBound) -> None:
    if bound is not ReadBound.LOG_END and partition.leader_epoch_start_offset > log.high_watermark:
        raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE)
