"""The rarer ways into a log: batches of producers that are remembered, and what a leader sent.

A leader's own append is `PartitionLog.append_prepared`, which comes here for batches with a
producer id. What a producer's state says changes only after the write, so that nothing is
remembered that is not in the log; the aborted transaction is indexed in the segment that holds its
marker. Source: UnifiedLog.append, appendAsFollower, analyzeAndValidateProducerState.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from protocol.errors import ErrorCode, KafkaError
from protocol.model import NO_TIMESTAMP
from protocol.records.batch import RecordBatch, iterate_batches
from protocol.records.errors import CorruptBatch
from storage.jobs import NO_JOBS, Job
from storage.log.results import AppendResult, Origin
from storage.producer.verification import NO_TERMS, TransactionTerms
from storage.segment.segment import Segment
from storage.segment.sparse_index import MAX_RELATIVE_OFFSET
from storage.segment.transaction_index import AbortedEntry

if TYPE_CHECKING:
    from storage.log.partition_log import PartitionLog


CLIENT: Final = Origin.CLIENT
REPLICATION: Final = Origin.REPLICATION


class OffsetsOutOfOrder(KafkaError):
    """What a leader sent lies before the end of this log, or goes backwards."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.UNKNOWN_SERVER_ERROR, message)


def append_as_follower(
    log: "PartitionLog", records: memoryview, now_ms: int
) -> AppendResult | None:
    """Write whole batches as the leader gave them, offsets and epochs kept; None without one.

    Every batch is checked before the first is written: CORRUPT_MESSAGE for a wrong checksum,
    OffsetsOutOfOrder where an offset is not beyond the one before. Gaps are what compaction
    left and are kept. Dropping batches of an epoch above one's own is up to the caller.
    """
    batches = list(iterate_batches(records))
    if not batches:
        return None
    next_offset = log.log_end_offset
    for batch in batches:
        if not batch.crc_ok():
            raise CorruptBatch(
                f"Record is corrupt (stored crc = {batch.crc}) in topic partition "
                f"{log.topic_partition}."
            )
        if batch.base_offset < next_offset or batch.last_offset_delta < 0:
            raise OffsetsOutOfOrder(
                f"Out of order offset {batch.base_offset} found in append to "
                f"{log.topic_partition}: the next one is {next_offset}"
            )
        next_offset = batch.next_offset
    jobs: list[Job] = []
    position = 0
    for batch in batches:
        jobs += _append_replicated(log, batch, now_ms)
        position += batch.size
    if log.log_end_offset - 1 - log.flushed_end_offset >= log.flush_messages:
        jobs += log.flusher.want(log.log_end_offset)
    result = AppendResult(
        batches[0].base_offset,
        log.log_end_offset - 1,
        NO_TIMESTAMP,
        log.log_start_offset,
        sum(batch.record_count for batch in batches),
        position,
    )
    result.jobs = jobs
    return result


def append_of_producer(
    log: "PartitionLog",
    segment: Segment,
    batch: RecordBatch,
    origin: Origin,
    result: AppendResult | None,
    terms: TransactionTerms = NO_TERMS,
) -> None:
    """Write a batch with a producer id, unless it repeats one; then `result` tells that one's.

    The producer's state changes only after the write. Whatever an aborted transaction's index entry
    needs is at hand before it: once the marker is in the log, only a failed disk, and with it the
    end of this directory, may keep the entry out.
    """
    producers = log.producers
    if origin is CLIENT and result is not None:
        known = producers.duplicate_of(batch)
        if known is not None:
            result.base_offset = known.first_offset
            result.last_offset = known.last_offset
            result.log_append_time_ms = known.timestamp
            result.duplicate = True
            return
    update = producers.check(batch, origin, terms, must_be_verified=_must_be_verified(log, origin))
    completed = update.completed
    if completed is not None and completed.is_aborted and segment.transaction_index.prepare():
        log.flusher.names_changed()
    last_offset = batch.last_offset
    segment.append(batch.view, last_offset, batch.max_timestamp, last_offset)
    log.log_end_offset = last_offset + 1
    producers.apply(update)
    if batch.is_transactional:
        producers.end_verification(batch.producer_id)
    if completed is not None:
        if completed.is_aborted:
            entry = AbortedEntry(
                completed.producer_id,
                completed.first_offset,
                completed.last_offset,
                producers.last_stable_offset(completed),
            )
            segment.append_aborted(entry)
        producers.complete_transaction(completed)


def check_before_roll(
    log: "PartitionLog", batch: RecordBatch, origin: Origin, terms: TransactionTerms
) -> None:
    """KafkaError if the batch will be refused: then nothing is rolled for it.

    A refusal carries no jobs, so the flush that a roll asks for would be forgotten.
    """
    producers = log.producers
    if origin is CLIENT and producers.duplicate_of(batch) is not None:
        return
    producers.check(batch, origin, terms, must_be_verified=_must_be_verified(log, origin))


def _must_be_verified(log: "PartitionLog", origin: Origin) -> bool:
    return origin is not REPLICATION and log.environment.verifies_transactions()


def _append_replicated(log: "PartitionLog", batch: RecordBatch, now_ms: int) -> Sequence[Job]:
    jobs: Sequence[Job] = NO_JOBS
    last_offset = batch.last_offset
    if batch.leader_epoch > log.epochs.latest_epoch:
        log.epochs.assign(batch.leader_epoch, batch.base_offset)
    limits = log.roll_limits
    segment = log.segments.active
    if segment.should_roll(batch.size, batch.max_timestamp, last_offset, now_ms, limits):
        # Kafka begins it at the batch. Begun at the log end, segments adjoin over every gap, and
        # recovery can tell a gap from records that a power cut took.
        fits = last_offset - log.log_end_offset <= MAX_RELATIVE_OFFSET
        jobs = log.roll(now_ms, log.log_end_offset if fits else batch.base_offset)
        segment = log.segments.active
    if batch.producer_id < 0:
        segment.append(batch.view, last_offset, batch.max_timestamp, last_offset)
        log.log_end_offset = last_offset + 1
    else:
        append_of_producer(log, segment, batch, REPLICATION, None)
    return jobs
